/** The paths of the DRA driver machine, replayed against the production actor. What the driver does is held until its step. */
import { expect } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { DraDriverActor } from '../../../src/agent/actors/dra/dra-driver-actor.ts';
import { type DraDriverEvent, draDriverMachine } from '../../../src/agent/machines/dra-driver-machine.ts';
import type { DraDriver } from '../../../src/agent/runtime/dra/dra-driver.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { unlessAborted } from '../../../src/system/promises.ts';
import { after, done, failed } from '../../support/child-events.ts';
import { testContext } from '../../support/test-context.ts';
import type { Coverage } from '../coverage.ts';
import { testEveryEvent } from '../every-event.ts';
import type { Environment } from '../paths.ts';

type State = SnapshotFrom<typeof draDriverMachine>;

const NOW = 1_000_000;
const failure = { problem: 'refused', now: NOW };

const EVENTS = {
  registered: { type: 'REGISTERED', endpoint: '/gpu.sock', now: NOW },
  socketGone: { type: 'SOCKET_GONE', now: NOW },
  stop: { type: 'STOP' },
  connected: done('connect', NOW),
  refused: failed('connect', failure),
  lost: failed('stay', failure),
  reconnect: after('reconnect', 'draDriver.Away.Link.Pausing'),
  grace: after('grace', 'draDriver.Away.Slices.Kept'),
  removed: done('removeSlices', NOW),
} as const satisfies Record<string, DraDriverEvent>;
type Name = keyof typeof EVENTS;

function possible(state: State): readonly Name[] {
  if (state.status !== 'active') return [];
  const names: Name[] = ['registered', 'stop'];
  if (state.context.endpoint !== undefined) names.push('socketGone');
  if (state.matches('Connected')) names.push('lost');
  // Tries that fail again and again add nothing.
  if (state.matches({ Away: { Link: 'Connecting' } }))
    names.push('connected', ...(state.context.failures > 1 ? [] : ['refused' as const]));
  const pauses = state.matches({ Away: { Link: 'Pausing' } });
  // Of two timers the earlier one comes first.
  if (pauses) names.push('reconnect');
  if (state.matches({ Away: { Slices: 'Kept' } }) && !pauses) names.push('grace');
  if (state.matches({ Away: { Slices: 'Removing' } })) names.push('removed');
  return names;
}

const environment: Environment<typeof draDriverMachine> = {
  machine: draDriverMachine,
  input: { driver: 'gpu.dra.test', now: NOW },
  events: EVENTS,
  possible,
  label: (state) => JSON.stringify(essence(state)),
};

function essence({ value, context: { endpoint, failures, isRemoved } }: State) {
  return { value, endpoint: endpoint ?? 'none', failures, isRemoved };
}

type Held = ReturnType<typeof Promise.withResolvers<undefined>>;

class Replay {
  readonly #clock = new VirtualClock(NOW);
  readonly #actor: DraDriverActor;
  #driver: DraDriver | undefined;
  readonly #calls = new Map<'connect' | 'stay' | 'removeSlices', Held>();
  #isForgotten = false;
  #told: string[] = [];

  constructor(coverage: Coverage) {
    const context = testContext({ clock: this.#clock, inspect: coverage.inspect });
    this.#actor = new DraDriverActor(context, {
      name: 'gpu.dra.test',
      removeSlices: (signal) => this.#held('removeSlices', signal),
      onConnected: () => this.#told.push('connected'),
      onHealth: (devices) => this.#told.push(devices === undefined ? 'unknown' : 'health'),
      onForgotten: () => (this.#isForgotten = true),
    });
  }

  get state(): State {
    return this.#actor.snapshot;
  }

  async step(name: Name): Promise<void> {
    this.#told = [];
    this.#bringAbout(name);
    await this.#clock.advance(0);
    this.#check(name);
  }

  async stop(): Promise<void> {
    this.#actor.stop();
    await this.#clock.advance(0);
    expect(this.#clock.armed).toBe(0);
  }

  async #held(call: 'connect' | 'stay' | 'removeSlices', signal: AbortSignal): Promise<void> {
    const held = Promise.withResolvers<undefined>();
    this.#calls.set(call, held);
    await unlessAborted(held.promise, signal);
  }

  #newDriver(): DraDriver {
    return {
      name: 'gpu.dra.test',
      endpoint: '/gpu.sock',
      connect: (signal: AbortSignal) => this.#held('connect', signal),
      disconnected: (signal: AbortSignal) => this.#held('stay', signal),
      watchHealth: (onHealth: (devices: readonly []) => void, signal: AbortSignal) => {
        onHealth([]);
        return unlessAborted(new Promise<void>(() => undefined), signal);
      },
      close: () => undefined,
    } as unknown as DraDriver;
  }

  #bringAbout(name: Name): void {
    if (name === 'registered') this.#actor.registered((this.#driver = this.#newDriver()));
    else if (name === 'socketGone' && this.#driver) this.#actor.socketGone(this.#driver);
    else if (name === 'stop') this.#actor.stop();
    else if (name === 'reconnect' || name === 'grace') void this.#clock.step();
    else if (name === 'refused') this.#calls.get('connect')?.reject(new Error('refused'));
    else if (name === 'lost') this.#calls.get('stay')?.resolve(undefined);
    else this.#calls.get(name === 'connected' ? 'connect' : 'removeSlices')?.resolve(undefined);
  }

  /** Pods go on when the driver is there, and their devices are not known any more when it is not. */
  #check(name: Name): void {
    const { state } = this;
    if (name === 'connected') expect(this.#told).toEqual(['health', 'connected']);
    if (name === 'lost') expect(this.#told).toContain('unknown');
    expect(this.#isForgotten).toBe(state.matches('Forgotten'));
  }
}

testEveryEvent({ environment, moreThan: 20, essence, begin: (coverage) => new Replay(coverage) });
