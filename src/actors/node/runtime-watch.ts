import { Pleg } from '../../runtime/pleg/pleg.ts';
import { RuntimeState } from '../../runtime/pleg/runtime-state.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';
import type { Clock } from '../../types/clock.ts';
import type { AgentMeasurements } from '../../types/measurements.ts';
import { measureRelist } from '../measured-pods.ts';

/** The safety net under the runtime's events. */
const RELIST_PERIOD_MS = 10_000;

export interface RuntimeWatchOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  /** Without it nothing is measured. */
  readonly measurements: AgentMeasurements | undefined;
  /** The runtime is ready: its name is known, and its pods are listed. */
  readonly onReady: () => void;
  /** Called also when the problem has changed. */
  readonly onNotReady: (problem: string) => void;
}

/** What the agent knows of its container runtime: its name, whether it is ready, and which pods it holds. */
export class RuntimeWatch {
  readonly pleg: Pleg;
  readonly state: RuntimeState;
  readonly #options: RuntimeWatchOptions;
  #name = '';

  constructor(options: RuntimeWatchOptions) {
    this.#options = options;
    const { runtime, clock, measurements, onReady, onNotReady } = options;
    this.pleg = new Pleg({
      runtime,
      clock,
      relistPeriodMs: RELIST_PERIOD_MS,
      ...(measurements && { measurements: measurements.pleg }),
      onRelist: (relist) => {
        measureRelist(measurements, relist);
        this.#checkWith(relist);
      },
    });
    this.state = new RuntimeState({ runtime, clock, prepare: () => this.#prepare(), onReady, onNotReady });
  }

  /** The prefix of container ids: `containerd` in `containerd://id`. Empty before the runtime has answered. */
  get name(): string {
    return this.#name;
  }

  /** Asks the runtime now whether it is ready. */
  check(): void {
    void this.state.check();
  }

  stop(): void {
    this.state.stop();
    this.pleg.stop();
  }

  /** Before the runtime counts as ready: asks for its name and lists its pods. */
  async #prepare(): Promise<void> {
    this.#name = (await this.#options.runtime.version()).runtimeName;
    await this.pleg.relist();
  }

  /** Asks at once: with a runtime that hangs, a relist ends only after minutes. */
  #checkWith(relist: Promise<void>): void {
    this.check();
    relist.catch(() => this.state.check());
  }
}
