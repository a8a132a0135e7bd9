import { statSync } from 'node:fs';
import type { Clock, TimerHandle } from '../../types/clock.ts';
import { errorKind, errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { removeLogs, rotateLog } from './rotate-log.ts';

/** A running container. `logPath` is absolute; empty: it has no log. */
export interface LoggedContainer {
  readonly id: string;
  readonly logPath: string;
}

export interface ContainerLogManagerDeps {
  readonly runtime: Pick<RuntimeService, 'reopenContainerLog'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Those that run now, as far as it is known without asking the runtime. */
  readonly containers: () => Iterable<LoggedContainer>;
  /** Negative: logs are not rotated. */
  readonly maxSizeBytes: number;
  /** Of one container, the log itself included; at least 2. */
  readonly maxFiles: number;
  /** How many logs are rotated at a time. */
  readonly maxWorkers: number;
  readonly monitorPeriodMs: number;
}

/**
 * Keeps the logs of containers from filling the disk. A container costs one `stat` a period; a synchronous one, which the
 * kernel answers from memory in a tenth of the time that the thread pool would take.
 */
export class ContainerLogManager {
  readonly #deps: ContainerLogManagerDeps;
  readonly #stopped = new AbortController();
  readonly #rotating = new Map<string, Promise<void>>();
  /** What was last told of a container's log, by container id. */
  readonly #troubles = new Map<string, string>();
  #timer: TimerHandle | undefined;

  constructor(deps: ContainerLogManagerDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#deps.maxSizeBytes < 0 || this.#stopped.signal.aborted) return;
    const { clock, monitorPeriodMs } = this.#deps;
    this.#timer = clock.setTimeout(() => void this.#monitor().then(() => this.start()), monitorPeriodMs);
  }

  /** Resolves when no log is being rotated. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    if (this.#timer !== undefined) this.#deps.clock.clearTimeout(this.#timer);
    await Promise.all(this.#rotating.values());
  }

  /** Removes the log of a container that is gone, with what it was rotated into. Rejects with the system's error. */
  async clean(logPath: string): Promise<void> {
    await this.#rotating.get(logPath);
    await removeLogs(logPath);
  }

  async #monitor(): Promise<void> {
    const containers = [...this.#deps.containers()].filter(({ logPath }) => logPath !== '');
    this.#forgetOthers(containers);
    const due = containers.flatMap((container) => this.#workOn(container) ?? []).values();
    // All take from one list, so that a slow one holds up nobody but itself.
    const worker = async (): Promise<void> => {
      for (const { container, work } of due) {
        if (!this.#stopped.signal.aborted) await this.#carryOut(container, work);
      }
    };
    await Promise.all(Array.from({ length: this.#deps.maxWorkers }, worker));
  }

  /** undefined: its log is as it should be. */
  #workOn(container: LoggedContainer): { container: LoggedContainer; work: () => Promise<void> } | undefined {
    const { id, logPath } = container;
    const { runtime, maxSizeBytes } = this.#deps;
    try {
      const stat = statSync(logPath, { throwIfNoEntry: false });
      // Somebody has removed it: what the container says goes nowhere.
      if (!stat) return { container, work: () => runtime.reopenContainerLog(id) };
      if (stat.size >= maxSizeBytes) return { container, work: () => this.#rotate(container) };
    } catch (error) {
      this.#tell(container, error);
    }
    return undefined;
  }

  /** Never rejects. */
  async #carryOut(container: LoggedContainer, work: () => Promise<void>): Promise<void> {
    const { id, logPath } = container;
    const done = work().then(
      () => void this.#troubles.delete(id),
      (error: unknown) => this.#tell(container, error),
    );
    this.#rotating.set(logPath, done);
    await done;
    this.#rotating.delete(logPath);
  }

  #rotate({ id, logPath }: LoggedContainer): Promise<void> {
    const { runtime, clock, maxFiles } = this.#deps;
    const reopen = () => runtime.reopenContainerLog(id);
    return rotateLog({ logPath, maxFiles, nowMs: clock.now(), reopen, signal: this.#stopped.signal });
  }

  /** Once, until it is another trouble or a rotation goes well: it comes again every period. */
  #tell({ id, logPath }: LoggedContainer, error: unknown): void {
    // It has ended meanwhile.
    if (['NotFound', 'FailedPrecondition'].includes(errorKind(error)) || this.#stopped.signal.aborted) return;
    const message = errorMessage(error);
    // The system's messages name the file, which is another one every time.
    const trouble = errnoCode(error) ?? message;
    if (this.#troubles.get(id) === trouble) return;
    this.#troubles.set(id, trouble);
    this.#deps.logger.warn({ containerId: id, logPath }, `Log cannot be rotated as it should be: ${message}`);
  }

  #forgetOthers(containers: readonly LoggedContainer[]): void {
    if (this.#troubles.size === 0) return;
    const ids = new Set(containers.map(({ id }) => id));
    for (const id of this.#troubles.keys()) if (!ids.has(id)) this.#troubles.delete(id);
  }
}
