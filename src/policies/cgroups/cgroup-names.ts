/** Names and places of pods' cgroups: the kubelet's layout for the cgroupfs driver. */
import { StateletError } from '../../types/errors.ts';
import type { Pod, QOSClass } from '../../types/kubernetes.ts';
import { podQOS } from '../pod/qos.ts';

const POD_PREFIX = 'pod';

/** The parents of pods' cgroups. Guaranteed pods are directly in `kubepods`. */
export interface QOSCgroups {
  readonly kubepods: string;
  readonly byClass: Readonly<Record<QOSClass, string>>;
}

/** The path in one form: with a `/` at the beginning and none at the end, except for the root, `/`. */
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

/** Throws what `podQOS` throws, and InvalidArgument for a UID that cannot be a file name. */
export function podCgroup(cgroups: QOSCgroups, pod: Pod): string {
  return `${cgroups.byClass[podQOS(pod)]}/${podCgroupName(pod.metadata.uid)}`;
}

export function podCgroupName(uid: string): string {
  if (/[/\0]/.test(uid)) {
    throw new StateletError('InvalidArgument', `metadata.uid ${JSON.stringify(uid)} cannot name a cgroup`);
  }
  return `${POD_PREFIX}${uid}`;
}

/** Undefined for a cgroup that is not a pod's. */
export function uidOfPodCgroup(name: string): string | undefined {
  return name.length > POD_PREFIX.length && name.startsWith(POD_PREFIX)
    ? name.slice(POD_PREFIX.length)
    : undefined;
}
