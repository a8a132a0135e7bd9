/** Makes the cgroups below a cgroup limitable, which differs between v1 and v2. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CgroupMounts, findCgroupMounts } from '../../policies/cgroups/cgroup-mounts.ts';
import { makeFolderSync } from '../../../system/make-folder.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';
import type { CgroupTree } from './cgroup-tree.ts';

/** The controllers that the kubelet and the runtimes use. */
const DELEGATED = ['cpu', 'memory', 'pids', 'cpuset', 'io', 'hugetlb'];

/**
 * Gives the cgroups below `path` their controllers. v2: every cgroup on the way down has to enable them; in a pod's cgroup the runtime
 * does so for its containers. v1: a new cpuset is empty and takes no process; with `clone_children` it is a copy of the cpuset above
 * it. Throws FailedPrecondition where a controller of `needed` cannot be enabled; for others it logs a warning.
 */
export function delegateControllers(tree: CgroupTree, path: string, needed: readonly string[]): void {
  if (tree.version === 2) {
    for (const group of withAncestors(path)) enableControllers(tree, group, needed);
  } else if (tree.has('cpuset')) {
    for (const group of withAncestors(path).slice(1)) fillCpuset(tree.folder('cpuset', group));
    writeFileSync(join(tree.folder('cpuset', path), 'cgroup.clone_children'), '1');
  }
}

/** `/`, `/a`, `/a/b` for `/a/b`. */
function withAncestors(path: string): string[] {
  return path === '/' ? ['/'] : [...withAncestors(dirname(path)), path];
}

function enableControllers(tree: CgroupTree, path: string, needed: readonly string[]): void {
  const folder = tree.folder('memory', path);
  checkType(folder);
  const file = join(folder, 'cgroup.subtree_control');
  const enabled = namesIn(file) ?? [];
  const offered = namesIn(join(folder, 'cgroup.controllers'));
  const missing = DELEGATED.filter((controller) => tree.has(controller) && !enabled.includes(controller));
  const isOffered = (controller: string) => offered === undefined || offered.includes(controller);
  const notOffered = needed.filter((controller) => missing.includes(controller) && !isOffered(controller));
  if (notOffered.length > 0) throw notPassedOn(join(folder, 'cgroup.controllers'), notOffered);
  const refusals = enable(file, missing.filter(isOffered));
  const fatal = refusals.filter(({ controller }) => needed.includes(controller));
  if (fatal.length > 0) throw new StateletError('FailedPrecondition', refusalText(file, fatal), fatal[0]);
  // Below a group that does not pass a controller on, no group has it: only the first one is reported.
  if (refusals.length > 0)
    tree.warnOnce(file, `${refusalText(file, refusals)}; pods run without the limits of it`);
}

interface Refusal {
  readonly controller: string;
  readonly cause: unknown;
}

/** Errors that say something about the group, not about one of the controllers. */
const OF_THE_GROUP = ['EBUSY', 'ENOTSUP', 'EROFS', 'EACCES', 'EPERM'];

/**
 * The kernel enables all controllers or none. If one of them is the reason of the error, each is tried alone. If the group is the reason, none may
 * be tried alone: in a group with processes the kernel would enable the controllers of threads (cpu, pids, cpuset), and so make it a threaded
 * group.
 */
function enable(file: string, controllers: readonly string[]): readonly Refusal[] {
  if (controllers.length === 0) return [];
  const error = problemOf(file, controllers);
  if (error === undefined) return [];
  const isAlone = controllers.length === 1 || OF_THE_GROUP.includes(errnoCode(error) ?? '');
  if (isAlone) return controllers.map((controller) => ({ controller, cause: error }));
  return controllers.flatMap((controller) => {
    const cause = problemOf(file, [controller]);
    return cause === undefined ? [] : [{ controller, cause }];
  });
}

function problemOf(file: string, controllers: readonly string[]): unknown {
  try {
    writeFileSync(file, controllers.map((controller) => `+${controller}`).join(' '));
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Undefined where there is no such file: the write that follows reports what is wrong. */
function namesIn(file: string): readonly string[] | undefined {
  return textOf(file)?.split(/\s+/);
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** In a threaded group, and below one, memory cannot be limited. The root has no type. */
function checkType(folder: string): void {
  const type = textOf(join(folder, 'cgroup.type')) ?? 'domain';
  if (type === 'domain') return;
  const message =
    `${folder}/cgroup.type is "${type}": the memory of pods cannot be limited below a threaded group; move its processes into a group ` +
    'below another one, or set another cgroupRoot';
  throw new StateletError('FailedPrecondition', message);
}

function notPassedOn(file: string, controllers: readonly string[]): StateletError {
  const message = `${file} has no ${controllers.join(', ')}: ${CAUSES.ENOENT ?? ''}`;
  return new StateletError('FailedPrecondition', message);
}

const REALTIME = 'a process of realtime scheduling is in a group other than the root';
const CAUSES: Readonly<Record<string, string>> = {
  EBUSY: 'move the processes of the group into a group below it, or set another cgroupRoot',
  ENOTSUP: 'the group is a threaded one; set another cgroupRoot',
  ENOENT: 'the group above it does not pass the controller on',
  EROFS: 'the cgroup file system is mounted read-only; mount it writable, or set cgroupsPerQOS to false',
  EACCES: 'statelet has to be root, or the owner of this group',
  EPERM: 'statelet has to be root, or the owner of this group',
};

/** Names each controller, by the reasons. */
function refusalText(file: string, refusals: readonly Refusal[]): string {
  const byReason = Map.groupBy(refusals, (refusal) => reasonOf(file, refusal));
  const texts = Array.from(byReason, ([reason, alike]) => {
    const names = alike.map(({ controller }) => controller);
    return `the ${names.length > 1 ? 'controllers' : 'controller'} ${names.join(', ')} cannot be enabled: ${reason}`;
  });
  return `${file}: ${texts.join('; ')}`;
}

function reasonOf(file: string, { controller, cause }: Refusal): string {
  const code = errnoCode(cause) ?? '';
  const likely = code === 'EINVAL' && controller === 'cpu' ? REALTIME : CAUSES[code];
  const where = code === 'EBUSY' ? ` by ${processesIn(dirname(file))}` : '';
  return `${errorMessage(cause)}${where}${likely === undefined ? '' : `; ${likely}`}`;
}

/** Processes of other PID namespaces have no IDs here. */
function processesIn(folder: string): string {
  const pids = (textOf(join(folder, 'cgroup.procs')) ?? '').split('\n').filter((pid) => Number(pid) > 0);
  if (pids.length === 0) return 'processes of the group';
  const [first, ...others] = pids;
  return others.length === 0
    ? `process ${first ?? ''}`
    : `process ${first ?? ''} and ${others.length} others`;
}

function fillCpuset(folder: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (readFileSync(join(folder, file), 'utf8').trim() !== '') continue;
    writeFileSync(join(folder, file), readFileSync(join(dirname(folder), file)));
  }
}

/** What the kernel takes for the process that writes it. */
const THIS_PROCESS = '0';

/**
 * Moves this process into a cgroup, which is made if it is missing. As with the kubelet, the agent goes on where that fails. Empty: it
 * stays where it is. `mountinfoFile`: default that of this process.
 */
export function joinCgroup(
  group: string,
  logger: Pick<Logger, 'warn'>,
  mountinfoFile = '/proc/self/mountinfo',
): void {
  if (group === '') return;
  try {
    const tops = mountPoints(findCgroupMounts(readFileSync(mountinfoFile, 'utf8')));
    if (tops.length === 0) throw new Error('no cgroup file system is mounted');
    for (const top of tops) {
      const folder = join(top, group);
      makeFolderSync(folder);
      writeFileSync(join(folder, 'cgroup.procs'), THIS_PROCESS);
    }
  } catch (error) {
    const problem = `the agent could not be moved into the cgroup ${group}: ${errorMessage(error)}`;
    logger.warn({}, `--kubelet-cgroups: ${problem}`);
  }
}

/** Of v1, the hierarchies that limit or count something. A new group of cpuset takes no process before it has been given CPUs. */
function mountPoints({ version, hierarchies }: CgroupMounts): readonly string[] {
  const wanted = hierarchies.filter(
    ({ controllers }) => version === 2 || (controllers.length > 0 && !controllers.includes('cpuset')),
  );
  return wanted.map(({ mountPoint }) => mountPoint);
}
