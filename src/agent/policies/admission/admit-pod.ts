/**
 * Whether a pod may run on this node. Every pod of every source is checked before it starts. The checks, their order and
 * their words are the kubelet's; a rejection names the first check that fails.
 */
import type { Pod, Taint, Toleration } from '../../../types/kubernetes.ts';
import type { NodeFacts } from '../../../types/node-facts.ts';
import { isCriticalPod, isStaticPod } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import { REJECTED_BY_SHUTDOWN } from '../termination/shutdown-periods.ts';
import {
  areHostPortsFree,
  type UsedResources,
  insufficientResources,
  NOTHING_USED,
} from './used-resources.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import {
  type AdmissionFailure,
  type FailedPredicate,
  type InsufficientResource,
  type MissingResource,
  missingResources,
  type Rejection,
  rejectionFor,
} from './rejection.ts';

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
export function admitPod(node: NodeFacts, pod: Pod, held: UsedResources): Admission {
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
  const lasting = admissionFailures(node, pod, NOTHING_USED).find(({ kind }) => kind !== 'resource');
  return invalidPodRejection(pod) ?? platformRejection(node, pod) ?? (lasting && rejectionFor(lasting));
}

/**
 * The memory or CPU of which the node has too little for the pod even where no other pod is there. As with the kubelet, no other resource
 * counts: devices that are missing may come back.
 */
export function beyondNode({ allocatable }: NodeFacts, pod: Pod): InsufficientResource | undefined {
  const short = insufficientResources(pod, NOTHING_USED, allocatable);
  const shortOf = (name: string) => short.find(({ resource }) => resource === name);
  return shortOf('memory') ?? shortOf('cpu');
}

/** All checks that the pod fails on this node, in the kubelet's order, apart from pressure and platform. */
export function admissionFailures(
  node: NodeFacts,
  pod: Pod,
  held: UsedResources,
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

/** On a pod of the API server whose spec does not hold: why. The source sets it, and removes it from every other pod. */
export const INVALID_POD_ANNOTATION = 'statelet.dev/invalid';

/** Why a pod is rejected whose spec the source could not use; undefined for every other pod. */
export function invalidPodRejection({ metadata }: Pod): Rejection | undefined {
  const message = metadata.annotations?.[INVALID_POD_ANNOTATION];
  return message === undefined ? undefined : { reason: 'FailedValidation', message };
}

const MEMORY_PRESSURE = 'MemoryPressure';

const MEMORY_PRESSURE_TAINT = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/** `conditions`: the pressure conditions of the node that are true now. Undefined where they do not keep the pod out. */
export function pressureRejection(conditions: readonly string[], pod: Pod): Rejection | undefined {
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  const onlyMemory = conditions.every((condition) => condition === MEMORY_PRESSURE);
  if (onlyMemory && isAdmittedUnderMemoryPressure(pod)) return undefined;
  return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` };
}

/** A pod that has requested its memory is not among the first that eviction ends. */
function isAdmittedUnderMemoryPressure(pod: Pod): boolean {
  return podQOS(pod) !== 'BestEffort' || toleratesTaint(pod.spec.tolerations, MEMORY_PRESSURE_TAINT);
}

// What kind of machine the node is: pods for another operating system can never run here.

const OS_LABEL = 'kubernetes.io/os';

const ARCH_LABEL = 'kubernetes.io/arch';

/** The labels that selectors see. The operating system is always the real one, even if the node is labelled otherwise. */
export function nodeLabels({ labels, os, arch }: NodeFacts): ReadonlyMap<string, string> {
  return new Map([[ARCH_LABEL, arch], ...Object.entries(labels), [OS_LABEL, os]]);
}

/** Undefined where the pod may run on this machine. As in the kubelet, the pod's label counts here, not its selector. */
export function platformRejection(node: NodeFacts, { metadata, spec }: Pod): Rejection | undefined {
  const osLabel = metadata.labels?.[OS_LABEL];
  if (osLabel !== undefined && osLabel !== node.os) {
    const message = `Failed to admit pod as the \`${OS_LABEL}\` label doesn't match node label`;
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (spec.os != null && spec.os.name !== node.os) {
    const message = "Failed to admit pod as the OS field doesn't match node OS";
    return { reason: 'PodOSNotSupported', message };
  }
  if (spec.securityContext?.supplementalGroupsPolicy === 'Strict' && !node.supplementalGroupsPolicy) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
    return { reason: 'SupplementalGroupsPolicyNotSupported', message };
  }
  return undefined;
}

/** Whether one of the tolerations matches this taint. */
export function toleratesTaint(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return (tolerations ?? []).some((toleration) => matches(toleration, taint));
}

/** An empty key or effect matches every key or effect. Without an operator, the values have to be equal. */
function matches({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (!operator || operator === 'Equal') && (value ?? '') === (taint.value ?? '');
}
