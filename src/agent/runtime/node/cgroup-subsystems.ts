/** The subsystems of a node for the cgroups of pods. */
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import { podOfUID } from './compose-node.ts';
import { orPrepareError, type PodSubsystem } from './pod-node.ts';

export function cgroupSubsystem(cgroups: PodCgroups): PodSubsystem {
  return {
    name: 'cgroups',
    prepare: (pod, _, isResizing) =>
      orPrepareError('FailedCreatePodContainer', () => cgroups.prepare(pod, isResizing)),
    sandbox: (pod) => ({ cgroupParent: cgroups.parentOf(pod) }),
    release: (uid) => cgroups.release(uid),
    podsOnDisk: async ({ isThorough }) => (await cgroups.podsOnDisk(isThorough)).map(podOfUID),
  };
}

/** Ends processes of a pod that the runtime does not have, before its volumes are unmounted: they may use these. */
export function processSubsystem(cgroups: PodCgroups): PodSubsystem {
  return { name: 'processes', remove: ({ uid }) => cgroups.endProcesses(uid) };
}
