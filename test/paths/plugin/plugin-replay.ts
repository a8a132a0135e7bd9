/** One path of a plugin's chart, replayed against the production actor. Each call to the plugin is held until the step that answers it. */
import { expect } from '@jest/globals';
import type { InspectionEvent } from 'xstate';
import type { HostedPlugin } from '../../../src/agent/actors/plugins/plugin-parts.ts';
import type { pluginMachine } from '../../../src/agent/machines/plugin-machine.ts';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';
import { PluginBed } from '../../support/plugin-bed.ts';
import type { Coverage } from '../coverage.ts';
import type { Path, Step } from '../paths.ts';
import { replaying } from '../replaying.ts';
import { essence, EVENTS, type Name, PATHS, type PluginSnapshot, stateName } from './plugin-environment.ts';

export async function replayPlugin(path: Path<typeof pluginMachine>, coverage: Coverage): Promise<void> {
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
