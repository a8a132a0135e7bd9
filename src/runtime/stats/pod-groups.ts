import { type QOSCgroups, uidOfPodCgroup } from '../../policies/cgroup-names.ts';
import { errnoCode } from '../system-errors.ts';
import { type CgroupTree, subfolders } from '../cgroups/cgroup-tree.ts';

/** The groups of pods by UID, as they are there now: a look into three folders, whoever made what is in them. */
export function podGroups(tree: CgroupTree, { byClass }: QOSCgroups): ReadonlyMap<string, string> {
  const controller = ['memory', 'pids', 'cpu'].find((name) => tree.has(name));
  if (controller === undefined) return new Map();
  return new Map(
    Object.values(byClass).flatMap((group) =>
      namesIn(tree.folder(controller, group)).flatMap((name): [string, string][] => {
        const uid = uidOfPodCgroup(name);
        return uid === undefined ? [] : [[uid, `${group}/${name}`]];
      }),
    ),
  );
}

function namesIn(folder: string): string[] {
  try {
    return subfolders(folder);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
}
