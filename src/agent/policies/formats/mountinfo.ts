/** The mounts of a machine, from `/proc/<pid>/mountinfo`, and which of them hold a path or lie below it. */
export interface MountPoint {
  readonly path: string;
  /** Whether mounts below it are passed on to others. */
  readonly shared: boolean;
  /** This mount, or the file system with all its mounts. */
  readonly readOnly: boolean;
  /** Of this mount: `rw`, `nosuid`, `relatime`. */
  readonly flags: readonly string[];
  /** Of the file system: `ext4`, `cgroup2`. */
  readonly type: string;
  /** Of the file system, which of a cgroup v1 are its controllers. */
  readonly options: readonly string[];
}

const MOUNT_POINT = 4;
const MOUNT_OPTIONS = 5;
/** Optional fields lie between this one and a lone `-`. */
const FIRST_OPTIONAL = 6;

/**
 * What is mounted, as `/proc/<pid>/mountinfo` says, in the order in which it was mounted: a mount over another comes after it.
 *
 *     36 35 98:0 /root /mount/point options optional… - type source superoptions
 *
 * See proc_pid_mountinfo(5). Lines that are not of that form are left out.
 */
export function parseMountInfo(text: string): readonly MountPoint[] {
  return text.split('\n').flatMap(parseMount);
}

function parseMount(line: string): MountPoint[] {
  const fields = line.split(' ');
  const dash = fields.indexOf('-', FIRST_OPTIONAL);
  const [type, , options = ''] = fields.slice(dash + 1);
  if (dash < 0 || type === undefined) return [];
  const optional = fields.slice(FIRST_OPTIONAL, dash);
  const ofFileSystem = options.split(',');
  const ofMount = fields[MOUNT_OPTIONS]?.split(',') ?? [];
  return [
    {
      path: unescaped(fields[MOUNT_POINT] ?? ''),
      shared: optional.some((field) => field.startsWith('shared:')),
      readOnly: [...ofMount, ...ofFileSystem].includes('ro'),
      flags: ofMount,
      type,
      options: ofFileSystem,
    },
  ];
}

/** The kernel writes blanks and backslashes in octal. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
}

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
