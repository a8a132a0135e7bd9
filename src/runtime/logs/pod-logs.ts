import { existsSync, readdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder, podOfLogsFolder } from '../../policies/cri-labels.ts';
import { instancesByLogs } from '../../policies/log-rotation.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import { ifThere } from '../system-errors.ts';

/** The folders in which pods have their logs. As with the kubelet, nobody else may keep logs of pods there. */
export class PodLogs {
  readonly #dir: string;

  constructor(podLogsDir: string) {
    this.#dir = podLogsDir;
  }

  /** The pods of which there are logs. */
  async pods(): Promise<readonly PodReference[]> {
    const folders = (await ifThere(readdir(this.#dir))) ?? [];
    return folders.map((folder) => podOfLogsFolder(folder)).filter((pod) => pod !== undefined);
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
