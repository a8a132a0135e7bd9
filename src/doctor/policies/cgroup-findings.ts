/** Whether the machine has the cgroup controllers that limits of pods need. */
import type { CgroupVersion } from '../../agent/policies/cgroups/cgroup-values.ts';
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface CgroupMountFacts {
  readonly path: string;
  readonly controllers: readonly string[];
  readonly readOnly: boolean;
}

export interface CgroupFacts {
  readonly mountinfo: string;
  /** Undefined version: no cgroup file system is mounted. */
  readonly tree: Reading<{
    readonly version: CgroupVersion | undefined;
    readonly mounts: readonly CgroupMountFacts[];
    /** The folders of `--cgroup-root` that are missing. */
    readonly missingRoots: readonly string[];
  }>;
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  readonly limitsPIDs: boolean;
}

const { ok, warning, error, unread } = findingsOf('cgroups');

/** Pods cannot be limited without them. */
const NEEDED = ['cpu', 'memory'];
/** What the kubelet uses beside them, by their names in v2. */
const WANTED = ['pids', 'cpuset', 'io'];
const V1_NAMES: Readonly<Record<string, string>> = { io: 'blkio' };

export function cgroupFindings(facts: CgroupFacts): readonly Finding[] {
  const { tree, mountinfo } = facts;
  if ('problem' in tree) return [unread(mountinfo, tree, 'mount /proc')];
  const { version, mounts, missingRoots } = tree.value;
  if (version === undefined) {
    const mend = 'mount -t cgroup2 none /sys/fs/cgroup';
    return [error(`no cgroup file system is mounted (looked in ${mountinfo})`, mend)];
  }
  const used = mounts.filter(({ controllers }) => version === 2 || controllers.length > 0);
  const problems = [
    ...used.filter(({ readOnly }) => readOnly).map(({ path }) => readOnlyMount(path)),
    ...controllerFindings(facts, version, used),
    ...missingRoots.map((path) =>
      error(`--cgroup-root ${facts.cgroupRoot}: ${path} does not exist`, `mkdir -p ${path}`),
    ),
  ];
  const found = used.flatMap(({ controllers }) => controllers).join(', ');
  const where = version === 2 ? ` at ${used[0]?.path ?? ''}` : '';
  return problems.length > 0 ? problems : [ok(`cgroup v${version}${where}: ${found}`)];
}

function readOnlyMount(path: string): Finding {
  const mend = `mount -o remount,rw ${path} (in a container: start it privileged, with the machine's cgroup namespace)`;
  return error(`${path} is mounted read-only: cgroups of pods cannot be made`, mend);
}

function controllerFindings(
  { cgroupsPerQOS, limitsPIDs }: CgroupFacts,
  version: CgroupVersion,
  mounts: readonly CgroupMountFacts[],
): readonly Finding[] {
  const there = new Set(mounts.flatMap(({ controllers }) => controllers));
  const nameOf = (name: string) => (version === 1 ? (V1_NAMES[name] ?? name) : name);
  const missing = [...NEEDED, ...WANTED].map(nameOf).filter((name) => !there.has(name));
  const needed = cgroupsPerQOS ? [...NEEDED, ...(limitsPIDs ? ['pids'] : [])] : [];
  const old =
    version === 1
      ? [
          warning(
            'cgroup v1, which Kubernetes has given up: limits of swap, MemoryQoS and PSI of pods have no effect',
            'add systemd.unified_cgroup_hierarchy=1 to the kernel command line (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub) and reboot',
          ),
        ]
      : [];
  return [
    ...missing.map((name) => {
      const make = needed.includes(name) ? error : warning;
      return make(missingText(name, version, mounts[0]?.path ?? ''), mendOfMissing(name, version));
    }),
    ...old,
  ];
}

function missingText(name: string, version: CgroupVersion, path: string): string {
  return version === 2
    ? `${path}/cgroup.controllers does not list ${name}`
    : `no cgroup v1 hierarchy has the controller ${name}`;
}

function mendOfMissing(name: string, version: CgroupVersion): string {
  const kernel = `add cgroup_enable=${name} to the kernel command line (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub) and reboot`;
  return version === 2
    ? `${kernel}; in a container the controller has to be delegated to it`
    : `mkdir -p /sys/fs/cgroup/${name} && mount -t cgroup -o ${name} cgroup /sys/fs/cgroup/${name}, or ${kernel}`;
}
