import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { promiseOf } from '../../system/promises.ts';
import { orPrepareError, type PodSubsystem } from './pod-node.ts';

/** There are no dynamic resources: a pod that claims some waits, as without them it must not run. */
export const RESOURCE_CLAIMS: PodSubsystem = {
  name: 'resource claims',
  prepare: (pod) => orPrepareError('FailedPrepareDynamicResources', () => promiseOf(() => refuseClaims(pod))),
};

function refuseClaims({ spec }: Pod): void {
  const names = (spec.resourceClaims ?? []).map(({ name }) => name);
  if (names.length === 0) return;
  const message = `dynamic resource allocation is not supported: spec.resourceClaims has ${names.join(', ')}`;
  throw new StateletError('Unimplemented', message);
}
