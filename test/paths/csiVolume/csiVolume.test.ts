/** The paths of the CSI volume machine, replayed against the production actor. What its driver is asked is held until its step. */
import { expect } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { CsiVolumeActor } from '../../../src/agent/actors/volumes/csi-volume-actor.ts';
import { type CsiVolumeEvent, csiVolumeMachine } from '../../../src/agent/machines/csi-volume-machine.ts';
import type { CsiSource } from '../../../src/agent/policies/volumes/csi-source.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { unlessAborted } from '../../../src/system/promises.ts';
import { after, done, failed } from '../../support/child-events.ts';
import { testContext } from '../../support/test-context.ts';
import type { Coverage } from '../coverage.ts';
import { testEveryEvent } from '../every-event.ts';
import type { Environment } from '../paths.ts';

type State = SnapshotFrom<typeof csiVolumeMachine>;

const NOW = 1_000_000;
const SOURCE: CsiSource = {
  kind: 'csi',
  driver: 'disk.csi.test',
  handle: 'vol-1',
  attributes: {},
  fsType: '',
  isReadOnly: false,
  mountOptions: [],
  accessModes: ['ReadWriteOnce'],
  isEphemeral: false,
};
const INPUT = { driver: SOURCE.driver, handle: SOURCE.handle, pods: [] as string[] };
const wanted = (pod: string) =>
  ({ type: 'WANTED', pod, source: SOURCE, isAttachable: true, group: undefined, now: NOW }) as const;
const failure = { problem: 'refused', now: NOW };

const EVENTS = {
  oneWants: wanted('one'),
  twoWants: wanted('two'),
  oneLeaves: { type: 'LEFT', pod: 'one', now: NOW },
  twoLeaves: { type: 'LEFT', pod: 'two', now: NOW },
  podsKnown: { type: 'PODS_KNOWN', now: NOW },
  driverComes: { type: 'DRIVER_REGISTERED', now: NOW },
  stop: { type: 'STOP' },
  attached: done('attach', { publishContext: {}, now: NOW }),
  unattached: failed('attach', failure),
  attachLate: after('attachLimit', 'csiVolume.Attaching'),
  staged: done('stage', NOW),
  unstageable: failed('stage', failure),
  unstaged: done('unstage', NOW),
  kept: failed('unstage', failure),
  backOff: after('backOff', 'csiVolume.UnstageFailed'),
} as const satisfies Record<string, CsiVolumeEvent>;
type Name = keyof typeof EVENTS;

const ALWAYS: readonly Name[] = [
  'oneWants',
  'twoWants',
  'oneLeaves',
  'twoLeaves',
  'podsKnown',
  'driverComes',
  'stop',
];

function possible(state: State): readonly Name[] {
  // Tries that fail again and again add nothing.
  if (state.status !== 'active' || state.context.failures > 1) return [];
  if (state.matches('Attaching')) return [...ALWAYS, 'attached', 'unattached', 'attachLate'];
  if (state.matches('Staging')) return [...ALWAYS, 'staged', 'unstageable'];
  if (state.matches('Unstaging')) return [...ALWAYS, 'unstaged', 'kept'];
  if (state.matches('UnstageFailed')) return [...ALWAYS, 'backOff'];
  return ALWAYS;
}

const environment: Environment<typeof csiVolumeMachine> = {
  machine: csiVolumeMachine,
  input: { ...INPUT, now: NOW },
  events: EVENTS,
  possible,
  label: (state) => JSON.stringify(essence(state)),
};

function essence({ value, context: { pods, failures } }: State) {
  return { value, pods: pods.toSorted(), failures };
}

class Replay {
  readonly #clock = new VirtualClock(NOW);
  readonly #volume: CsiVolumeActor;
  readonly #life = new AbortController();
  #isGone = false;
  /** The pods that were last told to wait for it, or to wait no longer. */
  #told: readonly string[] = [];
  /** Of the call under way. */
  #call = Promise.withResolvers<Record<string, string>>();
  #asked: string[] = [];

  constructor(coverage: Coverage) {
    const ask = (what: string, signal: AbortSignal) => {
      this.#asked.push(what);
      this.#call = Promise.withResolvers();
      return unlessAborted(this.#call.promise, signal);
    };
    this.#volume = new CsiVolumeActor(testContext({ clock: this.#clock, inspect: coverage.inspect }), INPUT, {
      staged: {
        attached: (_source, _report, signal) => ask('attach', signal),
        stage: async (_volume, signal) => {
          await ask('stage', signal);
        },
        unstage: async (_volume, signal) => {
          await ask('unstage', signal);
        },
      },
      attachReports: {
        seen: () => ({ isInUse: true, isAttached: true }),
        asked: () => Promise.resolve({ isInUse: true, isAttached: true }),
      },
      onStep: (pods) => (this.#told = pods),
      onGone: () => (this.#isGone = true),
    });
  }

  get state(): State {
    return this.#volume.snapshot;
  }

  async step(name: Name): Promise<void> {
    this.#asked = [];
    const before = this.state;
    this.#bringAbout(name);
    await this.#clock.advance(0);
    this.#check(before);
  }

  async stop(): Promise<void> {
    this.#life.abort();
    this.#volume.stop();
    await this.#clock.advance(0);
    expect(this.#clock.armed).toBe(0);
  }

  #bringAbout(name: Name): void {
    const event = EVENTS[name];
    if (event.type === 'WANTED') {
      const { pod, source, isAttachable, group } = event;
      this.#volume.use({ pod, source, isAttachable, group }, this.#life.signal).catch(() => undefined);
    } else if (event.type === 'LEFT') this.#volume.leave(event.pod);
    else if (name === 'podsKnown') this.#volume.podsKnown();
    else if (name === 'driverComes') this.#volume.driverRegistered();
    else if (name === 'stop') this.#volume.stop();
    else if (name === 'attachLate' || name === 'backOff') void this.#clock.step();
    else if ('output' in event) this.#call.resolve({});
    else this.#call.reject(new Error('refused'));
  }

  /** No pod loses a volume that it uses, and what is waited for is what the chart shows. */
  #check(before: State): void {
    const { state } = this;
    if (this.#asked.includes('unstage')) expect(state.context.pods).toEqual([]);
    if (this.#asked.includes('stage')) expect(before.value).toBe('Attaching');
    expect(this.#told).toEqual(state.context.pods);
    expect(this.#isGone).toBe(state.matches('Gone'));
    expect(this.#clock.armed).toBe(state.matches('Attaching') || state.matches('UnstageFailed') ? 1 : 0);
  }
}

testEveryEvent({ environment, moreThan: 50, essence, begin: (coverage) => new Replay(coverage) });
