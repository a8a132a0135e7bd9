/** Names and places of pods' cgroups: the kubelet's layout for each of its cgroup drivers. */
import { StateletError } from '../../../types/errors.ts';
import type { Pod, QOSClass } from '../../../types/kubernetes.ts';
import { podQOS } from '../pod/qos.ts';

/** KubeletConfiguration's `cgroupDriver`. */
export type CgroupDriverName = 'cgroupfs' | 'systemd';

/** The parents of pods' cgroups. Guaranteed pods are directly in `kubepods`. */
export interface QOSCgroups {
  readonly driver: CgroupDriverName;
  readonly kubepods: string;
  readonly byClass: Readonly<Record<QOSClass, string>>;
}

const POD_PREFIX = 'pod';
const SLICE = '.slice';
/** The slice at the top of the tree. */
const ROOT_SLICE = '-.slice';
/** `-` stands between the levels of a slice's name, and `_` for each `-` of a UID: a UID with `_` could not be read back. */
const SLICE_PART = /^[A-Za-z0-9:.-]+$/;
/** systemd's. */
const UNIT_NAME_MAX = 255;

/** The path in one form: with a `/` at the beginning and none at the end, except for the root, `/`. */
export function cgroupPath(path: string): string {
  return `/${path.split('/').filter(Boolean).join('/')}`;
}

export function qosCgroups(cgroupRoot: string, driver: CgroupDriverName): QOSCgroups {
  const root = cgroupRoot.split('/').filter(Boolean);
  const group = (...below: string[]) => cgroupOf([...root, 'kubepods', ...below], driver);
  return {
    driver,
    kubepods: group(),
    byClass: { Guaranteed: group(), Burstable: group('burstable'), BestEffort: group('besteffort') },
  };
}

/** Where a driver puts `cgroupRoot`, which is written as a path for both. */
export function cgroupRootOf(cgroupRoot: string, driver: CgroupDriverName): string {
  return cgroupOf(cgroupRoot.split('/').filter(Boolean), driver);
}

/**
 * The group that a path or, with the systemd driver, a slice names: of `/a/b-c.slice` and `b-c.slice` it is `/b.slice/b-c.slice`, as for
 * `kubeReservedCgroup` of the kubelet.
 */
export function namedCgroup(name: string, driver: CgroupDriverName): string {
  if (driver === 'cgroupfs') return cgroupPath(name);
  const slice = unitOf(cgroupPath(name)).slice(0, -SLICE.length);
  return cgroupOf(slice.split('-').filter(Boolean), driver);
}

/** Throws what `podQOS` throws, and InvalidArgument for a UID that cannot be part of a cgroup's name. */
export function podCgroup(cgroups: QOSCgroups, pod: Pod): string {
  const { uid } = pod.metadata;
  const problem = nameProblem(cgroups, uid);
  if (problem === undefined) return podCgroupIn(cgroups, cgroups.byClass[podQOS(pod)], uid);
  throw new StateletError('InvalidArgument', `metadata.uid ${JSON.stringify(uid)} cannot name ${problem}`);
}

/** Where a pod of an unknown QoS class may be. Empty for a UID that cannot be part of a cgroup's name: such a pod has none. */
export function podCgroups(cgroups: QOSCgroups, uid: string): readonly string[] {
  if (nameProblem(cgroups, uid) !== undefined) return [];
  return Object.values(cgroups.byClass).map((parent) => podCgroupIn(cgroups, parent, uid));
}

/** Undefined for a cgroup that is not a pod's. `name`: without the path. */
export function uidOfPodCgroup(name: string, driver: CgroupDriverName): string | undefined {
  if (driver === 'cgroupfs') return /^pod(.+)$/s.exec(name)?.[1];
  return /-pod([^-]+)\.slice$/.exec(name)?.[1]?.replaceAll('_', '-');
}

/** The scope in which a runtime runs a container: a group in the slice of the pod. `prefix`: `cri-containerd-`, `crio-`, … */
export function scopeName(prefix: string, containerId: string): string {
  return `${prefix}${containerId}.scope`;
}

/** The slice of a group of systemd's. */
export function unitOf(group: string): string {
  const name = group.slice(group.lastIndexOf('/') + 1);
  if (name === '') return ROOT_SLICE;
  return name.endsWith(SLICE) ? name : `${name}${SLICE}`;
}

/** Each level of a slice's name is a level of its path. */
function cgroupOf(names: readonly string[], driver: CgroupDriverName): string {
  if (driver === 'cgroupfs') return `/${names.join('/')}`;
  const levels = names.map((_, index) =>
    names
      .slice(0, index + 1)
      .map(escaped)
      .join('-'),
  );
  return `/${levels.map((level) => `${level}${SLICE}`).join('/')}`;
}

function escaped(name: string): string {
  return name.replaceAll('-', '_');
}

function podCgroupIn({ driver }: QOSCgroups, parent: string, uid: string): string {
  if (driver === 'cgroupfs') return `${parent}/${POD_PREFIX}${uid}`;
  return `${parent}/${unitOf(parent).slice(0, -SLICE.length)}-${POD_PREFIX}${escaped(uid)}${SLICE}`;
}

function nameProblem({ driver, byClass }: QOSCgroups, uid: string): string | undefined {
  if (driver === 'cgroupfs') return /[/\0]/.test(uid) ? 'a cgroup' : undefined;
  const longest = unitOf(byClass.BestEffort).length + `-${POD_PREFIX}${uid}`.length;
  return SLICE_PART.test(uid) && longest <= UNIT_NAME_MAX
    ? undefined
    : 'a slice of systemd: it must be short, of letters, digits, ":", "." and "-"';
}
