import { promiseOf } from '../../../system/promises.ts';
import { podOfUID } from '../node/compose-node.ts';
import { orPrepareError, type PodSubsystem } from '../node/pod-node.ts';
import type { DraNode } from './dra-node.ts';

/** The ResourceClaims of pods. */
export function claimSubsystem(dra: DraNode): PodSubsystem {
  return {
    name: 'resource claims',
    prepare: (pod, signal) => orPrepareError('FailedPrepareDynamicResources', () => dra.prepare(pod, signal)),
    container: ({ pod, container }) => promiseOf(() => dra.additions(pod, container)),
    release: (uid) => dra.release(uid),
    podsOnDisk: () => Promise.resolve(dra.holders.map(podOfUID)),
  };
}
