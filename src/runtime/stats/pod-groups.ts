import { type QOSCgroups, uidOfPodCgroup } from '../../policies/cgroups/cgroup-names.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { groupFolder, groupsIn } from './group-processes.ts';

/** The groups of pods that there are now, by UID: read from the three folders of the QoS classes. */
export function podGroups(tree: CgroupTree, { byClass, driver }: QOSCgroups): ReadonlyMap<string, string> {
  return new Map(
    Object.values(byClass).flatMap((group) => {
      const folder = groupFolder(tree, group);
      return (folder === undefined ? [] : groupsIn(folder)).flatMap((name): [string, string][] => {
        const uid = uidOfPodCgroup(name, driver);
        return uid === undefined ? [] : [[uid, `${group}/${name}`]];
      });
    }),
  );
}
