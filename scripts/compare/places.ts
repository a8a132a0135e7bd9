/** Reads what an agent keeps of pods on the node: cgroups, files and logs. */
import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseMountInfo } from '../../src/policies/formats/mountinfo.ts';
import { ATTEMPTS, type Names, normaliseLogLine, normaliseText } from './normalise.ts';

const CGROUPS = '/sys/fs/cgroup';
/** Those that an agent sets, of version 1 and 2. */
const CGROUP_FILES = [
  ...['cpu.shares', 'cpu.cfs_quota_us', 'cpu.cfs_period_us', 'memory.limit_in_bytes', 'pids.max'],
  ...['cpu.weight', 'cpu.max', 'cpu.idle', 'memory.max', 'memory.min', 'memory.low', 'memory.high'],
];
const CONTENT_SHOWN_BYTES = 4096;

/** What is set of a cgroup, by file; undefined where there is no such cgroup. */
export function cgroupSettings(path: string): Readonly<Record<string, string>> | undefined {
  const hierarchies = [CGROUPS, ...readdirSync(CGROUPS).map((name) => join(CGROUPS, name))];
  const found = hierarchies.flatMap((hierarchy) =>
    CGROUP_FILES.flatMap((file) => {
      const value = readIfThere(join(hierarchy, path, file));
      return value === undefined ? [] : [[file, value.trim()] as const];
    }),
  );
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The cgroup of a pod below `kubepods`, by its UID. */
export function podCgroup(cgroupRoot: string, uid: string): string | undefined {
  const classes = ['', 'burstable', 'besteffort'];
  return classes
    .map((name) => join(cgroupRoot, 'kubepods', name, `pod${uid}`))
    .find((path) => cgroupSettings(path) !== undefined);
}

/** Kind, mode, owner and content of everything below a folder, by path; what is mounted is told by its type. */
export function filesBelow(folder: string, names: Names): Readonly<Record<string, string>> {
  const mounts = mountTypes();
  const found: Record<string, string> = {};
  const visit = (path: string, relative: string) => {
    const text = describe(path, mounts.get(path), names);
    if (text === undefined) return;
    found[normaliseText(relative === '' ? '.' : relative, names)] = text;
    for (const entry of entriesOf(path)) visit(join(path, entry.name), join(relative, entry.name));
  };
  visit(folder, '');
  return found;
}

/** The lines of the first logs of each container, by container and number. */
export function logsBelow(folder: string, names: Names): Readonly<Record<string, readonly string[]>> {
  const found = entriesOf(folder).flatMap((container) =>
    Array.from({ length: ATTEMPTS }, (_, attempt): [string, readonly string[]][] => {
      const text = readIfThere(join(folder, container.name, `${attempt}.log`));
      if (text === undefined) return [];
      const lines = text.split('\n').filter(Boolean);
      return [[`${container.name}/${attempt}`, lines.map((line) => normaliseLogLine(line, names))]];
    }).flat(),
  );
  return Object.fromEntries(found);
}

function describe(path: string, mount: string | undefined, names: Names): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
  const facts = [`${mode} ${stats.uid}:${stats.gid}`, ...(mount === undefined ? [] : [`mount ${mount}`])];
  if (stats.isSymbolicLink()) return normaliseText(`link to ${readlinkSync(path)}`, names);
  if (stats.isDirectory()) return ['folder', ...facts].join(' ');
  if (!stats.isFile()) return ['special', ...facts].join(' ');
  const content = stats.size > CONTENT_SHOWN_BYTES ? `${stats.size} bytes` : (readIfThere(path) ?? '');
  return normaliseText(['file', ...facts, JSON.stringify(content)].join(' '), names);
}

/** By mount point. */
function mountTypes(): ReadonlyMap<string, string> {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return new Map(mounts.map(({ path, type }) => [path, type]));
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Not a folder, or gone.
    return [];
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
