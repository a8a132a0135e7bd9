/** Makes the cgroups below a cgroup limitable, which differs between v1 and v2. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { errnoCode } from '../../system/system-errors.ts';
import type { CgroupTree } from './cgroup-tree.ts';

/** The controllers that the kubelet and the runtimes use. */
const DELEGATED = ['cpu', 'memory', 'pids', 'cpuset', 'io', 'hugetlb'];

/**
 * Gives the cgroups below `path` their controllers. v2: every cgroup on the way down has to enable them; in a pod's cgroup the runtime
 * does so for its containers. v1: a new cpuset is empty and takes no process; with `clone_children` it is a copy of the cpuset above
 * it. Throws FailedPrecondition where a controller of `needed` cannot be enabled.
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
  const file = join(tree.folder('memory', path), 'cgroup.subtree_control');
  const enabled = enabledIn(file);
  const missing = DELEGATED.filter((controller) => tree.has(controller) && !enabled.has(controller));
  if (missing.length === 0) return;
  try {
    writeFileSync(file, missing.map((controller) => `+${controller}`).join(' '));
  } catch {
    // The kernel enables all or none, and a controller that is not needed may be the reason.
    enableOneByOne(file, missing, needed);
  }
}

function enabledIn(file: string): ReadonlySet<string> {
  try {
    return new Set(readFileSync(file, 'utf8').split(/\s+/));
  } catch {
    // The write that follows reports the error.
    return new Set();
  }
}

function enableOneByOne(file: string, controllers: readonly string[], needed: readonly string[]): void {
  for (const controller of controllers) {
    try {
      writeFileSync(file, `+${controller}`);
    } catch (error) {
      if (needed.includes(controller)) throw cannotEnable(file, controller, error);
    }
  }
}

const CAUSES: Readonly<Record<string, string>> = {
  EBUSY: 'the group has processes of its own; move them into a group below it, or set another cgroupRoot',
  EOPNOTSUPP: 'the group is a threaded one; set another cgroupRoot',
  ENOENT: 'the group above it does not pass the controller on',
  EROFS: 'the cgroup file system is mounted read-only',
  EACCES: 'statelet has to be root, or the owner of this group',
};

function cannotEnable(file: string, controller: string, cause: unknown): StateletError {
  const likely = CAUSES[errnoCode(cause) ?? ''];
  const message = `${file}: the controller ${controller} cannot be enabled: ${errorMessage(cause)}`;
  return new StateletError('FailedPrecondition', likely === undefined ? message : `${message}; ${likely}`, {
    cause,
  });
}

function fillCpuset(folder: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (readFileSync(join(folder, file), 'utf8').trim() !== '') continue;
    writeFileSync(join(folder, file), readFileSync(join(dirname(folder), file)));
  }
}
