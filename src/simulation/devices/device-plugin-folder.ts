/** The folder of device plugins of a simulated node, and the plugins: they come and go, and register with the agent that listens. */
import type { DevicePluginSocket } from '../../agent/actors/devices/device-plugins.ts';
import type { PluginHandler, PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import { DEVICE_PLUGIN_TYPE } from '../../agent/policies/devices/device-registration.ts';
import type { RegisterRequest } from '../../agent/runtime/devices/device-messages.ts';
import type { StoredText } from '../../system/newest-file.ts';
import type { Register } from '../../agent/runtime/devices/registration-socket.ts';
import { sleep } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { drawnMs, pick } from '../plugins/plugins-plan.ts';
import { DevicePluginLife, type DeviceWorld } from './device-plugin-life.ts';
import type { DevicesOfNode, DevicesPlan } from './devices-plan.ts';
import { type DevicesWitness, SimulatedDeviceConnection } from './simulated-device-connection.ts';

export interface DevicePluginFolderOptions {
  readonly plan: DevicesPlan;
  readonly world: DeviceWorld;
  readonly clock: Clock;
  /** Whether the agent dies while it writes. */
  readonly mayDie: () => boolean;
  /** The agent is killed now. */
  readonly killAgent: () => void;
  readonly tell: (what: string) => void;
}

/** One agent, as the folder knows it. */
export interface FolderUser {
  /** The agent's clock: it fires no timer once the agent is dead. */
  readonly clock: Clock;
  readonly witness: DevicesWitness;
}

interface Listener extends FolderUser {
  readonly register: Register;
}

const THERE_MS = [20_000, 120_000, 1_200_000];
/** The last two are longer than the time for which the node keeps the capacity of a resource. */
const AWAY_MS = [1, 500, 10_000, 400_000, 800_000];
const REPLACED = 0.4;
const OVERLAP_MS = [1_000, 20_000, 60_000];
const NOTICED_MS = 2_000;
const WRITE_MS = 30;
const SLOW_WRITE_MS = 10_000;
const SLOW = 0.2;
const DIES_AT_WRITE = 0.06;
const DAMAGED = 0.05;

const WRONG: readonly Partial<RegisterRequest>[] = [
  { version: 'v7' },
  { resourceName: 'cpu' },
  { resourceName: 'kubernetes.io/gpu' },
  { endpoint: '../gpu.sock' },
  { endpoint: '' },
];

export class DevicePluginFolder {
  readonly #options: DevicePluginFolderOptions;
  readonly #there = new Map<string, DevicePluginLife>();
  /** Plugins whose sockets the agent knows to be gone. */
  readonly #withdrawn = new WeakSet<DevicePluginLife>();
  /** By the endpoint. */
  readonly #endpoints = new Map<string, DevicePluginLife>();
  readonly #ordinals = new Map<string, number>();
  #listener: Listener | undefined;
  /** Of the agent that listens. */
  #watcher: PluginHandler | undefined;
  /** As the disk has it. */
  #checkpoint: string | undefined;

  constructor(options: DevicePluginFolderOptions) {
    this.#options = options;
    for (const devices of options.plan.resources) {
      const isThere = options.world.random(`${devices.resource}/first`) < 0.7;
      if (isThere || !options.world.misbehaves()) this.#appears(devices);
      else this.#away(devices);
    }
  }

  get checkpoint(): string | undefined {
    return this.#checkpoint;
  }

  /** An agent that starts may find a damaged checkpoint. */
  agentStarts(): void {
    const { world, tell } = this.#options;
    const text = this.#checkpoint;
    if (text === undefined || !world.misbehaves() || world.random(this.#key('damage')) >= DAMAGED) return;
    this.#checkpoint = text.slice(0, Math.floor(text.length / 2));
    tell('the checkpoint of devices is damaged');
  }

  /** The devices that the plugin of the resource lists now; undefined while there is none. */
  listOf(resource: string): DevicePluginLife['list'] | undefined {
    return this.#there.get(resource)?.list;
  }

  /** Nothing happens while the resource has no plugin. */
  setHealth(resource: string, id: string, health: 'Healthy' | 'Unhealthy'): void {
    this.#there.get(resource)?.setHealth(id, health);
  }

  /** From now on no plugin misbehaves: plugins that did are replaced by others. */
  calm(): void {
    for (const devices of this.#options.plan.resources) {
      this.#there.get(devices.resource)?.die();
      this.#appears(devices);
    }
  }

  /** For the agent with that clock. It may be killed before the disk has what it writes, and before it learns that the disk has it. */
  file({ clock }: Pick<FolderUser, 'clock'>): StoredText {
    const { world, mayDie, killAgent } = this.#options;
    return {
      path: 'kubelet_internal_checkpoint',
      read: () => this.#checkpoint,
      replace: async (text) => {
        const key = this.#key('write');
        const never = new AbortController();
        const mostMs = world.misbehaves() && world.random(`${key}/slow`) < SLOW ? SLOW_WRITE_MS : WRITE_MS;
        await sleep(clock, 1 + Math.floor(mostMs * world.random(`${key}/ms`)), never.signal);
        const fate = mayDie() ? world.random(`${key}/fate`) : 1;
        if (fate >= DIES_AT_WRITE / 2) this.#checkpoint = text;
        if (fate >= DIES_AT_WRITE) return;
        killAgent();
        await new Promise(() => undefined);
      },
    };
  }

  listen(register: Register, user: FolderUser): DevicePluginSocket {
    const listener = { ...user, register };
    return {
      open: () => {
        this.#listener = listener;
        // The agent has removed their sockets, and the plugins notice it.
        this.#endpoints.clear();
        for (const life of this.#there.values()) this.#registers(life);
        return Promise.resolve();
      },
      close: () => {
        if (this.#listener === listener) this.#listener = undefined;
      },
    };
  }

  /** The handler of plugins that the agent's watcher finds. */
  watchedBy(handlers: PluginHandlers): void {
    this.#watcher = handlers.get(DEVICE_PLUGIN_TYPE);
  }

  connect(resource: string, endpoint: string, user: FolderUser): SimulatedDeviceConnection {
    const life = this.#endpoints.get(endpoint);
    const isNeeded = () =>
      this.#listener?.clock === user.clock && life !== undefined && !this.#withdrawn.has(life);
    return new SimulatedDeviceConnection({ ...user, resource, life, isNeeded });
  }

  #appears(devices: DevicesOfNode): void {
    const { clock, world, tell } = this.#options;
    const { resource } = devices;
    const life = new DevicePluginLife({ devices, key: this.#key(resource), world, clock });
    this.#there.set(resource, life);
    tell(`a device plugin of ${resource} appears: ${life.character}`);
    this.#registers(life);
    if (!world.misbehaves()) return;
    clock.setTimeout(
      () => this.#vanishes(devices, life),
      drawnMs(THERE_MS, life.draw('there'), life.draw('ms')),
    );
  }

  /** A plugin that exists when plugins do not misbehave any more stays. */
  #vanishes(devices: DevicesOfNode, life: DevicePluginLife): void {
    const { world, tell } = this.#options;
    if (!world.misbehaves() || !life.isAlive) return;
    if (life.draw('successor') < REPLACED) {
      this.#replaced(devices, life);
      return;
    }
    life.die();
    this.#there.delete(devices.resource);
    tell(`the device plugin of ${devices.resource} dies`);
    this.#away(devices);
  }

  /** Another plugin registers while this one serves. This one ends some time later, whether the agent has accepted the other or not. */
  #replaced(devices: DevicesOfNode, life: DevicePluginLife): void {
    this.#options.tell(`the device plugin of ${devices.resource} is replaced`);
    this.#appears(devices);
    this.#options.clock.setTimeout(
      () => life.die(),
      drawnMs(OVERLAP_MS, life.draw('overlap'), life.draw('ms')),
    );
  }

  #away(devices: DevicesOfNode): void {
    const { clock, world } = this.#options;
    const key = this.#key(`${devices.resource}/away`);
    const awayMs = drawnMs(AWAY_MS, world.random(key), world.random(`${key}/share`));
    clock.setTimeout(() => {
      if (world.misbehaves()) this.#appears(devices);
    }, awayMs);
  }

  /** Each time at another socket. A plugin that lies first sends wrong registrations, and then registers twice. */
  #registers(life: DevicePluginLife): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    const times = life.character === 'lying' && !life.isFound ? 2 : 1;
    const delayMs = 1 + Math.floor(NOTICED_MS * life.draw('register'));
    for (let time = 0; time < times; time++)
      listener.clock.setTimeout(
        () => {
          const isLast = this.#there.get(life.resource) === life;
          if (this.#listener !== listener || !life.isAlive || !isLast) return;
          const endpoint = `${this.#key('socket').replaceAll('/', '-')}.sock`;
          this.#endpoints.set(endpoint, life);
          if (life.isFound && this.#watcher) {
            this.#offersTo(this.#watcher, listener, life, endpoint);
            return;
          }
          const request = { version: 'v1beta1', endpoint, resourceName: life.resource };
          if (life.character === 'lying') this.#lie(listener, life, request);
          listener.register(request).catch(() => this.#registersAgain(listener, life));
        },
        delayMs * (time + 1),
      );
  }

  /** Does what the agent's watcher does with a socket. */
  #offersTo(watcher: PluginHandler, listener: Listener, life: DevicePluginLife, endpoint: string): void {
    const { resource } = life;
    const offer = { name: resource, endpoint, supportedVersions: ['v1beta1'] };
    if (watcher.problemOf({ type: DEVICE_PLUGIN_TYPE, ...offer }) !== undefined) return;
    const { clock } = listener;
    const served = watcher.register(offer);
    life.onDeath.add(() => clock.setTimeout(() => served.close(), NOTICED_MS));
    void served.verify?.(new AbortController().signal).then((problem) => {
      if (problem === undefined) return;
      this.#withdrawn.add(life);
      served.close();
      this.#registersAgain(listener, life);
    });
  }

  /** It was not accepted: it has not answered in time, or has failed. */
  #registersAgain(listener: Listener, life: DevicePluginLife): void {
    if (this.#listener === listener && life.isAlive) this.#registers(life);
  }

  #lie({ register, witness }: Listener, life: DevicePluginLife, request: RegisterRequest): void {
    register({ ...request, ...pick(WRONG, life.draw('wrong')) }).then(
      () => witness.takenWrongly(life.resource),
      () => undefined,
    );
  }

  #key(what: string): string {
    const ordinal = (this.#ordinals.get(what) ?? 0) + 1;
    this.#ordinals.set(what, ordinal);
    return `devices/${what}/${String(ordinal)}`;
  }
}
