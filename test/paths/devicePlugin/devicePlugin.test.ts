/** The paths of the device plugin machine, replayed against the production actor. What its plugin is asked is held until its step. */
import { expect } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { DevicePluginActor } from '../../../src/agent/actors/devices/device-plugin.ts';
import {
  type DevicePluginEvent,
  devicePluginMachine,
  type DevicePluginRegistration,
} from '../../../src/agent/machines/device-plugin-machine.ts';
import type { ListedDevice } from '../../../src/agent/policies/devices/device-list.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { unlessAborted } from '../../../src/system/promises.ts';
import { after, done, failed } from '../../support/child-events.ts';
import { testContext } from '../../support/test-context.ts';
import type { Coverage } from '../coverage.ts';
import { testEveryEvent } from '../every-event.ts';
import type { Environment } from '../paths.ts';

type State = SnapshotFrom<typeof devicePluginMachine>;

const RESOURCE = 'example.com/gpu';
const NOW = 1_000_000;

const EVENTS = {
  registered1: { type: 'REGISTERED', registration: { id: 1, endpoint: '/gpu.sock' }, now: NOW },
  registered2: { type: 'REGISTERED', registration: { id: 2, endpoint: '/gpu.sock' }, now: NOW },
  listed: { type: 'LISTED', deviceCount: 1, healthyCount: 1, now: NOW },
  socketGone1: { type: 'SOCKET_GONE', id: 1, now: NOW },
  socketGone2: { type: 'SOCKET_GONE', id: 2, now: NOW },
  stop: { type: 'STOP' },
  connected: done('connect', NOW),
  unconnected: failed('connect', { problem: 'refused', now: NOW }),
  late: after('connectLimit', 'devicePlugin.Connecting'),
  successorLate: after('connectLimit', 'devicePlugin.Connected.Replacing'),
  ended: done('listen', NOW),
  broken: failed('listen', { problem: 'broken', now: NOW }),
  grace: after('grace', 'devicePlugin.Gone'),
} as const satisfies Record<string, DevicePluginEvent>;
type Name = keyof typeof EVENTS;

/** A plugin that registers is another one than the one that serves. */
function possible(state: State): readonly Name[] {
  if (state.status !== 'active') return [];
  const always: readonly Name[] = [
    state.context.registration?.id === 1 ? 'registered2' : 'registered1',
    'socketGone1',
    'socketGone2',
    'stop',
  ];
  if (state.matches('Gone')) return [...always, 'grace'];
  if (state.matches('Connecting')) return [...always, 'connected', 'unconnected', 'late'];
  const serving: readonly Name[] = [...always, 'listed', 'ended', 'broken'];
  if (!state.matches({ Connected: 'Replacing' })) return serving;
  return [...serving, 'connected', 'unconnected', 'successorLate'];
}

const environment: Environment<typeof devicePluginMachine> = {
  machine: devicePluginMachine,
  input: { resource: RESOURCE, now: NOW },
  events: EVENTS,
  possible,
  label: (state) => JSON.stringify(essence(state)),
};

function essence({ value, context }: State) {
  const { registration, successor, refusal, goneSince, deviceCount, healthyCount } = context;
  return {
    value,
    registration: registration?.endpoint,
    successor: successor?.endpoint,
    refusal,
    isGone: goneSince !== undefined,
    deviceCount,
    healthyCount,
  };
}

class Replay {
  readonly #clock = new VirtualClock(NOW);
  readonly #plugin: DevicePluginActor;
  /** What the manager of devices was told. */
  readonly #told: string[] = [];
  /** By the ids that they have in the events. */
  readonly #registrations = new Map<number, DevicePluginRegistration>();
  #connection = Promise.withResolvers<undefined>();
  #listening = Promise.withResolvers<undefined>();
  #list: (devices: readonly ListedDevice[]) => void = () => undefined;

  constructor(coverage: Coverage) {
    const tell = (what: string) => () => void this.#told.push(what);
    this.#plugin = new DevicePluginActor(testContext({ clock: this.#clock, inspect: coverage.inspect }), {
      resource: RESOURCE,
      devices: {
        connected: tell('connected'),
        listed: tell('listed'),
        gone: tell('gone'),
        forget: tell('forgotten'),
      },
      onForgotten: () => undefined,
      open: () => ({
        options: { preStartRequired: false, getPreferredAllocationAvailable: false },
        connect: (signal) => unlessAborted((this.#connection = Promise.withResolvers()).promise, signal),
        listAndWatch: (_, onDevices, signal) => {
          this.#list = onDevices;
          return unlessAborted((this.#listening = Promise.withResolvers()).promise, signal);
        },
        allocate: () => Promise.reject(new Error('nobody asks')),
        preferred: () => Promise.reject(new Error('nobody asks')),
        preStartContainer: () => Promise.reject(new Error('nobody asks')),
        retire: () => undefined,
        close: () => undefined,
      }),
    });
    this.#plugin.start();
  }

  get state(): State {
    return this.#plugin.snapshot;
  }

  async step(name: Name): Promise<void> {
    await this.#bringAbout[name]();
    await this.#clock.advance(0);
    this.#check();
  }

  async stop(): Promise<void> {
    this.#plugin.stop();
    await this.#clock.advance(0);
    expect(this.#clock.armed).toBe(0);
  }

  readonly #bringAbout: Readonly<Record<Name, () => void | Promise<void>>> = {
    registered1: () => this.#register(1),
    registered2: () => this.#register(2),
    listed: () => this.#list([{ ID: 'gpu-0', health: 'Healthy' }]),
    socketGone1: () => this.#socketGone(1),
    socketGone2: () => this.#socketGone(2),
    stop: () => this.#plugin.stop(),
    connected: () => this.#connection.resolve(undefined),
    unconnected: () => this.#connection.reject(new Error('refused')),
    late: () => this.#clock.step(),
    successorLate: () => this.#clock.step(),
    ended: () => this.#listening.resolve(undefined),
    broken: () => this.#listening.reject(new Error('broken')),
    grace: () => this.#clock.step(),
  };

  #register(id: number): void {
    this.#registrations.set(id, this.#plugin.registered('/gpu.sock'));
  }

  #socketGone(id: number): void {
    const registration = this.#registrations.get(id);
    if (registration) this.#plugin.socketGone(registration);
  }

  /** What the manager knows is what the chart shows, and only one thing is waited for. */
  #check(): void {
    const { state } = this;
    const last = this.#told.at(-1);
    if (state.matches({ Connected: 'Listing' })) expect(last).toBe('connected');
    const isReplaced = state.matches({ Connected: 'Replacing' });
    if (state.matches({ Connected: 'Serving' }) || isReplaced) expect(last).toBe('listed');
    if (state.matches('Gone') || state.matches('Stopped')) expect(last).toBe('gone');
    if (state.matches('Forgotten')) expect(last).toBe('forgotten');
    const waits = state.matches('Gone') || state.matches('Connecting') || isReplaced;
    expect(this.#clock.armed).toBe(waits ? 1 : 0);
  }
}

testEveryEvent({ environment, moreThan: 20, essence, begin: (coverage) => new Replay(coverage) });
