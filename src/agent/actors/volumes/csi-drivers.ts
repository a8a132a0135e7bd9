/** The CSI drivers of this node: they register at the folder of plugins, and are entered in Node and CSINode. */
import { bestVersion, csiOfferProblem } from '../../policies/volumes/csi-source.ts';
import { allocatablePeriodMs, type RegisteredCsiDriver } from '../../policies/volumes/csi-registration.ts';
import type {
  PluginHandler,
  PluginHandlers,
  RegisteredPlugin,
  ServedPlugin,
} from '../../plugins/registration/plugin-handler.ts';
import { CsiDriver } from '../../runtime/volumes/csi/csi-driver.ts';
import type { CsiDriverRegistry } from '../../runtime/volumes/csi/csi-driver-registry.ts';
import type { Dial } from '../../../system/grpc/grpc-client.ts';
import { OneAtATime } from '../../../system/promises.ts';
import { sleep } from '../../../system/timer.ts';
import { untilDone } from '../../../system/until-done.ts';
import type { StorageObjects } from '../../../types/api-objects.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';

const CSI_PLUGIN_TYPE = 'CSIPlugin';
const NOT_ASKED_AGAIN = 'Cannot ask the CSI driver again how many volumes the node can have';
/** Between tries to remove a driver from Node and CSINode. */
const RETRY = { firstMs: 1_000, mostMs: 60_000 };
/** Soon, since the Node object is registered within moments. */
const FIRST_TRIES = { firstMs: 250, mostMs: 10_000 };

export interface CsiDriversParts {
  readonly drivers: CsiDriverRegistry;
  /** Pods that wait for the driver can go on. */
  readonly onRegistered: (name: string) => void;
  /** Default: the sockets of drivers. */
  readonly dial?: Dial | undefined;
  /** Node and CSINode. */
  readonly objects: {
    /** Makes the CSINode if there is none. */
    init(signal: AbortSignal): Promise<void>;
    add(driver: RegisteredCsiDriver, signal: AbortSignal): Promise<void>;
    remove(name: string, signal: AbortSignal): Promise<void>;
  };
  readonly csiDriver: StorageObjects['csiDriver'];
}

export class CsiDrivers {
  readonly #context: ActorContext;
  readonly #parts: CsiDriversParts;
  readonly #life = new AbortController();
  /** Node and CSINode are written by one call at a time. */
  readonly #writes = new OneAtATime();

  constructor(context: ActorContext, parts: CsiDriversParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** For the watcher of the folder of plugins. */
  get handlers(): PluginHandlers {
    const { drivers } = this.#parts;
    const handler: PluginHandler = {
      problemOf: ({ name, supportedVersions }) =>
        csiOfferProblem(name, supportedVersions, drivers.versionOf(name)),
      register: (plugin) => this.#serve(plugin),
    };
    return new Map([[CSI_PLUGIN_TYPE, handler]]);
  }

  /** As with the kubelet, there is a CSINode also without a driver: the scheduler reads it. */
  start(): void {
    const init = () => this.#writes.run(() => this.#parts.objects.init(this.#life.signal));
    void this.#untilDone(FIRST_TRIES, init, 'Cannot make the CSINode').catch(() => undefined);
  }

  /** The agent ends, not the drivers: from now on Node and CSINode keep a driver that disconnects. */
  stop(): void {
    this.#life.abort();
  }

  /** Asks the driver again how many volumes the node can have. Never rejects. */
  async refresh(name: string): Promise<void> {
    try {
      await this.#add(this.#parts.drivers.get(name, 'failed to get CSI client'), this.#life.signal);
    } catch (error) {
      this.#context.logger.debug({ driver: name }, `${NOT_ASKED_AGAIN}: ${errorMessage(error)}`);
    }
  }

  #serve({ name, endpoint, supportedVersions }: RegisteredPlugin): ServedPlugin {
    const { drivers, dial } = this.#parts;
    const version = bestVersion(supportedVersions) ?? '';
    const driver = new CsiDriver(this.#context, { name, endpoint, version, dial });
    let isRegistered = false;
    const served = new AbortController();
    const signal = AbortSignal.any([served.signal, this.#life.signal]);
    return {
      verify: async (asked) => {
        try {
          await this.#add(driver, AbortSignal.any([asked, signal]));
          drivers.register(driver);
          isRegistered = true;
          this.#parts.onRegistered(name);
          void this.#keepAllocatable(driver, signal).catch(() => undefined);
          return undefined;
        } catch (error) {
          return errorMessage(error);
        }
      },
      close: () => {
        served.abort();
        drivers.unregister(driver);
        if (isRegistered && !this.#life.signal.aborted) void this.#remove(name);
        isRegistered = false;
      },
    };
  }

  async #add(driver: CsiDriver, signal: AbortSignal): Promise<void> {
    const { nodeId, maxVolumes, topology } = await driver.info(signal);
    if (nodeId === '') throw new Error(`CSI driver ${driver.name}: NodeGetInfo has answered no node ID`);
    const registered = { name: driver.name, nodeId, maxVolumes, topology: topology?.segments ?? {} };
    await this.#writes.run(() => this.#parts.objects.add(registered, signal));
  }

  /** Asks again how many volumes the node can have, where the driver's object says how often. Rejects when the driver goes. */
  async #keepAllocatable(driver: CsiDriver, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#context;
    const period = async () => allocatablePeriodMs(await this.#parts.csiDriver(driver.name));
    const failed = (error: unknown) => {
      signal.throwIfAborted();
      logger.debug({ driver: driver.name }, `${NOT_ASKED_AGAIN}: ${errorMessage(error)}`);
    };
    let periodMs: number | undefined;
    const read = async () => void (periodMs = await period());
    await this.#untilDone(RETRY, read, `Cannot read the CSIDriver ${driver.name}`, signal);
    while (periodMs !== undefined) {
      await sleep(clock, periodMs, signal);
      await this.#add(driver, signal).then(read).catch(failed);
    }
  }

  #untilDone(
    pauses: typeof RETRY,
    work: () => Promise<void>,
    failure: string,
    signal = this.#life.signal,
  ): Promise<void> {
    const { clock, logger } = this.#context;
    const onFailure = (problem: string) => logger.debug({}, `${failure}: ${problem}`);
    return untilDone(clock, work, { ...pauses, signal, onFailure });
  }

  /** Tries until Node and CSINode are written, or the driver registers again. */
  async #remove(name: string): Promise<void> {
    const { signal } = this.#life;
    const { drivers, objects } = this.#parts;
    const remove = () =>
      this.#writes.run(async () => {
        if (drivers.versionOf(name) === undefined) await objects.remove(name, signal);
      });
    const failure = `Cannot tell the API server that the CSI driver ${name} is gone`;
    await this.#untilDone(RETRY, remove, failure).catch(() => undefined);
  }
}
