/** The actor of a DRA driver, and its effects. */
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import { draDriverMachine } from '../../machines/dra-driver-machine.ts';
import type { ReportedHealth } from '../../policies/dra/device-health-list.ts';
import type { DraDriver } from '../../runtime/dra/dra-driver.ts';
import { sleep } from '../../../system/timer.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor, requestActor, timedFailures } from '../agent-actor.ts';

export interface DraDriverParts {
  readonly name: string;
  /** Deletes the ResourceSlices of the driver: resolves when that is done. */
  readonly removeSlices: (signal: AbortSignal) => Promise<void>;
  /** Called when the driver is connected. */
  readonly onConnected: () => void;
  /** Undefined: the health is unknown from now on. */
  readonly onHealth: (devices: readonly ReportedHealth[] | undefined) => void;
  /** Called when the driver is forgotten. */
  readonly onForgotten: () => void;
}

/** The kubelet's, between two streams of a driver's devices. */
const HEALTH_PAUSE_MS = 5_000;

export class DraDriverActor {
  readonly #context: ActorContext;
  readonly #parts: DraDriverParts;
  readonly #actor: ActorRefFrom<typeof draDriverMachine>;
  #driver: DraDriver | undefined;

  constructor(context: ActorContext, parts: DraDriverParts) {
    this.#context = context;
    this.#parts = parts;
    const { name } = parts;
    this.#actor = agentActor(context, this.#machine(), {
      id: `draDriver ${name}`,
      title: `the DRA driver ${name}`,
      input: { driver: name, now: context.clock.now() },
    });
    this.#actor.start();
  }

  get snapshot(): SnapshotFrom<typeof draDriverMachine> {
    return this.#actor.getSnapshot();
  }

  registered(driver: DraDriver): void {
    const former = this.#driver;
    this.#driver = driver;
    this.#actor.send({ type: 'REGISTERED', endpoint: driver.endpoint, now: this.#context.clock.now() });
    former?.close();
  }

  /** The socket of this plugin is gone. Ignored if another plugin of the driver has replaced it. */
  socketGone(driver: DraDriver): void {
    if (this.#driver === driver) this.#actor.send({ type: 'SOCKET_GONE', now: this.#context.clock.now() });
  }

  stop(): void {
    this.#actor.send({ type: 'STOP' });
  }

  #machine(): typeof draDriverMachine {
    const { clock, logger } = this.#context;
    const { name, removeSlices, onForgotten } = this.#parts;
    const failureOf = timedFailures(clock);
    return draDriverMachine.provide({
      actors: {
        connect: requestActor(async (_, signal) => {
          await this.#driver?.connect(signal);
          return clock.now();
        }, failureOf),
        stay: requestActor((_, signal) => this.#stay(signal), failureOf),
        removeSlices: requestActor(async (_, signal) => {
          await removeSlices(signal);
          return clock.now();
        }, failureOf),
      },
      actions: {
        disconnect: () => {
          this.#driver?.close();
          this.#driver = undefined;
        },
        // While an action runs, the actor has not ended yet.
        forget: () => queueMicrotask(onForgotten),
        reportConnected: () => {
          logger.info({ driver: name }, `The DRA driver ${name} is connected`);
          queueMicrotask(() => this.#parts.onConnected());
        },
        reportAway: ({ context: { problem = '' } }) =>
          logger.warn({ driver: name }, `The DRA driver ${name} is not connected: ${problem}`),
      },
    });
  }

  /** Ends with the connection. */
  async #stay(signal: AbortSignal): Promise<never> {
    const driver = this.#driver;
    const ended = new AbortController();
    if (driver) void this.#followHealth(driver, AbortSignal.any([signal, ended.signal]));
    try {
      await driver?.disconnected(signal);
    } finally {
      ended.abort();
      this.#parts.onHealth(undefined);
    }
    throw new StateletError('Unavailable', 'its connection has ended');
  }

  /** Until the driver is disconnected. */
  async #followHealth(driver: DraDriver, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#context;
    const { name, onHealth } = this.#parts;
    const hear = () => driver.watchHealth((devices) => !signal.aborted && onHealth(devices), signal);
    for (;;) {
      const problem = await hear().catch((error: unknown) => error);
      // A driver has the same services as long as it runs.
      if (signal.aborted || errorKind(problem) === 'Unimplemented') return;
      onHealth(undefined);
      logger.debug({ driver: name }, `Its devices are watched again: ${errorMessage(problem)}`);
      await sleep(clock, HEALTH_PAUSE_MS, signal).catch(() => undefined);
    }
  }
}
