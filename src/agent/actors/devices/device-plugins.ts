/** The plugins of all resources of this node. Each resource has an actor, from the first registration until it is forgotten. */
import {
  DEVICE_PLUGIN_TYPE,
  offerProblem,
  registrationProblem,
} from '../../policies/devices/device-registration.ts';
import type { PluginHandler, PluginHandlers } from '../../plugins/registration/plugin-handler.ts';
import type { DeviceManager } from '../../runtime/devices/device-manager.ts';
import type { Register } from '../../runtime/devices/registration-socket.ts';
import { join } from 'node:path';
import type { RegisterRequest } from '../../runtime/devices/device-messages.ts';
import { unlessAborted } from '../../../system/promises.ts';
import type { TimerHandle } from '../../../types/clock.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import type { AgentCore } from '../cluster/cluster-parts.ts';
import { DevicePluginActor, type DevicePluginActorParts } from './device-plugin.ts';
import type { DevicePluginView, NodeDevicePlugins } from './node-device-plugins.ts';

/** Where device plugins register themselves. */
export interface DevicePluginSocket {
  /** Rejects where no plugin can register. */
  open(): Promise<void>;
  close(): void;
}

export interface DevicePluginsParts {
  readonly devices: DeviceManager;
  readonly listen: (register: Register) => DevicePluginSocket;
  /** Connects to the plugin of a resource at its endpoint. */
  readonly connect: DevicePluginActorParts['open'];
}

/** What device plugins need from the agent. */
export type DevicePluginsCore = ActorContext & Pick<AgentCore, 'sync' | 'onAllocatable' | 'reportNow'>;

export class DevicePlugins implements NodeDevicePlugins {
  readonly #context: ActorContext;
  readonly #devices: DeviceManager;
  readonly #plugins = new Map<string, DevicePluginActor>();
  readonly #socket: DevicePluginSocket;
  readonly #connect: DevicePluginsParts['connect'];
  #isStopped = false;
  #opening: Promise<void> = Promise.resolve();
  #reporting: TimerHandle | undefined;

  constructor(core: DevicePluginsCore, { devices, listen, connect }: DevicePluginsParts) {
    this.#context = core;
    this.#devices = devices;
    this.#connect = connect;
    this.#socket = listen((request) => this.#register(request));
    devices.healthChanges.subscribe((uids) => core.sync(uids));
    devices.changes.subscribe(() => this.#reportLater(core));
  }

  /** Resources that a former agent knew wait for their plugins from now on. */
  start(): void {
    for (const resource of this.#devices.knownResources) this.#begin(resource);
    this.#opening = this.#open();
  }

  /** Resolves when no plugin is connected any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#opening;
    if (this.#reporting !== undefined) this.#context.clock.clearTimeout(this.#reporting);
    this.#socket.close();
    for (const plugin of this.#plugins.values()) plugin.stop();
  }

  /** For the watcher of the folder of plugins. */
  get handlers(): PluginHandlers {
    const handler: PluginHandler = {
      problemOf: (offer) => offerProblem(offer, [...this.#plugins.keys()]),
      register: ({ name, endpoint }) => {
        const plugin = this.#pluginOf(name);
        const registration = plugin.registered(endpoint);
        return {
          verify: async (signal) => {
            try {
              await unlessAborted(plugin.connected(), signal);
              return undefined;
            } catch (error) {
              return errorMessage(error);
            }
          },
          close: () => plugin.socketGone(registration),
        };
      },
    };
    return new Map([[DEVICE_PLUGIN_TYPE, handler]]);
  }

  views(): readonly DevicePluginView[] {
    return Array.from(this.#plugins.values(), ({ snapshot: { value, context } }) => {
      const { resource, since, problem, deviceCount, healthyCount } = context;
      const state = typeof value === 'string' ? value : value.Connected;
      return { resource, state, since, problem, deviceCount, healthyCount };
    });
  }

  /** Has all waiting pods ask again, once for all lists that came in this turn of the event loop. */
  #reportLater(core: DevicePluginsCore): void {
    this.#reporting ??= core.clock.setTimeout(() => {
      this.#reporting = undefined;
      core.onAllocatable();
      core.reportNow();
    }, 0);
  }

  async #open(): Promise<void> {
    const { logger } = this.#context;
    try {
      await this.#socket.open();
      logger.debug({ folder: this.#devices.folder }, 'Device plugins can register');
    } catch (error) {
      logger.warn({ folder: this.#devices.folder }, `No device plugin can register: ${errorMessage(error)}`);
    }
  }

  /** Resolves when the agent has connected to the plugin: plugins expect the answer only then. */
  async #register(request: RegisterRequest): Promise<void> {
    const { resourceName, endpoint } = request;
    const problem = registrationProblem(request, [...this.#plugins.keys()]);
    if (problem !== undefined || this.#isStopped) {
      this.#context.logger.warn({}, `A device plugin is not registered: ${problem ?? 'the agent stops'}`);
      throw new StateletError('Unknown', problem ?? 'the agent stops');
    }
    const plugin = this.#pluginOf(resourceName);
    plugin.registered(join(this.#devices.folder, endpoint));
    await plugin.connected();
  }

  /** The actor of the resource, which is made for its first plugin. */
  #pluginOf(resource: string): DevicePluginActor {
    this.#context.measurements?.devices.registered(resource);
    return this.#plugins.get(resource) ?? this.#begin(resource);
  }

  #begin(resource: string): DevicePluginActor {
    const plugin = new DevicePluginActor(this.#context, {
      resource,
      devices: this.#devices,
      open: this.#connect,
      onForgotten: () => {
        if (this.#plugins.get(resource) === plugin) this.#plugins.delete(resource);
      },
    });
    this.#plugins.set(resource, plugin);
    plugin.start();
    return plugin;
  }
}
