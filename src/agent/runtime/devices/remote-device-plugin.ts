import { GrpcClient } from '../../../system/grpc/grpc-client.ts';
import type { Clock } from '../../../types/clock.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { AllocatedContainer } from '../../policies/devices/container-devices.ts';
import type { PreferenceQuestion } from '../../policies/devices/device-choice.ts';
import type { ListedDevice } from '../../policies/devices/device-list.ts';
import {
  ALLOCATE,
  type DevicePluginOptions,
  GET_OPTIONS,
  GET_PREFERRED_ALLOCATION,
  LIST_AND_WATCH,
  PRE_START_CONTAINER,
} from './device-messages.ts';

/** Gives the devices of a resource to containers. */
export interface DevicePlugin {
  readonly options: DevicePluginOptions;
  /** What the container needs to use the devices. */
  allocate(ids: readonly string[], signal: AbortSignal): Promise<AllocatedContainer>;
  /** The devices that the plugin prefers. */
  preferred(question: PreferenceQuestion, signal: AbortSignal): Promise<readonly string[]>;
  preStartContainer(ids: readonly string[], signal: AbortSignal): Promise<void>;
}

/** A plugin with the connection to it. */
export interface DevicePluginConnection extends DevicePlugin {
  /** Reads the options. Rejects where the plugin does not listen or answer. */
  connect(signal: AbortSignal): Promise<void>;
  /** `onDevices` gets each list that differs from the one before. Resolves or rejects when the stream ends. */
  listAndWatch(
    clock: Clock,
    onDevices: (devices: readonly ListedDevice[]) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Another plugin has replaced it. Calls under way are still answered. */
  retire(): void;
  /** Calls under way reject. */
  close(): void;
}

/** As many bytes as the kubelet accepts of a plugin. */
const LIST_BYTES_MAX = 4 * 1024 * 1024;
/** The kubelet's. */
const PRE_START_LIMIT_MS = 30_000;

/** A device plugin in another process, which is asked over gRPC on its socket. */
export class RemoteDevicePlugin implements DevicePluginConnection {
  readonly #client: GrpcClient;
  #options: DevicePluginOptions = { preStartRequired: false, getPreferredAllocationAvailable: false };

  constructor(resource: string, endpoint: string) {
    this.#client = new GrpcClient(`device plugin ${resource}`, endpoint);
  }

  get options(): DevicePluginOptions {
    return this.#options;
  }

  async connect(signal: AbortSignal): Promise<void> {
    try {
      this.#options = await this.#client.call(GET_OPTIONS, {}, signal);
    } catch (error) {
      // The kubelet's words.
      const problem = `failed to get device plugin options: ${errorMessage(error)}`;
      throw new StateletError(errorKind(error), problem, { cause: error });
    }
  }

  async listAndWatch(
    clock: Clock,
    onDevices: (devices: readonly ListedDevice[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let before: Buffer | undefined;
    await this.#client.watch(
      LIST_AND_WATCH,
      {},
      {
        clock,
        signal,
        messageBytesMax: LIST_BYTES_MAX,
        onMessage: (message) => {
          if (before?.equals(message)) return;
          before = message;
          onDevices(LIST_AND_WATCH.response.decode(message).devices);
        },
      },
    );
  }

  async allocate(ids: readonly string[], signal: AbortSignal): Promise<AllocatedContainer> {
    const { containers } = await this.#client.call(ALLOCATE, { containers: [{ ids }] }, signal);
    const [first] = containers;
    if (first === undefined)
      throw new StateletError('Internal', 'no containers return in allocation response');
    return first;
  }

  async preferred(
    { available, mustInclude, size }: PreferenceQuestion,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const request = { containers: [{ available, mustInclude, size }] };
    const { containers } = await this.#client.call(GET_PREFERRED_ALLOCATION, request, signal);
    return containers[0]?.ids ?? [];
  }

  async preStartContainer(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(PRE_START_LIMIT_MS)]);
    await this.#client.call(PRE_START_CONTAINER, { ids }, limit);
  }

  retire(): void {
    this.#client.retire();
  }

  close(): void {
    this.#client.close();
  }
}
