import { join } from 'node:path';
import { errnoCode } from '../../system/system-errors.ts';
import { type CgroupTree, subfolders } from '../cgroups/cgroup-tree.ts';
import { readLongFile } from './small-files.ts';

/** Every agent makes the groups of pods in the hierarchies of these. */
const CONTROLLERS = ['memory', 'pids', 'cpu'];

/** The group's folder in a hierarchy that has all groups of pods; undefined if there is none. */
export function groupFolder(tree: CgroupTree, group: string): string | undefined {
  const controller = CONTROLLERS.find((name) => tree.has(name));
  return controller === undefined ? undefined : tree.folder(controller, group);
}

/** The IDs of processes in the group itself, without processes of other PID namespaces, which have no ID here. */
export function processesOf(folder: string): readonly string[] {
  const lines = readLongFile(join(folder, 'cgroup.procs'))?.split('\n') ?? [];
  return lines.filter((line) => line !== '' && line !== '0');
}

/** The IDs of processes in the group and the groups below it. */
export function processesBelow(folder: string): readonly string[] {
  const below = groupsIn(folder).flatMap((name) => processesBelow(join(folder, name)));
  return [...processesOf(folder), ...below];
}

/** The names of the groups directly below it; none if the group is gone. */
export function groupsIn(folder: string): readonly string[] {
  try {
    return subfolders(folder);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
}
