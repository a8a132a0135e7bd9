import { join } from 'node:path';
import {
  type CgroupDriverName,
  qosCgroups,
  type QOSCgroups,
  scopeName,
} from '../../policies/cgroups/cgroup-names.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { type CgroupTree, podsIn, subfolders } from '../cgroups/cgroup-tree.ts';
import { readLongFile } from './small-files.ts';

/** The groups of pods and containers that there are now: those of both drivers, since pods outlive an agent. */
export class PodGroups {
  readonly #tree: CgroupTree;
  readonly #driver: () => CgroupDriverName;
  readonly #layouts: Readonly<Record<CgroupDriverName, QOSCgroups>>;
  /** What the runtime puts before the ID in the name of a scope, such as `cri-containerd-`; undefined until it is seen. */
  #scopePrefix: string | undefined;

  /** `cgroupRoot` has `kubepods` below it. `driver`: with which one groups are made now. */
  constructor(tree: CgroupTree, cgroupRoot: string, driver: () => CgroupDriverName) {
    this.#tree = tree;
    this.#driver = driver;
    this.#layouts = {
      cgroupfs: qosCgroups(cgroupRoot, 'cgroupfs'),
      systemd: qosCgroups(cgroupRoot, 'systemd'),
    };
  }

  /** The groups above the pods that are made now. */
  get qos(): QOSCgroups {
    return this.#layouts[this.#driver()];
  }

  /** By UID: read from the folders of the QoS classes. A pod with groups of both drivers has that of the present one. */
  byPod(): ReadonlyMap<string, string> {
    const others = Object.values(this.#layouts).filter((layout) => layout !== this.qos);
    return new Map(
      [...others, this.qos].flatMap((layout) => [...podsIn(layout, (group) => this.#foldersOf(group))]),
    );
  }

  /** The group of a container, or of a sandbox, of the pod with that group. */
  ofContainer(podGroup: string, id: string): string {
    return `${podGroup}/${podGroup.endsWith('.slice') ? this.#scope(podGroup, id) : id}`;
  }

  #scope(podGroup: string, id: string): string {
    const scope = this.#scopePrefix === undefined ? this.#foundScope(podGroup, id) : undefined;
    if (scope !== undefined) this.#scopePrefix = scope.slice(0, scope.indexOf(id));
    return scopeName(this.#scopePrefix ?? '', id);
  }

  #foundScope(podGroup: string, id: string): string | undefined {
    return this.#foldersOf(podGroup)
      .flatMap(groupsIn)
      .find((name) => name.endsWith(scopeName('', id)));
  }

  #foldersOf(group: string): readonly string[] {
    const folder = groupFolder(this.#tree, group);
    return folder === undefined ? [] : [folder];
  }
}

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
function groupsIn(folder: string): readonly string[] {
  try {
    return subfolders(folder);
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return [];
    throw error;
  }
}
