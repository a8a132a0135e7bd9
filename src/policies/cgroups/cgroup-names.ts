/** Where pods are in the tree of cgroups: the kubelet's layout for the cgroupfs driver. */
import { StateletError } from '../../types/errors.ts';
import type { Pod, QOSClass } from '../../types/kubernetes.ts';
import { podQOS } from '../pod/qos.ts';

const POD_PREFIX = 'pod';

/** The groups above pods. Guaranteed pods are directly in `kubepods`. */
export interface QOSCgroups {
  readonly kubepods: string;
  readonly byClass: Readonly<Record<QOSClass, string>>;
}

/** A path in the tree of cgroups as it is used here: it begins with `/`, and ends with one only as the top itself. */
export function cgroupPath(path: string): string {
  return `/${path.split('/').filter(Boolean).join('/')}`;
}

export function qosCgroups(cgroupRoot: string): QOSCgroups {
  const kubepods = cgroupPath(`${cgroupRoot}/kubepods`);
  return {
    kubepods,
    byClass: {
      Guaranteed: kubepods,
      Burstable: `${kubepods}/burstable`,
      BestEffort: `${kubepods}/besteffort`,
    },
  };
}

/** Throws what `podQOS` throws, and InvalidArgument for a UID that is no file name. */
export function podCgroup(cgroups: QOSCgroups, pod: Pod): string {
  return `${cgroups.byClass[podQOS(pod)]}/${podCgroupName(pod.metadata.uid)}`;
}

export function podCgroupName(uid: string): string {
  if (/[/\0]/.test(uid)) {
    throw new StateletError('InvalidArgument', `metadata.uid ${JSON.stringify(uid)} cannot name a cgroup`);
  }
  return `${POD_PREFIX}${uid}`;
}

/** Undefined for what is no pod's group. */
export function uidOfPodCgroup(name: string): string | undefined {
  return name.length > POD_PREFIX.length && name.startsWith(POD_PREFIX)
    ? name.slice(POD_PREFIX.length)
    : undefined;
}
