/** The actor of the plugin of one resource, and its effects. */
import { type ActorRefFrom, type AnyActorRef, type SnapshotFrom, waitFor } from 'xstate';
import {
  type DevicePluginContext,
  type DevicePluginRegistration,
  devicePluginMachine,
} from '../../machines/device-plugin-machine.ts';
import { deviceList, healthyIds, type ListedDevice } from '../../policies/devices/device-list.ts';
import { shortDuration } from '../../policies/formats/duration.ts';
import type { DeviceManager } from '../../runtime/devices/device-manager.ts';
import type { DevicePluginConnection } from '../../runtime/devices/remote-device-plugin.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor, timedFailures } from '../agent-actor.ts';

export interface DevicePluginActorParts {
  readonly resource: string;
  readonly devices: Pick<DeviceManager, 'connected' | 'listed' | 'gone' | 'forget'>;
  readonly open: (resource: string, endpoint: string) => DevicePluginConnection;
  /** Called when the resource is forgotten. */
  readonly onForgotten: () => void;
}

export class DevicePluginActor {
  readonly #context: ActorContext;
  readonly #parts: DevicePluginActorParts;
  readonly #actor: ActorRefFrom<typeof devicePluginMachine>;
  /** The plugin that serves. */
  #client: DevicePluginConnection | undefined;
  /** A plugin that has sent its options and will replace the one that serves. */
  #next: DevicePluginConnection | undefined;
  #registrations = 0;
  #refused = 0;

  constructor(context: ActorContext, parts: DevicePluginActorParts) {
    this.#context = context;
    this.#parts = parts;
    const { resource } = parts;
    this.#actor = agentActor(context, this.#machine(), {
      id: `devicePlugin ${resource}`,
      title: `the device plugin of ${resource}`,
      input: { resource, now: context.clock.now() },
    });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  get snapshot(): SnapshotFrom<typeof devicePluginMachine> {
    return this.#actor.getSnapshot();
  }

  start(): void {
    this.#actor.start();
  }

  /** A plugin has registered for the resource. */
  registered(endpoint: string): DevicePluginRegistration {
    const registration = { id: ++this.#registrations, endpoint };
    this.#actor.send({ type: 'REGISTERED', registration, now: this.#context.clock.now() });
    return registration;
  }

  socketGone({ id }: DevicePluginRegistration): void {
    this.#actor.send({ type: 'SOCKET_GONE', id, now: this.#context.clock.now() });
  }

  /** Resolves when the plugin that registered last has sent its options; rejects with the reason if it is refused. */
  async connected(): Promise<void> {
    const snapshot = await waitFor(
      this.#actor,
      (one) => one.context.successor === undefined && !one.matches('Connecting'),
    );
    const { refusal, problem } = snapshot.context;
    if (!snapshot.matches('Connected') || refusal !== undefined)
      throw new StateletError('Unavailable', refusal ?? problem ?? 'the agent stops');
  }

  stop(): void {
    this.#actor.send({ type: 'STOP' });
  }

  #machine(): typeof devicePluginMachine {
    const { clock } = this.#context;
    const { resource, devices, onForgotten } = this.#parts;
    const failureOf = timedFailures(clock);
    return devicePluginMachine.provide({
      actors: {
        connect: requestActor((context, signal) => this.#connect(context, signal), failureOf),
        listen: requestActor((_, signal) => this.#listen(signal), failureOf),
      },
      actions: {
        takeOver: () => this.#takeOver(),
        disconnect: () => this.#disconnect(),
        reportRefusal: ({ context: { refusal = '' } }) =>
          this.#log('warn', `is not replaced by another one that has registered: ${refusal}`),
        forget: () => {
          devices.forget(resource);
          this.#log('info', 'has not registered again: the node has none of its devices any more');
          // While an action runs, the actor has not ended yet.
          queueMicrotask(onForgotten);
        },
        reportServing: ({ context, event }) => {
          if (event.type !== 'LISTED') return;
          const waited = shortDuration(Math.max(0, event.now - context.since));
          this.#log(
            'info',
            `serves ${event.deviceCount} devices, ${event.healthyCount} of them healthy, after ${waited}`,
          );
        },
        reportGone: ({ context }) => {
          if (context.registration !== undefined)
            this.#log('warn', `serves no more: ${context.problem ?? ''}`);
        },
      },
    });
  }

  async #connect(
    { resource, registration, successor = registration }: DevicePluginContext,
    signal: AbortSignal,
  ): Promise<number> {
    const client = this.#parts.open(resource, successor?.endpoint ?? '');
    try {
      await client.connect(signal);
    } catch (error) {
      client.close();
      throw error;
    }
    this.#next?.close();
    this.#next = client;
    return this.#context.clock.now();
  }

  #takeOver(): void {
    const { resource, devices } = this.#parts;
    const client = this.#next;
    if (client === undefined) return;
    this.#next = undefined;
    this.#client?.retire();
    this.#client = client;
    devices.connected(resource, client);
  }

  async #listen(signal: AbortSignal): Promise<number> {
    const { clock } = this.#context;
    await this.#client?.listAndWatch(clock, (listed) => !signal.aborted && this.#take(listed), signal);
    return clock.now();
  }

  #take(listed: readonly ListedDevice[]): void {
    const { resource, devices: manager } = this.#parts;
    const { devices, refused } = deviceList(listed);
    if (refused > 0 && refused !== this.#refused)
      this.#log('warn', `lists ${refused} devices with an ID that is empty or too long: they are left out`);
    this.#refused = refused;
    manager.listed(resource, devices);
    const counts = { deviceCount: devices.size, healthyCount: healthyIds(devices).length };
    this.#actor.send({ type: 'LISTED', ...counts, now: this.#context.clock.now() });
  }

  #disconnect(): void {
    this.#next?.close();
    this.#client?.close();
    this.#next = this.#client = undefined;
    this.#parts.devices.gone(this.#parts.resource);
  }

  #log(level: 'info' | 'warn', what: string): void {
    const { resource } = this.#parts;
    this.#context.logger[level]({ resource }, `The device plugin of ${resource} ${what}`);
  }
}
