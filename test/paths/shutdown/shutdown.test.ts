/** The paths of the shutdown machine, replayed against the production actor. */
import type { InspectionEvent, SnapshotFrom } from 'xstate';
import { afterAll, expect, test } from '@jest/globals';
import { type ShutdownEvent, shutdownMachine } from '../../../src/agent/machines/shutdown-machine.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { after } from '../../support/child-events.ts';
import { testPod } from '../../support/pods.ts';
import { type Environment, type Path, shortestPaths, type Step } from '../paths.ts';
import { NodeShutdown } from '../../../src/agent/actors/node/node-shutdown.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { Coverage } from '../coverage.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import { testContext } from '../../support/test-context.ts';
import { replaying } from '../replaying.ts';

type ShutdownState = SnapshotFrom<typeof shutdownMachine>;

const NOW = Date.UTC(2030, 0, 1);
const CRITICAL = 2_000_000_000;
const PERIODS = [
  { priority: 0, shutdownGracePeriodSeconds: 20 },
  { priority: CRITICAL, shutdownGracePeriodSeconds: 10 },
];

const dns = testPod({ name: 'dns' });
const PODS: readonly Pod[] = [
  { ...dns, spec: { ...dns.spec, priority: CRITICAL } },
  testPod({ name: 'web' }),
  testPod({ name: 'shop' }),
];

const GROUPS = [
  { priority: 0, seconds: 20, uids: ['uid-of-web', 'uid-of-shop'] },
  { priority: CRITICAL, seconds: 10, uids: ['uid-of-dns'] },
];

const EVENTS = {
  shutdown: { type: 'SHUTDOWN', at: NOW, groups: GROUPS },
  shutdownWithoutPods: { type: 'SHUTDOWN', at: NOW, groups: [] },
  cancelled: { type: 'SHUTDOWN_CANCELLED' },
  webEnded: { type: 'POD_ENDED', uid: 'uid-of-web' },
  shopEnded: { type: 'POD_ENDED', uid: 'uid-of-shop' },
  dnsEnded: { type: 'POD_ENDED', uid: 'uid-of-dns' },
  timeOver: after('groupTime', 'shutdown.ShuttingDown.EndingGroup'),
  stop: { type: 'STOP' },
} as const satisfies Record<string, ShutdownEvent>;
type Name = keyof typeof EVENTS;

const environment: Environment<typeof shutdownMachine> = {
  machine: shutdownMachine,
  input: undefined,
  events: EVENTS,
  possible: (state) => {
    if (state.matches({ ShuttingDown: 'Stopped' })) return [];
    return Object.keys(EVENTS).filter((name) => name !== 'timeOver' || isEndingGroup(state));
  },
  label: (state) => JSON.stringify(essence(state)),
};

function isEndingGroup(state: ShutdownState): boolean {
  return state.matches({ ShuttingDown: 'EndingGroup' });
}

/** Since when the machine goes down makes no difference to what comes next. */
function essence({ value, context: { groups, awaited } }: ShutdownState) {
  return { value, groups, awaited };
}

class ShutdownReplay {
  readonly #clock = new VirtualClock(NOW);
  readonly #shutdown: NodeShutdown;
  readonly #hasPodsToEnd: boolean;
  #pods: readonly Pod[] = PODS;
  #state: ShutdownState | undefined;
  /** Calls of `shutDown` that have not resolved. */
  #waiting = 0;
  #done = nothingDone();

  /** `hasPodsToEnd`: false when nothing of the pods is left to end. */
  constructor(coverage: Coverage, hasPodsToEnd = true) {
    this.#hasPodsToEnd = hasPodsToEnd;
    const context = testContext({
      clock: this.#clock,
      recorder: {
        event: () => undefined,
        nodeEvent: (_type, reason) => void this.#done.events.push(reason),
      },
      logger: {
        ...silentLogger,
        warn: ({ uid = '' }: { readonly uid?: string }) => void this.#done.late.push(uid),
      },
      inspect: (event: InspectionEvent) => {
        coverage.inspect(event);
        if (event.type === '@xstate.snapshot') this.#state = event.snapshot as ShutdownState;
      },
    });
    this.#shutdown = new NodeShutdown(context, {
      periods: PERIODS,
      pods: () => this.#pods,
      phaseOf: () => 'Running',
      kill: (uid) => {
        this.#done.killed.push(uid);
        return this.#hasPodsToEnd;
      },
      onChange: () => this.#done.changes.push(this.#shutdown.isShuttingDown),
    });
  }

  async step({ name, before, after }: Step<typeof shutdownMachine>): Promise<void> {
    await this.bringAbout(name as Name);
    expect(this.#state && essence(this.#state)).toEqual(essence(after));
    expect(this.#done).toEqual(expectedOf(name as Name, before, after));
    this.#checkWaiting(after);
  }

  async bringAbout(name: Name): Promise<void> {
    this.#done = nothingDone();
    await this.#ways[name]();
    await this.#clock.advance(0);
  }

  get state(): ShutdownState | undefined {
    return this.#state;
  }

  get killed(): readonly string[] {
    return this.#done.killed;
  }

  async stop(): Promise<void> {
    this.#shutdown.stop();
    await this.#clock.advance(0);
    expect([this.#clock.armed, this.#waiting]).toEqual([0, 0]);
  }

  readonly #ways: Readonly<Record<Name, () => void | Promise<void>>> = {
    shutdown: () => this.#shutDown(PODS),
    shutdownWithoutPods: () => this.#shutDown([]),
    cancelled: () => this.#shutdown.cancel(),
    webEnded: () => this.#shutdown.podEnded('uid-of-web'),
    shopEnded: () => this.#shutdown.podEnded('uid-of-shop'),
    dnsEnded: () => this.#shutdown.podEnded('uid-of-dns'),
    timeOver: () => this.#clock.step(),
    stop: () => this.stop(),
  };

  #shutDown(pods: readonly Pod[]): void {
    this.#pods = pods;
    this.#waiting += 1;
    void this.#shutdown.shutDown().then(() => (this.#waiting -= 1));
  }

  /** The machine waits, and a timer is armed, only while a group ends. */
  #checkWaiting(after: ShutdownState): void {
    expect([this.#waiting > 0, this.#clock.armed]).toEqual(isEndingGroup(after) ? [true, 1] : [false, 0]);
  }
}

interface Done {
  /** UIDs. */
  readonly killed: string[];
  /** UIDs of the pods of which it was said that they have not ended in time. */
  readonly late: string[];
  /** Whether the node was shutting down, each time that a change was told. */
  readonly changes: boolean[];
  /** Reasons. */
  readonly events: string[];
}

function nothingDone(): Done {
  return { killed: [], late: [], changes: [], events: [] };
}

/** What the actor must do in a step: above all, it kills the pods of a group when the group's turn comes, and only then. */
function expectedOf(name: Name, before: ShutdownState, after: ShutdownState): Done {
  const isDown = after.hasTag('shuttingDown');
  const isChange = isDown !== before.hasTag('shuttingDown');
  const [group] = after.context.groups;
  const isNewGroup = group !== before.context.groups[0];
  return {
    killed: isNewGroup ? [...(group?.uids ?? [])] : [],
    late: name === 'timeOver' ? inOrderOfPods(before.context.awaited) : [],
    changes: isChange ? [isDown] : [],
    events: isChange && isDown ? ['Shutdown'] : [],
  };
}

function inOrderOfPods(uids: readonly string[]): string[] {
  return PODS.map(({ metadata }) => metadata.uid).filter((uid) => uids.includes(uid));
}

const coverage = new Coverage(shutdownMachine);

afterAll(() => coverage.print('all events in all states'));

async function replay(path: Path<typeof shutdownMachine>): Promise<void> {
  const it = new ShutdownReplay(coverage);
  const steps = async () => {
    for (const step of path) await it.step(step);
    await it.stop();
  };
  await replaying({ path, coverage, steps });
}

test('every event in every state', async () => {
  const paths = shortestPaths(environment);
  expect(paths.length).toBeGreaterThan(30);
  for (const path of paths) await replay(path);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});

test('pods of which nothing is left to end hold up no group', async () => {
  const it = new ShutdownReplay(new Coverage(shutdownMachine), false);
  await it.bringAbout('shutdown');
  expect(it.killed).toEqual(['uid-of-web', 'uid-of-shop', 'uid-of-dns']);
  expect(it.state?.value).toEqual({ ShuttingDown: 'Ended' });
  await it.stop();
});
