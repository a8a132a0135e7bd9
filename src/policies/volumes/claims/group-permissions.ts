/** What a pod's fsGroup changes in a volume that was there before the pod: owner group and modes, as the kubelet sets them. */

export interface FileFacts {
  readonly gid: number;
  /** The permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly isFolder: boolean;
  readonly isLink: boolean;
}

const SETGID = 0o2000;
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
