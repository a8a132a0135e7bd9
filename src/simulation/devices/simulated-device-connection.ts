/** The connection of one agent to a simulated device plugin: it answers as the plugin does, for as long as both live. */
import type { AllocatedContainer } from '../../agent/policies/devices/container-devices.ts';
import type { PreferenceQuestion } from '../../agent/policies/devices/device-choice.ts';
import type { ListedDevice } from '../../agent/policies/devices/device-list.ts';
import type { DevicePluginOptions } from '../../agent/runtime/devices/device-messages.ts';
import type { DevicePluginConnection } from '../../agent/runtime/devices/remote-device-plugin.ts';
import { whenAborted } from '../../system/promises.ts';
import { withDeadline } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import { within } from '../runtime/chance.ts';
import type { DevicePluginLife } from './device-plugin-life.ts';

/** Sees the lists that device plugins send to an agent, and the agent's calls to them. */
export interface DevicesWitness {
  /** The agent knows these devices from now on, and may hand them out. */
  listed(resource: string, devices: readonly ListedDevice[]): void;
  /** No plugin lists devices of the resource any more. */
  silent(resource: string): void;
  asked(resource: string, ids: readonly string[]): void;
  /** A call of the plugin has failed. */
  failed(resource: string): void;
  /** A registration was accepted that had to be refused. */
  takenWrongly(resource: string): void;
  /** The agent has dropped a plugin that serves, though no other one has replaced it. */
  letGo(resource: string): void;
}

export interface SimulatedDeviceConnectionOptions {
  /** Undefined: nothing listens at the endpoint. */
  readonly life: DevicePluginLife | undefined;
  readonly resource: string;
  /** The agent's clock: nothing is answered once the agent is dead. */
  readonly clock: Clock;
  readonly witness: DevicesWitness;
  /** Whether the agent must keep the plugin as long as it lists its devices. */
  readonly isNeeded: () => boolean;
}

/** The variable in which a container finds the IDs of its devices. */
export const DEVICES_VARIABLE = 'DEVICES_';

const PRE_START_LIMIT_MS = 30_000;
const HONEST_MS = 50;
const SLOW_MS = 20_000;
const FAILS = 0.3;
const HANGS = 0.5;
const ENDS_LIST = 0.3;
const ENDS_AFTER_MS = 120_000;

export class SimulatedDeviceConnection implements DevicePluginConnection {
  readonly #options: SimulatedDeviceConnectionOptions;
  readonly #closed = new AbortController();
  #hasListed = false;
  #isListing = false;

  constructor(options: SimulatedDeviceConnectionOptions) {
    this.#options = options;
  }

  get options(): DevicePluginOptions {
    const { life } = this.#options;
    const { preStartRequired = false, getPreferredAllocationAvailable = false } = life ?? {};
    return { preStartRequired, getPreferredAllocationAvailable };
  }

  connect(signal: AbortSignal): Promise<void> {
    return this.#answer('connect', signal, () => undefined);
  }

  async listAndWatch(
    _clock: Clock,
    onDevices: (devices: readonly ListedDevice[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { life, resource, clock, witness } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const sendList = (devices: readonly ListedDevice[]) =>
      clock.setTimeout(() => {
        if (signal.aborted || this.#closed.signal.aborted || life?.isAlive !== true) return;
        this.#hasListed = true;
        witness.listed(resource, devices);
        onDevices(devices);
      }, 1);
    const broken = this.#untilBroken(signal, reject);
    this.#isListing = true;
    try {
      if (life?.isAlive === true) {
        life.onList.add(sendList);
        sendList(life.list);
        if (life.character === 'failing' && life.draw('list') < ENDS_LIST)
          clock.setTimeout(() => resolve(undefined), Math.ceil(ENDS_AFTER_MS * life.draw('end')));
      }
      await promise;
    } finally {
      broken();
      this.#isListing = false;
      life?.onList.delete(sendList);
      // The list of this registration still counts while another one is being connected.
      if (!signal.aborted) witness.silent(resource);
    }
  }

  allocate(ids: readonly string[], signal: AbortSignal): Promise<AllocatedContainer> {
    const { resource, witness } = this.#options;
    witness.asked(resource, ids);
    return this.#answer('allocate', signal, () => ({
      envs: { [`${DEVICES_VARIABLE}${resource}`]: ids.join() },
      mounts: [],
      devices: [],
      annotations: {},
      cdiDevices: [],
    }));
  }

  /** A plugin that lies names devices that do not exist or that others have, some devices twice, and too many. */
  preferred(
    { available, mustInclude, size }: PreferenceQuestion,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { life } = this.#options;
    return this.#answer('preferred', signal, () => {
      const last = available.toReversed();
      if (life?.character === 'lying')
        return [...last, 'unknown', ...life.list.map(({ ID }) => ID), ...mustInclude];
      return [...mustInclude, ...last.filter((id) => !mustInclude.includes(id))].slice(0, size);
    });
  }

  preStartContainer(_ids: readonly string[], signal: AbortSignal): Promise<void> {
    const late = () => new StateletError('DeadlineExceeded', 'it has not answered in time');
    return withDeadline(
      this.#options.clock,
      PRE_START_LIMIT_MS,
      signal,
      (limit) => this.#answer('preStart', limit, () => undefined),
      late,
    );
  }

  retire(): void {
    // It still answers calls that it has got before.
    this.#isListing = false;
  }

  close(): void {
    const { life, resource, witness, isNeeded } = this.#options;
    if (this.#hasListed && this.#isListing && life?.isAlive === true && isNeeded()) witness.letGo(resource);
    if (this.#hasListed) witness.silent(resource);
    this.#closed.abort(new StateletError('Unavailable', 'the connection was closed'));
  }

  async #answer<T>(what: string, signal: AbortSignal, answer: () => T): Promise<T> {
    const { life, clock, witness, resource } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const broken = this.#untilBroken(signal, reject);
    if (life?.isAlive === true && !(life.character === 'hanging' && life.draw(what) < HANGS)) {
      const habits = what === 'allocate' ? life.habits : undefined;
      const mostMs = life.character === 'slow' ? SLOW_MS : HONEST_MS;
      const failures = habits?.failures ?? (life.character === 'failing' ? FAILS : 0);
      const fails = failures > 0 && life.draw(what) < failures;
      const chance = life.draw(what);
      clock.setTimeout(
        () => (fails ? reject(new StateletError('Unknown', 'the plugin fails')) : resolve(answer())),
        habits?.ms ? within(habits.ms, chance) : 1 + Math.floor(mostMs * chance),
      );
    }
    try {
      return await promise;
    } catch (error) {
      witness.failed(resource);
      throw error;
    } finally {
      broken();
    }
  }

  /**
   * Calls `reject` when the plugin dies, when it is dropped, or when its answer does not matter any more. Returns the function to be called at the
   * end.
   */
  #untilBroken(signal: AbortSignal, reject: (error: Error) => void): () => void {
    const { life, clock } = this.#options;
    const gone = () => {
      clock.setTimeout(() => reject(new StateletError('Unavailable', 'nothing listens there')), 1);
    };
    if (life?.isAlive === true) life.onDeath.add(gone);
    else gone();
    const forget = whenAborted([signal, this.#closed.signal], reject);
    return () => {
      life?.onDeath.delete(gone);
      forget();
    };
  }
}
