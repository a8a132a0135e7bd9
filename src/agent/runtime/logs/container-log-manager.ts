import { existsSync, statSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { compressedLogNames, planRotation, rotatedLogs } from '../../policies/garbage/log-rotation.ts';
import { openForeignFile } from '../../../system/files/foreign-file.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, errorMessage } from '../../../types/errors.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

/** A running container. `logPath` is absolute; empty: it has no log. */
export interface LoggedContainer {
  readonly id: string;
  readonly logPath: string;
}

export interface ContainerLogManagerParts {
  readonly runtime: Pick<RuntimeService, 'reopenContainerLog'>;
  /** The running containers, as last read from the runtime. */
  readonly containers: () => Iterable<LoggedContainer>;
  /** Negative: logs are not rotated. */
  readonly maxSizeBytes: number;
  /** Files of one container, the log itself included; at least 2. */
  readonly maxFiles: number;
  /** How many logs are rotated at the same time. */
  readonly maxWorkers: number;
  readonly monitorPeriodMs: number;
}

/**
 * Keeps the logs of containers from filling the disk. Each container costs one `stat` a period. It is synchronous: the kernel answers
 * from memory, in a tenth of the time that the thread pool would take.
 */
export class ContainerLogManager {
  readonly #context: AgentContext;
  readonly #parts: ContainerLogManagerParts;
  readonly #stopped = new AbortController();
  readonly #rotating = new Map<string, Promise<void>>();
  /** The trouble that was last logged of a container's log, by container id. */
  readonly #troubles = new Map<string, string>();
  readonly #timer: Timer;

  constructor(context: AgentContext, parts: ContainerLogManagerParts) {
    this.#context = context;
    this.#parts = parts;
    this.#timer = new Timer(context.clock);
  }

  start(): void {
    if (this.#parts.maxSizeBytes < 0 || this.#stopped.signal.aborted) return;
    this.#timer.arm(this.#parts.monitorPeriodMs, () => void this.#monitor().then(() => this.start()));
  }

  /** Resolves when no log is being rotated. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#timer.disarm();
    await Promise.all(this.#rotating.values());
  }

  /** Removes the log of a container that is gone, with what it was rotated into. Rejects with the system's error. */
  async clean(logPath: string): Promise<void> {
    await this.#rotating.get(logPath);
    await removeLogs(logPath);
  }

  async #monitor(): Promise<void> {
    const containers = [...this.#parts.containers()].filter(({ logPath }) => logPath !== '');
    this.#forgetOthers(containers);
    const due = containers.flatMap((container) => this.#workOn(container) ?? []).values();
    // All workers take from one list: a slow rotation holds up only its own worker.
    const worker = async (): Promise<void> => {
      for (const { container, work } of due) {
        if (!this.#stopped.signal.aborted) await this.#carryOut(container, work);
      }
    };
    await Promise.all(Array.from({ length: this.#parts.maxWorkers }, worker));
  }

  /** undefined: nothing has to be done. */
  #workOn(container: LoggedContainer): { container: LoggedContainer; work: () => Promise<void> } | undefined {
    const { id, logPath } = container;
    const { runtime, maxSizeBytes } = this.#parts;
    try {
      const stat = statSync(logPath, { throwIfNoEntry: false });
      // The log was removed: the runtime has to open it anew, or the container's output is lost.
      if (!stat) return { container, work: () => runtime.reopenContainerLog(id) };
      if (stat.size >= maxSizeBytes) return { container, work: () => this.#rotate(container) };
    } catch (error) {
      this.#report(container, error);
    }
    return undefined;
  }

  /** Never rejects. */
  async #carryOut(container: LoggedContainer, work: () => Promise<void>): Promise<void> {
    const { id, logPath } = container;
    const done = work().then(
      () => void this.#troubles.delete(id),
      (error: unknown) => this.#report(container, error),
    );
    this.#rotating.set(logPath, done);
    await done;
    this.#rotating.delete(logPath);
  }

  #rotate({ id, logPath }: LoggedContainer): Promise<void> {
    const { runtime, maxFiles } = this.#parts;
    const reopen = () => runtime.reopenContainerLog(id);
    return rotateLog({
      logPath,
      maxFiles,
      nowMs: this.#context.clock.now(),
      reopen,
      signal: this.#stopped.signal,
    });
  }

  /** Logs a trouble once, until another trouble comes or a rotation succeeds: each period would repeat it. */
  #report({ id, logPath }: LoggedContainer, error: unknown): void {
    // The container has ended meanwhile.
    if (['NotFound', 'FailedPrecondition'].includes(errorKind(error)) || this.#stopped.signal.aborted) return;
    const message = errorMessage(error);
    // The system's messages name the file, which differs each time.
    const trouble = errnoCode(error) ?? message;
    if (this.#troubles.get(id) === trouble) return;
    this.#troubles.set(id, trouble);
    this.#context.logger.warn(
      { containerId: id, logPath },
      `Log cannot be rotated as it should be: ${message}`,
    );
  }

  #forgetOthers(containers: readonly LoggedContainer[]): void {
    if (this.#troubles.size === 0) return;
    const ids = new Set(containers.map(({ id }) => id));
    for (const id of this.#troubles.keys()) if (!ids.has(id)) this.#troubles.delete(id);
  }
}

export interface Rotation {
  readonly logPath: string;
  /** Including the log itself. */
  readonly maxFiles: number;
  readonly nowMs: number;
  /** Makes the runtime open the log anew. */
  readonly reopen: () => Promise<void>;
  /** Aborts the compression; the log is rotated nevertheless. */
  readonly signal: AbortSignal;
}

/**
 * Rotates a log: removes the oldest logs, renames the log, and compresses older ones. Compression comes last since it needs space:
 * on a full disk the log is rotated, and older ones stay uncompressed. When this rejects, the log is where it was, or the runtime has
 * opened a new one in its place.
 */
export async function rotateLog({ logPath, maxFiles, nowMs, reopen, signal }: Rotation): Promise<void> {
  const dir = dirname(logPath);
  const plan = planRotation(basename(logPath), await readdir(dir), maxFiles, nowMs);
  for (const name of plan.remove) await rm(join(dir, name), { force: true });
  await moveAside(logPath, join(dir, plan.rotated), reopen);
  for (const name of plan.compress) await compressLog(join(dir, name), signal);
}

/** Removes a log and what it was rotated into. */
export async function removeLogs(logPath: string): Promise<void> {
  const dir = dirname(logPath);
  const log = basename(logPath);
  const names = await readdir(dir).catch((): string[] => []);
  for (const name of [log, ...rotatedLogs(log, names)]) await rm(join(dir, name), { force: true });
}

async function moveAside(logPath: string, rotatedPath: string, reopen: () => Promise<void>): Promise<void> {
  await rename(logPath, rotatedPath);
  try {
    await reopen();
  } catch (error) {
    // A runtime that did not answer in time may have opened a new log nevertheless: it must not be overwritten.
    if (!existsSync(logPath)) await rename(rotatedPath, logPath);
    throw error;
  }
}

/**
 * Replaces a rotated log by its gzip. Rejects with the system's error, or with that of `signal`; then the log is unchanged, and no
 * other file is left. A pod that has the folder of logs as a hostPath can lead neither the reading nor the writing elsewhere by a link.
 */
export async function compressLog(path: string, signal: AbortSignal): Promise<void> {
  const { temporary, final } = compressedLogNames(path);
  const log = await openForeignFile(path, { followsLinks: false });
  try {
    const { mode } = await log.stat();
    const { createGzip } = await import('node:zlib');
    // Of an agent that was killed meanwhile.
    await rm(temporary, { force: true });
    const compressed = (await open(temporary, 'wx', mode)).createWriteStream();
    await pipeline(log.createReadStream({ autoClose: false }), createGzip(), compressed, { signal });
    await rename(temporary, final);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await log.close();
  }
  await rm(path, { force: true });
}
