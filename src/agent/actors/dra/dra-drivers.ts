/**
 * The DRA drivers of this node, which register at the folder of plugins. Each has an actor, until it is gone and its
 * ResourceSlices are deleted.
 */
import { DRA_PLUGIN_TYPE, draOfferProblem, draServiceOf } from '../../policies/dra/dra-registration.ts';
import type { ReportedHealth } from '../../policies/dra/device-health-list.ts';
import type {
  PluginHandler,
  PluginHandlers,
  RegisteredPlugin,
  ServedPlugin,
} from '../../plugins/registration/plugin-handler.ts';
import { DraDriver } from '../../runtime/dra/dra-driver.ts';
import type { DraNode } from '../../runtime/dra/dra-node.ts';
import type { ResourceSlices } from '../../cluster/objects/resource-slices.ts';
import type { Dial } from '../../../system/grpc/grpc-client.ts';
import { untilDone } from '../../../system/until-done.ts';
import { StateletError } from '../../../types/errors.ts';
import type { AgentCore } from '../cluster/cluster-parts.ts';
import { DraDriverActor } from './dra-driver-actor.ts';

export interface DraDriversParts {
  readonly dra: DraNode;
  /** Default: the sockets of drivers. */
  readonly dial?: Dial | undefined;
  readonly slices: Pick<ResourceSlices, 'remove'>;
}

/** The kubelet's. */
const REMOVAL_RETRY = { firstMs: 1_000, mostMs: 300_000 };

export class DraDrivers {
  readonly #core: AgentCore;
  readonly #parts: DraDriversParts;
  readonly #drivers = new Map<string, DraDriverActor>();
  readonly #life = new AbortController();

  constructor(core: AgentCore, parts: DraDriversParts) {
    this.#core = core;
    this.#parts = parts;
  }

  /** For the watcher of the folder of plugins. */
  get handlers(): PluginHandlers {
    const handler: PluginHandler = {
      problemOf: (offer) => draOfferProblem(offer, [...this.#drivers.keys()]),
      register: (plugin) => this.#serve(plugin),
    };
    return new Map([[DRA_PLUGIN_TYPE, handler]]);
  }

  /** Deletes the ResourceSlices of this node, so that no pod is scheduled for a driver that has not registered. */
  start(): void {
    void this.#removeSlices(undefined, this.#life.signal).catch(() => undefined);
  }

  /** The agent ends, not the drivers: from now on nothing is done for a driver that disconnects. */
  beginStop(): void {
    this.#life.abort();
  }

  stop(): void {
    for (const driver of this.#drivers.values()) driver.stop();
  }

  #serve({ name, endpoint, supportedVersions }: RegisteredPlugin): ServedPlugin {
    const service = draServiceOf(supportedVersions);
    if (service === undefined)
      throw new StateletError('Internal', `${name} has no service that is known here`);
    const { dra, dial } = this.#parts;
    const driver = new DraDriver(this.#core, { name, endpoint, service, dial });
    const actor = this.#drivers.get(name) ?? this.#begin(name);
    dra.drivers.register(driver);
    actor.registered(driver);
    return {
      close: () => {
        if (this.#life.signal.aborted) return;
        dra.drivers.unregister(driver);
        actor.socketGone(driver);
      },
    };
  }

  #begin(name: string): DraDriverActor {
    const { dra } = this.#parts;
    const actor: DraDriverActor = new DraDriverActor(this.#core, {
      name,
      removeSlices: (signal) => this.#removeSlices(name, signal),
      onConnected: () => this.#core.sync(dra.lacking(name)),
      onHealth: (devices) => this.#hear(name, devices),
      onForgotten: () => {
        if (this.#drivers.get(name) === actor) this.#drivers.delete(name);
      },
    });
    this.#drivers.set(name, actor);
    return actor;
  }

  /** Syncs the pods with devices of the driver, whose statuses show the new health. */
  #hear(name: string, devices: readonly ReportedHealth[] | undefined): void {
    const { drivers, users } = this.#parts.dra;
    const isNew = devices === undefined ? drivers.forgetHealth(name) : drivers.takeHealth(name, devices);
    if (isNew) this.#core.sync(users(name));
  }

  #removeSlices(driver: string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#core;
    const whose = driver === undefined ? 'this node' : `the DRA driver ${driver}`;
    // A driver that has registered meanwhile has made new ResourceSlices; its own actor deletes them when it is gone.
    const isSpared = (name: string) => name !== driver && this.#drivers.has(name);
    return untilDone(clock, () => this.#parts.slices.remove(driver, isSpared, signal), {
      ...REMOVAL_RETRY,
      signal,
      onFailure: (problem) =>
        logger.debug({ driver }, `Cannot delete the ResourceSlices of ${whose}: ${problem}`),
    });
  }
}
