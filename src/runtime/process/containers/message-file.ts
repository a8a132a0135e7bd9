import { accessSync, constants } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { TERMINATION_MESSAGE_PATH_ANNOTATION } from '../../../policies/cri/cri-labels.ts';
import type { ContainerConfig } from '../../../types/cri.ts';

const DEFAULT_PATH = '/dev/termination-log';

/**
 * The file in which a container leaves its termination message. Without a mount namespace, containers cannot have a
 * /dev/termination-log of their own: in place of this default they get a private file. Any other path is used as it
 * is if its folder is writable.
 */
export function terminationPath(config: ContainerConfig, privateFile: string): string {
  const path = config.annotations[TERMINATION_MESSAGE_PATH_ANNOTATION] ?? '';
  if (path === DEFAULT_PATH || !isAbsolute(path)) return privateFile;
  try {
    accessSync(dirname(path), constants.W_OK);
    return path;
  } catch {
    return privateFile;
  }
}
