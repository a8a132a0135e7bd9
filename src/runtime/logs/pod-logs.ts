import { existsSync, readdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder, uidOfLogsFolder } from '../../policies/cri-labels.ts';
import { instancesByLogs } from '../../policies/log-rotation.ts';
import type { PodReference } from '../../types/event-recorder.ts';

/** The folders in which pods have their logs. As with the kubelet, nobody else may keep logs of pods there. */
export class PodLogs {
  readonly #dir: string;

  constructor(podLogsDir: string) {
    this.#dir = podLogsDir;
  }

  /** How many instances of the container there have been, by the logs that are still there. */
  pastInstances(pod: PodReference, containerName: string): number {
    const logs = join(this.#dir, podLogsFolder(pod), containerName);
    return existsSync(logs) ? instancesByLogs(readdirSync(logs)) : 0;
  }

  async remove(pod: PodReference): Promise<void> {
    await removeFolder(join(this.#dir, podLogsFolder(pod)));
  }

  /** Removes the logs of pods that nobody knows. */
  async removeOrphans(isKnown: (uid: string) => boolean): Promise<void> {
    const folders = await readdir(this.#dir).catch((): string[] => []);
    const orphans = folders.filter((folder) => {
      const uid = uidOfLogsFolder(folder);
      return uid !== undefined && !isKnown(uid);
    });
    await Promise.allSettled(orphans.map((folder) => removeFolder(join(this.#dir, folder))));
  }
}

const removeFolder = (path: string): Promise<void> => rm(path, { recursive: true, force: true });
