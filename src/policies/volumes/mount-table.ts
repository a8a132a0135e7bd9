/** What is mounted on the node, as `/proc/self/mountinfo` tells it. */

export interface MountPoint {
  readonly path: string;
  /** Whether mounts below it are passed on to others. */
  readonly shared: boolean;
}

const MOUNT_POINT = 4;
/** Optional fields lie between this one and a lone `-`. */
const FIRST_OPTIONAL = 6;

/** In the order in which they were mounted: what is mounted over something comes after it. */
export function parseMountInfo(text: string): readonly MountPoint[] {
  return text
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields.length > FIRST_OPTIONAL)
    .map((fields) => ({
      path: unescaped(fields[MOUNT_POINT] ?? ''),
      shared: fields
        .slice(FIRST_OPTIONAL, fields.indexOf('-', FIRST_OPTIONAL))
        .some((field) => field.startsWith('shared:')),
    }));
}

/** The kernel writes blanks and backslashes in octal. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
}

/** Paths of what is mounted on `folder` and below it, in the order in which it has to be unmounted. */
export function mountsBelow(mounts: readonly MountPoint[], folder: string): readonly string[] {
  return mounts
    .map(({ path }) => path)
    .filter((path) => isWithin(folder, path))
    .reverse();
}

/** The mount on which `path` lies. */
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
