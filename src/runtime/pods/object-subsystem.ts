import { promiseOf } from '../../system/promises.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import type { PodSubsystem } from '../node/pod-node.ts';

/** The objects of the API server that a pod refers to are followed from its first sync on, until nothing of it needs them any more. */
export function objectSubsystem(objects: ApiObjects | undefined): PodSubsystem {
  return {
    name: 'objects',
    prepare: (pod) => promiseOf(() => objects?.registerPod(pod)),
    release: (uid) => promiseOf(() => objects?.forgetPod(uid)),
  };
}
