/** The paths of the resource claim machine, replayed against the production actor. What its drivers are asked is held until its step. */
import { expect } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { ResourceClaimActor } from '../../../src/agent/actors/dra/resource-claim-actor.ts';
import {
  type ResourceClaimEvent,
  resourceClaimMachine,
} from '../../../src/agent/machines/resource-claim-machine.ts';
import type { ClaimState } from '../../../src/agent/policies/dra/claim-devices.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { unlessAborted } from '../../../src/system/promises.ts';
import { done, failed } from '../../support/child-events.ts';
import { testContext } from '../../support/test-context.ts';
import type { Coverage } from '../coverage.ts';
import { testEveryEvent } from '../every-event.ts';
import type { Environment } from '../paths.ts';

type State = SnapshotFrom<typeof resourceClaimMachine>;

const NOW = 1_000_000;
const DEVICE = { pool: 'p', device: 'd', shareId: '', requests: [], cdiIds: ['a/d=1'] };
const PREPARED = { 'a.test': [DEVICE] };
const CLAIM: ClaimState = {
  uid: 'uid-claim',
  namespace: 'default',
  name: 'shared',
  pods: ['old'],
  drivers: { 'a.test': [] },
};
const failure = { problem: 'refused', now: NOW };
const wanted = (pod: string) => ({ type: 'WANTED', pod, now: NOW }) as const;
const left = (pod: string) => ({ type: 'LEFT', pod, now: NOW }) as const;

const EVENTS = {
  oneWants: wanted('one'),
  twoWants: wanted('two'),
  givenUp: { type: 'GIVEN_UP', now: NOW },
  oldLeaves: left('old'),
  oneLeaves: left('one'),
  twoLeaves: left('two'),
  stop: { type: 'STOP' },
  prepared: done('prepare', { drivers: PREPARED, now: NOW }),
  unpreparable: failed('prepare', failure),
  unprepared: done('unprepare', NOW),
  kept: failed('unprepare', failure),
} as const satisfies Record<string, ResourceClaimEvent>;
type Name = keyof typeof EVENTS;

const ALWAYS: readonly Name[] = ['oneWants', 'twoWants', 'oldLeaves', 'oneLeaves', 'twoLeaves', 'stop'];

function possible(state: State): readonly Name[] {
  if (state.status !== 'active') return [];
  if (state.matches('Preparing')) return [...ALWAYS, 'givenUp', 'prepared', 'unpreparable'];
  if (state.matches('Unpreparing')) return [...ALWAYS, 'unprepared', 'kept'];
  return ALWAYS;
}

const environment: Environment<typeof resourceClaimMachine> = {
  machine: resourceClaimMachine,
  input: { claim: CLAIM, now: NOW },
  events: EVENTS,
  possible,
  label: (state) => JSON.stringify(essence(state)),
};

function essence({ value, context: { pods, leaving } }: State) {
  return { value, pods: pods.toSorted(), leaving: leaving ?? 'none' };
}

class Replay {
  readonly #clock = new VirtualClock(NOW);
  readonly #claim: ResourceClaimActor;
  /** Of pods that wait for it. */
  #waiting = new AbortController();
  #isGone = false;
  /** Of the call under way. */
  #call = Promise.withResolvers<ClaimState['drivers']>();
  #asked: string[] = [];

  constructor(coverage: Coverage) {
    const ask = (what: string, signal: AbortSignal) => {
      this.#asked.push(what);
      this.#call = Promise.withResolvers();
      return unlessAborted(this.#call.promise, signal);
    };
    const context = testContext({ clock: this.#clock, inspect: coverage.inspect });
    this.#claim = new ResourceClaimActor(context, CLAIM, {
      drivers: {
        prepare: (_claim, _asker, signal) => ask('prepare', signal),
        unprepare: async (_claim, _asker, signal) => {
          await ask('unprepare', signal);
        },
      },
      save: () => {
        this.#asked.push('save');
        return Promise.resolve();
      },
      onStep: () => undefined,
      onGone: () => (this.#isGone = true),
    });
  }

  get state(): State {
    return this.#claim.snapshot;
  }

  async step(name: Name): Promise<void> {
    this.#asked = [];
    this.#bringAbout(name);
    await this.#clock.advance(0);
    this.#check();
  }

  async stop(): Promise<void> {
    this.#waiting.abort();
    this.#claim.stop();
    await this.#clock.advance(0);
    expect(this.#clock.armed).toBe(0);
  }

  #bringAbout(name: Name): void {
    const event = EVENTS[name];
    if (event.type === 'WANTED') this.#claim.use(event.pod, this.#waiting.signal).catch(() => undefined);
    else if (event.type === 'LEFT')
      this.#claim.leave(event.pod, AbortSignal.timeout(60_000)).catch(() => undefined);
    else if (name === 'stop') this.#claim.stop();
    else if (name === 'givenUp') {
      this.#waiting.abort(new Error('the pod ends'));
      this.#waiting = new AbortController();
    } else if ('output' in event) this.#call.resolve(PREPARED);
    else this.#call.reject(new Error('refused'));
  }

  /** It is on the disk before it is prepared, and no pod loses a claim that it uses. */
  #check(): void {
    const { state } = this;
    if (this.#asked.includes('prepare')) expect(this.#asked.at(-2)).toBe('save');
    if (this.#asked.includes('unprepare')) expect(state.context.pods).toEqual([state.context.leaving]);
    if (state.matches('Prepared')) expect(state.context.drivers).toEqual(PREPARED);
    expect(this.#isGone).toBe(state.matches('Gone'));
  }
}

testEveryEvent({ environment, moreThan: 50, essence, begin: (coverage) => new Replay(coverage) });
