/**
 * Whether a pod may run on this node. Every pod of every source is checked before it starts. The checks, their order and
 * their words are the kubelet's; a rejection names the first check that fails.
 */
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import {
  type AdmissionFailure,
  type FailedPredicate,
  missingResources,
  type MissingResource,
  type Rejection,
  rejectionFor,
} from './rejection.ts';
import { nodeLabels, platformRejection } from './platform.ts';
import { type HeldResources, NOTHING_HELD } from './held-resources.ts';
import { areHostPortsFree } from './port-conflicts.ts';
import { pressureRejection } from './admission-under-pressure.ts';
import { insufficientResources } from './resource-fit.ts';
import { invalidPodRejection } from '../pod/invalid-pod.ts';
import { isCriticalPod, isStaticPod } from '../pod/pod-kinds.ts';
import { REJECTED_BY_SHUTDOWN } from '../termination/shutdown-periods.ts';
import { toleratesTaint } from './taints.ts';

export type Admission =
  | { readonly kind: 'admitted' }
  | ({ readonly kind: 'rejected' } & Rejection)
  /**
   * The pod is critical and lacks nothing but resources: other pods may be preempted for it. The rejection is what it gets
   * where preemption is off or does not help.
   */
  | ({ readonly kind: 'short'; readonly missing: readonly MissingResource[] } & Rejection);

const DESCRIPTIONS: Readonly<Record<FailedPredicate['name'], string>> = {
  NodeAffinity: "node(s) didn't match Pod's node affinity/selector",
  NodeName: "node(s) didn't match the requested node name",
  NodePorts: "node(s) didn't have free ports for the requested pod ports",
  TaintToleration: "node(s) had taints that the pod didn't tolerate",
};

/** `held`: what all other pods hold of the node's resources. Throws what `parseQuantity` throws. */
export function admitPod(node: NodeFacts, pod: Pod, held: HeldResources): Admission {
  const rejection =
    invalidPodRejection(pod) ?? pressureRejection(node.conditions, pod) ?? platformRejection(node, pod);
  if (rejection) return { kind: 'rejected', ...rejection };
  const failures = admissionFailures(node, pod, held);
  const [first] = failures;
  const [lasting] = lastingFailures(pod, failures);
  if (lasting) return { kind: 'rejected', ...rejectionFor(lasting) };
  // Before other pods are preempted for this one.
  if (node.isShuttingDown === true) return { kind: 'rejected', ...REJECTED_BY_SHUTDOWN };
  if (first === undefined) return { kind: 'admitted' };
  return { kind: 'short', missing: missingResources(failures), ...rejectionFor(first) };
}

/** Why a pod that runs already must end, if so. Resources do not count: it keeps those that it has, even if the node shrank. */
export function admitRunningPod(node: NodeFacts, pod: Pod): Rejection | undefined {
  const lasting = admissionFailures(node, pod, NOTHING_HELD).find(({ kind }) => kind !== 'resource');
  return invalidPodRejection(pod) ?? platformRejection(node, pod) ?? (lasting && rejectionFor(lasting));
}

/** All checks that the pod fails on this node, in the kubelet's order, apart from pressure and platform. */
export function admissionFailures(
  node: NodeFacts,
  pod: Pod,
  held: HeldResources,
): readonly AdmissionFailure[] {
  const { nodeName } = pod.spec;
  const { name, allocatable } = node;
  return [
    ...insufficientResources(pod, held, allocatable),
    ...unless('NodeAffinity', matchesNodeAffinity(pod, { name, labels: nodeLabels(node) })),
    ...unless('NodeName', !nodeName || nodeName === name),
    ...unless('NodePorts', areHostPortsFree(pod, held)),
    ...unless('TaintToleration', toleratesNode(node, pod)),
  ];
}

/** The failures that preemption cannot remove: all of them for an ordinary pod, all but resources for a critical pod. */
export function lastingFailures(
  pod: Pod,
  failures: readonly AdmissionFailure[],
): readonly AdmissionFailure[] {
  return isCriticalPod(pod) ? failures.filter(({ kind }) => kind !== 'resource') : failures;
}

function unless(name: FailedPredicate['name'], holds: boolean): readonly FailedPredicate[] {
  return holds ? [] : [{ kind: 'predicate', name, description: DESCRIPTIONS[name] }];
}

/** Only NoExecute taints keep a pod from a node; the other effects are the scheduler's. Static pods tolerate every taint. */
function toleratesNode({ taints }: NodeFacts, pod: Pod): boolean {
  if (isStaticPod(pod)) return true;
  const executing = taints.filter(({ effect }) => effect === 'NoExecute');
  return executing.every((taint) => toleratesTaint(pod.spec.tolerations, taint));
}
