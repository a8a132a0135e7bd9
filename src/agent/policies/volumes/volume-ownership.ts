/**
 * Modes and groups of the files and folders in a volume, which depend on the pod's fsGroup. In the agent's own volumes they are set when a
 * file is created, so no volume has to be traversed later. As in the API, `fsGroupChangePolicy` has no effect on these volumes.
 */
import type { Pod } from '../../../types/kubernetes.ts';

const SETGID = 0o2000;
const GROUP_READ_WRITE = 0o060;
const GROUP_READ = 0o040;
const GROUP_EXECUTE = 0o010;
/** As with the kubelet, the owner gets the same permissions as the group. */
const alsoForOwner = (groupBits: number): number => groupBits | (groupBits << 3);

export function podFsGroup({ spec }: Pod): number | undefined {
  return spec.securityContext?.fsGroup;
}

/** The mode of a volume's root: all users may write, and new files belong to the pod's group if it has one. */
export function volumeRootMode(fsGroup: number | undefined): number {
  return fsGroup === undefined ? 0o777 : 0o777 | SETGID | alsoForOwner(GROUP_READ_WRITE | GROUP_EXECUTE);
}

export function readOnlyFolderMode(fsGroup: number | undefined): number {
  return fsGroup === undefined ? 0o755 : 0o755 | SETGID | alsoForOwner(GROUP_READ | GROUP_EXECUTE);
}

export function readOnlyFileMode(mode: number, fsGroup: number | undefined): number {
  return fsGroup === undefined ? mode : mode | alsoForOwner(GROUP_READ);
}

export interface FileFacts {
  readonly gid: number;
  /** The permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly isFolder: boolean;
  readonly isLink: boolean;
}

const READ_WRITE = 0o660;

const EXECUTE = 0o110;

/** What has to be changed of a file; empty where it is right already. The mode of a link has no meaning. */
export function groupChanges(
  { gid, mode, isFolder, isLink }: FileFacts,
  fsGroup: number,
): { readonly gid?: number; readonly mode?: number } {
  const wanted = mode | READ_WRITE | (isFolder ? SETGID | EXECUTE : 0);
  return {
    ...(gid !== fsGroup && { gid: fsGroup }),
    ...(!isLink && mode !== wanted && { mode: wanted }),
  };
}

/** With `OnRootMismatch` a volume whose root is right is left as it is. */
export function needsChanges(root: FileFacts, fsGroup: number, changePolicy: string | undefined): boolean {
  if (changePolicy !== 'OnRootMismatch') return true;
  const { gid, mode } = groupChanges(root, fsGroup);
  return !root.isFolder || gid !== undefined || mode !== undefined;
}
