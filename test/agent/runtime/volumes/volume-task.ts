/**
 * What a process of its own does with volumes, so that it can be killed meanwhile. Each kind of task has a program that loads no more than it needs:
 * they are started hundreds of times.
 */
import type { Pod } from '../../../../src/types/kubernetes.ts';

/** For `write-process.ts`. */
export interface WriteTask {
  readonly task: 'write';
  readonly volume: string;
  readonly files: Readonly<Record<string, string>>;
}

/** For `mount-process.ts`. */
export interface PodTask {
  readonly task: 'mount' | 'remove';
  readonly rootDir: string;
  readonly pod: Pod;
}

/** For `csi-process.ts`. */
export interface CsiTask extends PodTask {
  /** The socket of the driver of the pod's volumes. */
  readonly csiSocket: string;
  /** Its claim leads to a block device. */
  readonly isBlock?: boolean;
}

export type VolumeTask = WriteTask | PodTask | CsiTask;

/** The task of this process, as JSON: `dying.ts` has given it. */
export const OWN_TASK = process.env.VOLUME_TASK ?? '';
