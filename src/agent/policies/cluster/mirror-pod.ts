/** Mirror pods: the API server's copies of the static pods of a node, by which a cluster sees them. */
import { StateletError } from '../../../types/errors.ts';
import type { Node, Pod } from '../../../types/kubernetes.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  isStaticPod,
  MANIFEST_HASH_ANNOTATION,
  parsePodFullName,
  podFullName,
} from '../pod/pod-kinds.ts';

/**
 * The mirror pod of a static pod as it is created. It belongs to the node, so that it is deleted with the node. The server gives it
 * a UID of its own. Throws if the node or its UID is not known.
 */
export function newMirrorPod(pod: Pod, nodeName: string, node: Node | undefined): Pod {
  const { metadata, spec } = pod;
  const annotations = { ...metadata.annotations, [CONFIG_MIRROR_ANNOTATION]: mirrorHash(pod) };
  const owner = {
    apiVersion: 'v1',
    kind: 'Node',
    name: nodeName,
    uid: uidOfNode(nodeName, node),
    controller: true,
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, annotations, ownerReferences: [owner] },
    spec,
  };
}

function uidOfNode(nodeName: string, node: Node | undefined): string {
  const problem = (text: string) => new StateletError('NotFound', `failed to get node UID: ${text}`);
  if (node === undefined) throw problem(`node "${nodeName}" not found`);
  const { uid } = node.metadata;
  if (uid === undefined || uid === '') throw problem(`UID unset for node ${nodeName}`);
  return uid;
}

/** Whether the mirror pod was made of this version of the static pod: it has its name and its hashes. */
export function isMirrorPodOf(mirrorPod: Pod, pod: Pod): boolean {
  return (
    podFullName(mirrorPod) === podFullName(pod) &&
    mirrorPod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === mirrorHash(pod) &&
    mirrorPod.metadata.annotations[MANIFEST_HASH_ANNOTATION] ===
      pod.metadata.annotations?.[MANIFEST_HASH_ANNOTATION]
  );
}

/** What a mirror pod says of its static pod: the hash of the manifest. */
function mirrorHash(pod: Pod): string {
  return pod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? '';
}

export interface MirrorPodFacts {
  readonly pod: Pod;
  /** The mirror pod of its name, as the source `api` shows it. */
  readonly mirrorPod?: Pod | undefined;
  /** The mirror pod shows an earlier life of the static pod, which has ended. */
  readonly isOutlived?: boolean;
  /** The node's own object; undefined while it is not known. */
  readonly node?: Node | undefined;
}

export interface MirrorPodPlan {
  /** A mirror pod that is deleted, without a grace period: it is not of this static pod, or has ended, or is being deleted. */
  readonly delete?: Pod;
  /** A new mirror pod is made; if one is deleted, only after the deletion has succeeded. */
  readonly create: boolean;
}

/** What has to be done so that the static pod has its mirror pod. */
export function planMirrorPod({ pod, mirrorPod, isOutlived = false, node }: MirrorPodFacts): MirrorPodPlan {
  if (!isStaticPod(pod)) return { create: false };
  const isStale =
    mirrorPod !== undefined &&
    (isOutlived || mirrorPod.metadata.deletionTimestamp !== undefined || !isMirrorPodOf(mirrorPod, pod));
  const isWanted = mirrorPod === undefined || isStale;
  // A node that is being deleted takes its mirror pods with it.
  const hasNode = node !== undefined && node.metadata.deletionTimestamp === undefined;
  return { ...(isStale && { delete: mirrorPod }), create: isWanted && hasNode };
}

export interface MirrorPodDeletion {
  readonly name: string;
  readonly namespace: string;
  /** A mirror pod has nothing to stop: it is deleted at once. */
  readonly gracePeriodSeconds: 0;
  readonly uid?: string;
}

/** Throws for a full name that is none. */
export function mirrorPodDeletion(fullName: string, uid?: string): MirrorPodDeletion {
  return { ...parsePodFullName(fullName), gracePeriodSeconds: 0, uid };
}
