import type { Clock, TimerHandle } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import type { ContainerGC } from './container-gc.ts';
import type { ImageGC } from './image-gc.ts';

const CONTAINER_PERIOD_MS = 60_000;
const IMAGE_PERIOD_MS = 300_000;

export interface GarbageTask {
  /** As messages begin with it. */
  readonly name: string;
  readonly periodMs: number;
  /** The kubelet's reason for when it fails. */
  readonly failureReason: string;
  /** How often in a row that may happen before it is a failure and no mishap. */
  readonly mishapsAllowed: number;
  readonly collect: (signal: AbortSignal) => Promise<void>;
  /** At once, before the first period begins. */
  readonly prepare?: (signal: AbortSignal) => Promise<void>;
}

export interface GarbageCollectorOptions {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly tasks: readonly GarbageTask[];
}

interface Schedule {
  readonly task: GarbageTask;
  dueAt: number;
  failures: number;
}

/** Work in the background: each task once in its period, for the first time after one; never two things at a time. */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #abort = new AbortController();
  readonly #schedules: readonly Schedule[];
  #timer: TimerHandle | undefined;
  #working: Promise<void>;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    const now = options.clock.now();
    this.#schedules = options.tasks.map((task) => ({ task, dueAt: now + task.periodMs, failures: 0 }));
    this.#working = this.#prepare();
    this.#arm();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#abort.abort();
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    await this.#working;
  }

  #arm(): void {
    if (this.#abort.signal.aborted || this.#schedules.length === 0) return;
    const { clock } = this.#options;
    const dueAt = Math.min(...this.#schedules.map((schedule) => schedule.dueAt));
    const work = () => {
      this.#working = this.#working.then(() => this.#work());
    };
    this.#timer = clock.setTimeout(work, Math.max(0, dueAt - clock.now()));
  }

  async #prepare(): Promise<void> {
    for (const { task } of this.#schedules) {
      try {
        await task.prepare?.(this.#abort.signal);
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        this.#options.logger.warn({}, `${task.name} garbage collection: ${errorMessage(error)}`);
      }
    }
  }

  async #work(): Promise<void> {
    const { clock } = this.#options;
    for (const schedule of this.#schedules) {
      if (this.#abort.signal.aborted) return;
      if (schedule.dueAt > clock.now()) continue;
      await this.#run(schedule);
      schedule.dueAt = clock.now() + schedule.task.periodMs;
    }
    this.#arm();
  }

  async #run(schedule: Schedule): Promise<void> {
    const { logger } = this.#options;
    const { name, collect, failureReason, mishapsAllowed } = schedule.task;
    try {
      await collect(this.#abort.signal);
      if (schedule.failures > 0) logger.debug({}, `${name} garbage collection succeeded`);
      schedule.failures = 0;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      schedule.failures++;
      const isFailure = schedule.failures > mishapsAllowed;
      const fields = isFailure ? { reason: failureReason } : {};
      logger.warn(fields, `${name} garbage collection failed: ${errorMessage(error)}`);
    }
  }
}

/** Once the runtime is ready: containers every minute, images every five. */
export function startGarbageCollection({
  containerGC,
  imageGC,
  ...options
}: Omit<GarbageCollectorOptions, 'tasks'> & {
  readonly containerGC: Pick<ContainerGC, 'collect'>;
  readonly imageGC?: Pick<ImageGC, 'collect' | 'detect' | 'isDisabled'>;
}): GarbageCollector {
  const tasks: GarbageTask[] = [
    {
      name: 'Container',
      periodMs: CONTAINER_PERIOD_MS,
      failureReason: 'ContainerGCFailed',
      mishapsAllowed: 0,
      collect: (signal) => containerGC.collect(signal),
    },
  ];
  if (imageGC !== undefined && !imageGC.isDisabled) {
    tasks.push({
      name: 'Image',
      periodMs: IMAGE_PERIOD_MS,
      failureReason: 'ImageGCFailed',
      mishapsAllowed: 1,
      collect: (signal) => imageGC.collect(signal),
      // What is there now counts as old, whatever the first collection finds beside it as new.
      prepare: (signal) => imageGC.detect(signal),
    });
  }
  return new GarbageCollector({ ...options, tasks });
}
