/** How messages name a pod, and what kind of pod it is: its annotations name its source, its priority says how important it is. */
import { StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';

/** The source that a pod came from: `file`, `http`, `api` or `local`. */
export const CONFIG_SOURCE_ANNOTATION = 'kubernetes.io/config.source';
/** On a mirror pod: the hash of the static pod that it stands for. */
export const CONFIG_MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
/** Hash of the manifest that a static pod was read from. */
export const CONFIG_HASH_ANNOTATION = 'kubernetes.io/config.hash';
/** Of a static pod whose UID is that of its manifest: the hash of the manifest, since the UID stays when the manifest changes. */
export const MANIFEST_HASH_ANNOTATION = 'statelet.dev/manifest-hash';
/** When the pod's source first saw it, RFC 3339. */
export const CONFIG_SEEN_ANNOTATION = 'kubernetes.io/config.seen';

/** The priority of `system-cluster-critical`, the least that counts as critical. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;
const SYSTEM_NODE_CRITICAL = 'system-node-critical';

/** `name_namespace`: how the kubelet names a pod whatever its UID. */
export function podFullName(pod: Pod): string {
  return fullName(pod.metadata);
}

export function fullName({ name, namespace }: { readonly name: string; readonly namespace: string }): string {
  return `${name}_${namespace}`;
}

/** The reverse of `fullName`. Throws for a text that is no full name: neither part has an underscore. */
export function parsePodFullName(text: string): { readonly name: string; readonly namespace: string } {
  const [name = '', namespace = '', ...rest] = text.split('_');
  if (name === '' || namespace === '' || rest.length > 0)
    throw new StateletError('InvalidArgument', `failed to parse the pod full name "${text}"`);
  return { name, namespace };
}

/** `name_namespace(uid)`: how the kubelet names a pod in messages. */
export function podText({ metadata: { name, namespace, uid } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}

/** Whether the pod is a static one. As with the kubelet, that of an unknown source is. */
export function isStaticPod(pod: Pod): boolean {
  return isManifestPod(pod) && !isLocalPod(pod);
}

/** Whether the pod is an ordinary one of a manifest: it can be evicted and preempted, and does not start again once it has ended. */
export function isLocalPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[CONFIG_SOURCE_ANNOTATION] === 'local';
}

/** Whether the pod came from a manifest rather than from the API server, which then does not know it. */
export function isManifestPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[CONFIG_SOURCE_ANNOTATION];
  return source !== undefined && source !== 'api';
}

/** Whether the pod is the API server's copy of a static pod. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== undefined;
}

export function isCriticalPriority(priority: number): boolean {
  return priority >= SYSTEM_CRITICAL_PRIORITY;
}

/** Whether the pod is critical: it is never evicted, and other pods are preempted for it. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || isCriticalPriority(pod.spec.priority ?? 0);
}

export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === SYSTEM_NODE_CRITICAL;
}

/**
 * Whether `preemptor` may preempt `preemptee`: it is critical and the other is not, or its priority is higher. A pod without
 * a priority neither preempts nor is preempted by priority.
 */
export function isPreemptable(preemptor: Pod, preemptee: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(preemptee)) return true;
  const ours = preemptor.spec.priority;
  const theirs = preemptee.spec.priority;
  return ours != null && theirs != null && ours > theirs;
}

/** The oldest first. */
export function byAge({ metadata: one }: Pod, { metadata: other }: Pod): number {
  return (one.creationTimestamp ?? '').localeCompare(other.creationTimestamp ?? '');
}
