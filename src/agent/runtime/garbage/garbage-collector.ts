import { Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { NodeEventRecorder } from '../../../types/event-recorder.ts';
import type { Logger } from '../../../types/logger.ts';
import type { ContainerGC } from './container-gc.ts';
import type { ImageGC } from './image-gc.ts';

const CONTAINER_PERIOD_MS = 60_000;
const IMAGE_PERIOD_MS = 300_000;

export interface GarbageTask {
  /** The first word of messages. */
  readonly name: string;
  readonly periodMs: number;
  /** The kubelet's reason for an event about a failure. */
  readonly failureReason: string;
  /** How many failures in a row are only logged. */
  readonly failuresTolerated: number;
  readonly collect: (signal: AbortSignal) => Promise<void>;
  /** Runs once, before the first period. */
  readonly prepare?: (signal: AbortSignal) => Promise<void>;
}

export interface GarbageCollectorOptions {
  readonly clock: Clock;
  readonly recorder: NodeEventRecorder;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly tasks: readonly GarbageTask[];
}

interface Schedule {
  readonly task: GarbageTask;
  dueAt: number;
  failures: number;
}

/** Background work: each task runs once in each period, and two tasks never run at the same time. */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #abort = new AbortController();
  readonly #schedules: readonly Schedule[];
  readonly #timer: Timer;
  #working: Promise<void>;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#timer = new Timer(options.clock);
    const now = options.clock.now();
    this.#schedules = options.tasks.map((task) => ({ task, dueAt: now + task.periodMs, failures: 0 }));
    this.#working = this.#prepare();
    this.#arm();
  }

  /** Resolves when no task is under way any more. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#timer.disarm();
    await this.#working;
  }

  #arm(): void {
    if (this.#abort.signal.aborted || this.#schedules.length === 0) return;
    const dueAt = Math.min(...this.#schedules.map((schedule) => schedule.dueAt));
    this.#timer.arm(Math.max(0, dueAt - this.#options.clock.now()), () => {
      this.#working = this.#working.then(() => this.#work());
    });
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
    const { recorder, logger } = this.#options;
    const { name, collect, failureReason, failuresTolerated } = schedule.task;
    try {
      await collect(this.#abort.signal);
      if (schedule.failures > 0) logger.debug({}, `${name} garbage collection succeeded`);
      schedule.failures = 0;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      schedule.failures++;
      const message = errorMessage(error);
      if (schedule.failures > failuresTolerated) recorder.nodeEvent('Warning', failureReason, message);
      else logger.warn({}, `${name} garbage collection failed: ${message}`);
    }
  }
}

/** To be called once the runtime is ready. Containers are collected every minute, images every five. */
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
      failuresTolerated: 0,
      collect: (signal) => containerGC.collect(signal),
    },
  ];
  if (imageGC !== undefined && !imageGC.isDisabled) {
    tasks.push({
      name: 'Image',
      periodMs: IMAGE_PERIOD_MS,
      failureReason: 'ImageGCFailed',
      failuresTolerated: 1,
      collect: (signal) => imageGC.collect(signal),
      // Images that are there now are older than those that the first collection finds in addition.
      prepare: (signal) => imageGC.detect(signal),
    });
  }
  return new GarbageCollector({ ...options, tasks });
}
