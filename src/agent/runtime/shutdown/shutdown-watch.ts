/** Learns from logind that the machine shuts down, and delays the shutdown while pods end. */
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import {
  allowDelay,
  type ChildCommand,
  inhibitDelayMaxSeconds,
  inhibitShutdown,
  logindProblem,
  watchShutdownSignal,
} from './logind.ts';

/** As the kubelet's, after the connection to D-Bus was lost. */
const RETRY_MS = 1_000;

export interface ShutdownWatchParts {
  /** How long the shutdown may take in all. */
  readonly seconds: number;
  /** The machine begins to shut down; the shutdown is delayed until `release`. */
  readonly onShutdown: () => void;
  readonly onCancelled: () => void;
  /** logind's folder of drop-ins. */
  readonly etc?: string;
}

export class ShutdownWatch {
  readonly #context: AgentContext;
  readonly #parts: ShutdownWatchParts;
  readonly #retry: Timer;
  #lock: ChildCommand | undefined;
  #monitor: ChildCommand | undefined;
  #isClosed = false;
  /** Whether logind has ever answered. If not, it is not asked again. */
  #wasThere = false;

  constructor(context: AgentContext, parts: ShutdownWatchParts) {
    this.#context = context;
    this.#parts = parts;
    this.#retry = new Timer(context.clock);
  }

  /** Resolves when the watch works, or is known not to. */
  async start(): Promise<void> {
    const { logger } = this.#context;
    try {
      await this.#allow(this.#parts.seconds);
    } catch (error) {
      if (this.#wasThere) this.#startLater();
      else
        logger.warn(
          { problem: logindProblem(error) },
          'A shutdown of this machine is not noticed: no logind',
        );
      return;
    }
    if (this.#isClosed) return;
    this.#wasThere = true;
    this.#lock ??= inhibitShutdown();
    this.#monitor = watchShutdownSignal((isShuttingDown) => this.#heard(isShuttingDown));
    void this.#monitor.ended.then(() => this.#startLater());
  }

  /** The pods have ended: the machine may go down. */
  async release(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retry.disarm();
    await Promise.all([this.release(), this.#monitor?.close()]);
  }

  async #allow(seconds: number): Promise<void> {
    const { logger } = this.#context;
    if ((await inhibitDelayMaxSeconds()) >= seconds) return;
    await allowDelay(seconds, this.#parts.etc).catch((error: unknown) =>
      logger.warn(
        { problem: logindProblem(error) },
        'The time limit of logind for a shutdown cannot be raised',
      ),
    );
    const allowed = await inhibitDelayMaxSeconds();
    if (allowed >= seconds) return;
    const message =
      'logind allows less time for a shutdown than shutdownGracePeriod: raise InhibitDelayMaxSec';
    logger.warn({ allowedSeconds: allowed, wantedSeconds: seconds }, message);
  }

  #startLater(): void {
    if (!this.#isClosed) this.#retry.arm(RETRY_MS, () => void this.start());
  }

  #heard(isShuttingDown: boolean): void {
    if (isShuttingDown) {
      this.#parts.onShutdown();
      return;
    }
    this.#lock ??= inhibitShutdown();
    this.#parts.onCancelled();
  }
}
