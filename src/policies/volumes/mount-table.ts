/** What is mounted on the node, as `/proc/<pid>/mountinfo` shows it. */

export interface MountPoint {
  readonly path: string;
  /** Whether mounts below it are passed on to other mount namespaces. */
  readonly shared: boolean;
  /** `ext4`, `cgroup2`, … */
  readonly type: string;
  /** Options of the file system, not of this mount: `rw`, `memory`, … */
  readonly options: readonly string[];
}

const MOUNT_POINT = 4;
const OPTIONAL_FIELDS = 6;

/**
 * In the order in which they were mounted: a mount over another one comes after it. Lines that are no mounts are left out.
 * A line is `36 35 98:0 /root /mount/point options FIELDS… - type source options`; see proc_pid_mountinfo(5).
 */
export function parseMountInfo(text: string): readonly MountPoint[] {
  return text.split('\n').flatMap(parseMount);
}

function parseMount(line: string): MountPoint[] {
  const fields = line.split(' ');
  const separator = fields.indexOf('-', OPTIONAL_FIELDS);
  const path = fields[MOUNT_POINT];
  const [type, , options = ''] = fields.slice(separator + 1);
  if (separator < 0 || path === undefined || type === undefined) return [];
  const shared = fields.slice(OPTIONAL_FIELDS, separator).some((field) => field.startsWith('shared:'));
  return [{ path: unescaped(path), shared, type, options: options.split(',') }];
}

/** The kernel writes blanks, line feeds and backslashes as octal numbers. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
}

/** Paths of the mounts on `folder` and below it, in the order in which they have to be unmounted. */
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
