/** The paths of a plugin's chart, replayed against the production actor and a plugin of the test. */
import type { InspectionEvent, SnapshotFrom } from 'xstate';
import { afterAll, expect, test } from '@jest/globals';
import { type PluginEvent, pluginMachine } from '../../../src/agent/machines/plugin-machine.ts';
import { after } from '../../support/child-events.ts';
import { type Environment, type Path, shortestPaths, simplePaths, type Step } from '../paths.ts';
import type { HostedPlugin } from '../../../src/agent/actors/plugins/plugin-parts.ts';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';
import { PluginBed } from '../../support/plugin-bed.ts';
import { Coverage } from '../coverage.ts';
import { replaying } from '../replaying.ts';

type PluginSnapshot = SnapshotFrom<typeof pluginMachine>;

const PATHS = { first: '/registry/rss.sock', other: '/registry/other.sock' };
const NOW = Date.UTC(2030, 0, 1);

const EVENTS = {
  accepted: { type: 'ACCEPTED', name: 'rss' },
  refused: {
    type: 'REFUSED',
    name: 'rss',
    problem: 'plugin validation failed with err: supported here: v1alpha1; supported by the plugin: v1',
  },
  notAnswered: { type: 'NOT_ANSWERED', problem: 'connection refused' },
  told: { type: 'TOLD', now: NOW },
  notTold: { type: 'NOT_TOLD', problem: 'unimplemented', now: NOW },
  retry: after('retry', 'plugin.Registering.BackingOff'),
  stop: { type: 'STOP' },
  answered: { type: 'ANSWERED', now: NOW },
  failed: { type: 'FAILED', problem: 'timeout', now: NOW },
  answeredNonsense: { type: 'FAILED', problem: 'nonsense', now: NOW },
  socketGone: { type: 'SOCKET_GONE', now: NOW },
  replaced: { type: 'REPLACED', by: PATHS.other, now: NOW },
} as const satisfies Record<string, PluginEvent>;
type Name = keyof typeof EVENTS;

const QUESTIONS = ['answered', 'failed', 'answeredNonsense', 'socketGone', 'replaced', 'stop'] as const;
const POSSIBLE: Readonly<Record<string, readonly Name[]>> = {
  'Registering.Asking': ['accepted', 'refused', 'notAnswered', 'socketGone', 'stop'],
  'Registering.Accepting': ['told', 'notTold', 'socketGone', 'stop'],
  'Registering.Refusing': ['told', 'notTold', 'socketGone', 'stop'],
  'Registering.BackingOff': ['retry', 'socketGone', 'stop'],
  Serving: QUESTIONS,
  Failing: QUESTIONS,
  Gone: [],
  Stopped: [],
};

const pluginEnvironment: Environment<typeof pluginMachine> = {
  machine: pluginMachine,
  input: { origin: PATHS.first, now: NOW },
  events: EVENTS,
  possible: (state) => POSSIBLE[stateName(state)] ?? [],
  label: (state) => [stateName(state), ...Object.values(essence(state))].join(),
};

function stateName({ value }: Pick<PluginSnapshot, 'value'>): string {
  return typeof value === 'string' ? value : Object.entries(value).flat().join('.');
}

/** What is compared. More than three tries or questions in vain make no difference. */
function essence({ context: { name, problem, failures } }: PluginSnapshot) {
  return { name, problem, failures: Math.min(failures, 3) };
}

async function replayPlugin(path: Path<typeof pluginMachine>, coverage: Coverage): Promise<void> {
  const replay = new PluginReplay(coverage);
  const steps = async () => {
    for (const step of path) await replay.step(step);
    await replay.stop();
  };
  await replaying({ path, coverage, steps });
}

class PluginReplay {
  readonly #bed: PluginBed;
  readonly #hosted: HostedPlugin;
  #snapshot: PluginSnapshot | undefined;
  #isReplaced = false;

  constructor(coverage: Coverage) {
    this.#bed = new PluginBed(
      {},
      {
        inspect: (event: InspectionEvent) => {
          coverage.inspect(event);
          const isFirst = 'id' in event.actorRef && event.actorRef.id === `plugin ${PATHS.first}`;
          if (event.type === '@xstate.snapshot' && isFirst) this.#snapshot = event.snapshot as PluginSnapshot;
        },
      },
    );
    this.#bed.appear(PATHS.first);
    this.#hosted = this.#bed.hosted(PATHS.first);
  }

  async step({ name, before, after }: Step<typeof pluginMachine>): Promise<void> {
    const since = this.#hosted.since();
    await this.#bed.clock.advance(1);
    await this.#bringAbout[name as Name]();
    await settled();
    const snapshot = this.#snapshot!;
    expect({ state: stateName(snapshot), ...essence(snapshot) }).toEqual({
      state: stateName(after),
      ...essence(after),
    });
    const changes = topOf(before) !== topOf(after) && name !== 'stop';
    expect(this.#hosted.since()).toBe(changes ? this.#bed.clock.now() : since);
    this.#check(stateName(snapshot));
  }

  async stop(): Promise<void> {
    await this.#bed.plugins.stop();
    expect([this.#bed.held, this.#bed.connected, this.#bed.asked()]).toEqual([0, [], []]);
  }

  readonly #bringAbout: Readonly<Record<Name, () => unknown>> = {
    accepted: () => this.#plugin.answer(),
    refused: () => this.#plugin.answer({ supportedVersions: ['v1'] }),
    notAnswered: () => this.#plugin.fail(EVENTS.notAnswered.problem),
    told: () => this.#plugin.hear(),
    notTold: () => this.#plugin.fail(EVENTS.notTold.problem),
    retry: () => this.#bed.clock.step(),
    stop: () => this.#bed.plugins.stop(),
    answered: () => this.#hosted.answered(),
    failed: () => this.#hosted.failed(EVENTS.failed.problem),
    answeredNonsense: () => this.#hosted.failed(EVENTS.answeredNonsense.problem),
    socketGone: () => this.#bed.disappear(PATHS.first),
    replaced: () => {
      this.#isReplaced = true;
      return this.#bed.register(PATHS.other);
    },
  };

  get #plugin() {
    return this.#bed.at(PATHS.first);
  }

  /** A plugin is asked in two states alone, and what it holds is that of its state. */
  #check(state: string): void {
    const isCalled = ['Registering.Asking', 'Registering.Accepting', 'Registering.Refusing'].includes(state);
    const isAsked = state === 'Serving' || state === 'Failing';
    const isConnected = isAsked || state === 'Registering.Accepting';
    const others = this.#isReplaced && state !== 'Stopped' ? [PATHS.other] : [];
    expect({
      calls: this.#plugin.pending,
      clients: this.#plugin.connections,
      timers: this.#bed.clock.armed,
      connected: this.#bed.connected,
      asked: this.#bed.plugins.plugins().map(({ origin }) => origin),
      hasProblem: this.#hosted.problem() !== undefined,
    }).toEqual({
      calls: isCalled ? 1 : 0,
      clients: isCalled ? 1 : 0,
      // For the answer, for the place among those that register, and for the next try.
      timers: [isCalled, state === 'Registering.Asking', state === 'Registering.BackingOff'].filter(Boolean)
        .length,
      connected: isConnected ? [PATHS.first] : others,
      asked: isAsked ? [PATHS.first] : others,
      hasProblem: state !== 'Serving' && this.#snapshot?.context.problem !== undefined,
    });
  }
}

function topOf(snapshot: PluginSnapshot): string {
  return stateName(snapshot).split('.')[0] ?? '';
}

const coverage = new Coverage(pluginMachine);

afterAll(() => coverage.print('all events in all states'));

test('every possible event in every state', async () => {
  const paths = shortestPaths(pluginEnvironment);
  expect(paths.length).toBeGreaterThan(60);
  for (const path of paths) await replayPlugin(path, coverage);
});

test('every sequence of a registration that fails in every way before it succeeds', async () => {
  const among = ['accepted', 'refused', 'notAnswered', 'told', 'notTold', 'retry'];
  const paths = simplePaths(pluginEnvironment, among);
  expect(paths.length).toBeGreaterThan(60);
  for (const path of paths) await replayPlugin(path, coverage);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
