/** Reads what an agent keeps of pods on the node: cgroups, files and logs. */
import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseMountInfo } from '../../src/agent/policies/formats/mountinfo.ts';
import { without } from '../../src/agent/policies/formats/canonical-json.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { ATTEMPTS, type Names, normaliseLogLine, normaliseText } from './normalise.ts';

const CGROUPS = '/sys/fs/cgroup';
/** The files that agents set, of cgroup v1 and v2. */
const CGROUP_FILES = [
  ...['cpu.shares', 'cpu.cfs_quota_us', 'cpu.cfs_period_us', 'memory.limit_in_bytes', 'pids.max'],
  ...['cpu.weight', 'cpu.max', 'cpu.idle', 'memory.max', 'memory.min', 'memory.low', 'memory.high'],
];
const CONTENT_SHOWN_BYTES = 4096;

/** The settings of a cgroup, by file; undefined if there is no such cgroup. */
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

/** The CPUs and NUMA nodes of each container that runs. */
export function containerCpusets(path: string, status: Pod['status']): Readonly<Record<string, unknown>> {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const found = statuses.flatMap(({ name, containerID = '', state }) => {
    if (state?.running === undefined) return [];
    const group = join(path, containerID.replace(/^.*:\/\//, ''));
    const read = (file: string) =>
      [CGROUPS, join(CGROUPS, 'cpuset')].flatMap((hierarchy) => {
        return readIfThere(join(hierarchy, group, file))?.trim() ?? [];
      })[0];
    return [[name, { cpus: read('cpuset.cpus'), mems: read('cpuset.mems') }] as const];
  });
  return Object.fromEntries(found);
}

/** By state file, what the managers of CPUs and memory have handed out. Without a policy they hand out nothing. */
export function managerStates(rootDir: string): Readonly<Record<string, unknown>> {
  const found = ['cpu_manager_state', 'memory_manager_state'].flatMap((file) => {
    const text = readIfThere(join(rootDir, file));
    // The checksum is also that of UIDs.
    const state = without(JSON.parse(text ?? '{}') as Readonly<Record<string, unknown>>, ['checksum']);
    const policy = state.policyName ?? 'None';
    return typeof policy === 'string' && /^none$/i.test(policy) ? [] : [[file, state] as const];
  });
  return Object.fromEntries(found);
}

/** Kind, mode, owner, content and mounted file system of everything below a folder, by path. */
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

/**
 * The lines of the first logs of each container, by container and number. Of a container that is started again and again,
 * agents remove the oldest logs: its oldest log that is left is compared, which belongs to an instance that has ended.
 */
export function logsBelow(
  folder: string,
  names: Names,
  restarting: ReadonlySet<string>,
): Readonly<Record<string, readonly string[]>> {
  const found = entriesOf(folder).flatMap(({ name }) => {
    const numbers = logNumbers(join(folder, name));
    const compared = restarting.has(name)
      ? numbers.slice(0, 1).map((number) => ({ number, key: `${name}/ended` }))
      : numbers.filter((number) => number < ATTEMPTS).map((number) => ({ number, key: `${name}/${number}` }));
    return compared.map(({ number, key }): [string, readonly string[]] => {
      const lines = (readIfThere(join(folder, name, `${number}.log`)) ?? '').split('\n').filter(Boolean);
      return [key, lines.map((line) => normaliseLogLine(line, names))];
    });
  });
  return Object.fromEntries(found);
}

const logNumbers = (folder: string): readonly number[] =>
  entriesOf(folder)
    .flatMap(({ name }) => /^(\d+)\.log$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);

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

/** The types of mounted file systems, by mount point. */
function mountTypes(): ReadonlyMap<string, string> {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return new Map(mounts.map(({ path, type }) => [path, type]));
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // It is no folder, or is gone.
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
