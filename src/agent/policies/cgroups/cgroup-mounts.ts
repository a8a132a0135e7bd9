/** Where the kernel's cgroup file systems are mounted. */
import { type MountPoint, parseMountInfo } from '../formats/mountinfo.ts';
import type { CgroupVersion } from './cgroup-values.ts';

export interface CgroupHierarchy {
  readonly mountPoint: string;
  /** Empty for a tree that only groups processes (systemd's own, or the empty v2 tree beside v1): it gets no pod cgroups. */
  readonly controllers: readonly string[];
}

/** Without a version there are no cgroups at all. Of v2, the controllers are to be read from the tree itself. */
export interface CgroupMounts {
  readonly version?: CgroupVersion;
  readonly hierarchies: readonly CgroupHierarchy[];
}

/** The others among the options of a v1 mount are flags, or the name of a tree without controllers. */
const V1_CONTROLLERS: ReadonlySet<string> = new Set([
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'pids',
  'hugetlb',
  'devices',
  'freezer',
  'blkio',
  'net_cls',
  'net_prio',
  'perf_event',
  'rdma',
  'misc',
]);

/** v1 if any v1 tree has a controller, since a controller is in one tree only. */
export function findCgroupMounts(mountinfo: string): CgroupMounts {
  const mounts = parseMountInfo(mountinfo);
  const v1 = mounts.filter(({ type }) => type === 'cgroup').map(hierarchyOf);
  const v2 = mounts
    .filter(({ type }) => type === 'cgroup2')
    .map(({ path }) => ({ mountPoint: path, controllers: [] }));
  if (v1.some(({ controllers }) => controllers.length > 0)) {
    return { version: 1, hierarchies: withoutRepeats([...v1, ...v2]) };
  }
  // The system's own tree is mounted first; later ones belong to containers or tests.
  return v2[0] ? { version: 2, hierarchies: [v2[0]] } : { hierarchies: [] };
}

/** The same hierarchy may be mounted at several places. */
function withoutRepeats(hierarchies: readonly CgroupHierarchy[]): CgroupHierarchy[] {
  const seen = new Set<string>();
  return hierarchies.filter(({ mountPoint, controllers }) => {
    const key = controllers.length > 0 ? controllers.join(',') : mountPoint;
    return !seen.has(key) && seen.add(key);
  });
}

function hierarchyOf({ path, options }: MountPoint): CgroupHierarchy {
  return { mountPoint: path, controllers: options.filter((option) => V1_CONTROLLERS.has(option)) };
}
