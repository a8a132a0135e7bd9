import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
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

interface Schedule {
  readonly task: GarbageTask;
  dueAt: number;
  failures: number;
}

/** Background work: each task runs once in each period, and two tasks never run at the same time. */
export class GarbageCollector {
  readonly #context: AgentContext;
  readonly #abort = new AbortController();
  readonly #schedules: readonly Schedule[];
  readonly #timer: Timer;
  #working: Promise<void>;

  constructor(context: AgentContext, tasks: readonly GarbageTask[]) {
    this.#context = context;
    this.#timer = new Timer(context.clock);
    const now = context.clock.now();
    this.#schedules = tasks.map((task) => ({ task, dueAt: now + task.periodMs, failures: 0 }));
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
    this.#timer.arm(Math.max(0, dueAt - this.#context.clock.now()), () => {
      this.#working = this.#working.then(() => this.#work());
    });
  }

  async #prepare(): Promise<void> {
    for (const { task } of this.#schedules) {
      try {
        await task.prepare?.(this.#abort.signal);
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        this.#context.logger.warn({}, `${task.name} garbage collection: ${errorMessage(error)}`);
      }
    }
  }

  async #work(): Promise<void> {
    const { clock } = this.#context;
    for (const schedule of this.#schedules) {
      if (this.#abort.signal.aborted) return;
      if (schedule.dueAt > clock.now()) continue;
      await this.#run(schedule);
      schedule.dueAt = clock.now() + schedule.task.periodMs;
    }
    this.#arm();
  }

  async #run(schedule: Schedule): Promise<void> {
    const { recorder, logger } = this.#context;
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
export function startGarbageCollection(
  context: AgentContext,
  containerGC: Pick<ContainerGC, 'collect'>,
  imageGC?: Pick<ImageGC, 'collect' | 'detect' | 'isDisabled'>,
): GarbageCollector {
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
      // Records the images that exist now: later ones must count as newer.
      prepare: (signal) => imageGC.detect(signal),
    });
  }
  return new GarbageCollector(context, tasks);
}
