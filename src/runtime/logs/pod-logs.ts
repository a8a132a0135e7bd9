import { existsSync, readdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder, podOfLogsFolder } from '../../policies/cri/cri-labels.ts';
import { instancesByLogs } from '../../policies/garbage/log-rotation.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import { ifThere } from '../../system/system-errors.ts';
import { holdsPodLogs } from './pod-logs-folder.ts';

/** Where pods have their logs. Others may keep things beside them, under names that look alike: those stay. */
export class PodLogs {
  readonly #dir: string;

  constructor(podLogsDir: string) {
    this.#dir = podLogsDir;
  }

  /**
   * The pods of which there are logs: those of which something else is on record here, by their UIDs, and others by what the
   * folders hold. One that only looks like a pod's is left out.
   */
  async pods(recorded: ReadonlySet<string> = new Set()): Promise<readonly PodReference[]> {
    const entries = (await ifThere(readdir(this.#dir, { withFileTypes: true }))) ?? [];
    const folders = entries.filter((entry) => entry.isDirectory());
    const pods = folders.map(({ name }) => podOfLogsFolder(name)).filter((pod) => pod !== undefined);
    const isOurs = async (pod: PodReference) =>
      recorded.has(pod.uid) || (await holdsPodLogs(join(this.#dir, podLogsFolder(pod)), pod));
    const areOurs = await Promise.all(pods.map(isOurs));
    return pods.filter((_, index) => areOurs[index]);
  }

  /** How many instances of the container there have been, by the logs that are still there. */
  pastInstances(pod: PodReference, containerName: string): number {
    const logs = join(this.#dir, podLogsFolder(pod), containerName);
    return existsSync(logs) ? instancesByLogs(readdirSync(logs)) : 0;
  }

  async remove(pod: PodReference): Promise<void> {
    await rm(join(this.#dir, podLogsFolder(pod)), { recursive: true, force: true });
  }
}
