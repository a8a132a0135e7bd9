import { existsSync, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder, podOfLogsFolder } from '../../policies/cri/cri-labels.ts';
import { instancesByLogs } from '../../policies/garbage/log-rotation.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import { removeTree } from '../../system/files/remove-tree.ts';
import { ifThere } from '../../system/system-errors.ts';
import { holdsPodLogs } from './pod-logs-folder.ts';

/** The folders with the logs of pods. Other programs may have folders with similar names beside them: those stay. */
export class PodLogs {
  readonly #dir: string;

  constructor(podLogsDir: string) {
    this.#dir = podLogsDir;
  }

  /**
   * The pods that have logs, without those that are known. A folder counts where its UID is `recorded`, or where its content is that
   * of a pod's logs. Others are left out.
   */
  async pods(
    isKnown: (uid: string) => boolean,
    recorded: ReadonlySet<string>,
  ): Promise<readonly PodReference[]> {
    const entries = (await ifThere(readdir(this.#dir, { withFileTypes: true }))) ?? [];
    const folders = entries.filter((entry) => entry.isDirectory());
    const named = folders.map(({ name }) => podOfLogsFolder(name)).filter((pod) => pod !== undefined);
    const pods = named.filter(({ uid }) => !isKnown(uid));
    const isOurs = async (pod: PodReference) =>
      recorded.has(pod.uid) || (await holdsPodLogs(join(this.#dir, podLogsFolder(pod)), pod));
    const areOurs = await Promise.all(pods.map(isOurs));
    return pods.filter((_, index) => areOurs[index]);
  }

  /** How many instances of the container there have been, by the logs that still exist. */
  pastInstances(pod: PodReference, containerName: string): number {
    const logs = join(this.#dir, podLogsFolder(pod), containerName);
    return existsSync(logs) ? instancesByLogs(readdirSync(logs)) : 0;
  }

  async remove(pod: PodReference): Promise<void> {
    await removeTree(join(this.#dir, podLogsFolder(pod)));
  }
}
