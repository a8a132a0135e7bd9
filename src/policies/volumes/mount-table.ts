/** What of the node's mounts lies where. */
import type { MountPoint } from '../formats/mountinfo.ts';

/** Paths of what is mounted on `folder` and below it, in the order in which it has to be unmounted. */
export function mountsBelow(mounts: readonly MountPoint[], folder: string): readonly string[] {
  return mounts
    .map(({ path }) => path)
    .filter((path) => isWithin(folder, path))
    .reverse();
}

/** The mount that holds `path`. */
export function mountOf(mounts: readonly MountPoint[], path: string): MountPoint | undefined {
  return mounts
    .filter((mount) => isWithin(mount.path, path))
    .reduce<MountPoint | undefined>(
      (best, mount) => (best && best.path.length > mount.path.length ? best : mount),
      undefined,
    );
}

/** Whether the absolute `path` is `folder` or lies below it. Compares names only. */
export function isWithin(folder: string, path: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}
