import { existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolderSync } from '../../../system/make-folder.ts';
import { containerIdOfLogLink, containerLogLink } from '../../policies/garbage/log-rotation.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import { errnoCode } from '../../../system/system-errors.ts';

interface PodName {
  readonly name: string;
  readonly namespace: string;
}

/** Links to the logs of containers, in one folder, where log collectors look for them. */
export class LogLinks {
  readonly #context: AgentContext;
  readonly #dir: string;
  #trouble = '';

  /** `dir`: the kubelet's is `/var/log/containers`; made where needed. */
  constructor(context: AgentContext, dir: string) {
    this.#context = context;
    this.#dir = dir;
  }

  /** A failure is logged once and not thrown: the container runs without the link. */
  create(pod: PodName, containerName: string, containerId: string, target: string): void {
    const link = join(this.#dir, containerLogLink(pod, containerName, containerId));
    try {
      makeFolderSync(this.#dir, 0o755);
      replaceLink(link, target);
      this.#trouble = '';
    } catch (error) {
      this.#report(error);
    }
  }

  remove(pod: PodName, containerName: string, containerId: string): void {
    rmSync(join(this.#dir, containerLogLink(pod, containerName, containerId)), { force: true });
  }

  /** Removes the pod's links whose log is gone, also those of containers that another client of the runtime has removed. */
  removeOf({ name, namespace }: PodName): void {
    if (!existsSync(this.#dir)) return;
    const prefix = `${name}_${namespace}_`;
    for (const link of readdirSync(this.#dir).filter((file) => file.startsWith(prefix))) {
      const path = join(this.#dir, link);
      if (!existsSync(path)) rmSync(path, { force: true });
    }
  }

  /**
   * Removes links whose log is gone, but not those of running containers: while a log is rotated, it is gone for a moment. Rejects
   * with the system's error.
   */
  async removeDangling(isRunning: (containerId: string) => boolean): Promise<void> {
    if (!existsSync(this.#dir)) return;
    for (const entry of await readdir(this.#dir, { withFileTypes: true })) {
      const containerId = containerIdOfLogLink(entry.name);
      if (!entry.isSymbolicLink() || containerId === undefined || isRunning(containerId)) continue;
      const link = join(this.#dir, entry.name);
      if (!existsSync(link)) await rm(link, { force: true });
    }
  }

  #report(error: unknown): void {
    const code = errnoCode(error) ?? '';
    if (this.#trouble === code) return;
    this.#trouble = code;
    const message = `Logs are not linked to: ${errorMessage(error)}; log collectors do not find them`;
    this.#context.logger.warn({ dir: this.#dir }, message);
  }
}

/** A link of that name may lead elsewhere: logs may have been kept in another folder before. */
function replaceLink(link: string, target: string): void {
  try {
    symlinkSync(target, link);
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
    rmSync(link);
    symlinkSync(target, link);
  }
}
