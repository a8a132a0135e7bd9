/** What a group needs so that groups below it can be limited: different things in the two versions. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { errnoCode } from '../../system/system-errors.ts';
import type { CgroupTree } from './cgroup-tree.ts';

/** Those that the kubelet and the runtimes use, of the many that there may be. */
const DELEGATED = ['cpu', 'memory', 'pids', 'cpuset', 'io', 'hugetlb'];

/**
 * Lets the groups below `path` have controllers. v2: every group on the way down has to enable them; a pod's own is left
 * to the runtime, which does so for its containers. v1: a cpuset begins empty and takes no process; told to, it begins as
 * a copy of the one above. Throws FailedPrecondition where a controller of `needed` cannot be passed on.
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
    // It is all or nothing, and one of the others may be the reason.
    enableOneByOne(file, missing, needed);
  }
}

function enabledIn(file: string): ReadonlySet<string> {
  try {
    return new Set(readFileSync(file, 'utf8').split(/\s+/));
  } catch {
    // Writing it will tell what is wrong.
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
