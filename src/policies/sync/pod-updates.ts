/** The operations of the CONFIG channel: how a source's new list of pods differs from the list before. */
import type { Pod } from '../../types/kubernetes.ts';
import { equalJson } from '../formats/canonical-json.ts';
import {
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SEEN_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  podFullName,
  podText,
} from '../pod/pod-kinds.ts';

export type PodSource = 'file' | 'http' | 'api' | 'local';

export type PodOperation = 'ADD' | 'UPDATE' | 'REMOVE' | 'DELETE' | 'RECONCILE';

export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  /** Never empty. For UPDATE, DELETE and RECONCILE the new version of each pod, for REMOVE the last known version. */
  readonly pods: readonly Pod[];
}

/** A pod as its source last listed it, and as it has been passed on. */
interface KnownPod {
  readonly given: Pod;
  readonly pod: Pod;
}

/** The pods of one source by UID. */
export type KnownPods = ReadonlyMap<string, KnownPod>;

export interface PodUpdates {
  readonly known: KnownPods;
  /** In the order in which they are to be carried out: REMOVE, ADD, UPDATE, DELETE, RECONCILE. */
  readonly updates: readonly PodUpdate[];
  /** Pods that are ignored because a pod before them in the list has the same full name. */
  readonly duplicates: readonly Pod[];
}

interface Change {
  readonly op: PodOperation;
  readonly pod: Pod;
}

const ORDER: readonly PodOperation[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'];
/** The node itself writes these, anew after each start: they are no part of what the source wants. */
const LOCAL_ANNOTATIONS = [CONFIG_SOURCE_ANNOTATION, CONFIG_MIRROR_ANNOTATION, CONFIG_SEEN_ANNOTATION];

/** What an update takes over of the metadata, beside the annotations. */
const TAKEN_OVER = ['labels', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'];

/**
 * Compares the source's new list with the known pods. `seenAt` (RFC 3339) becomes the first-seen time of new pods; a pod
 * keeps it as long as the source lists its UID. A change of a pod with a deletionTimestamp is a DELETE, not an UPDATE.
 */
export function podUpdates(
  known: KnownPods,
  source: PodSource,
  pods: readonly Pod[],
  seenAt: string,
): PodUpdates {
  const { unique, duplicates } = withoutDuplicates(pods);
  const next = new Map<string, KnownPod>();
  const changes: Change[] = [];
  for (const given of unique) {
    const { uid } = given.metadata;
    const before = known.has(uid) ? (next.get(uid) ?? known.get(uid)) : undefined;
    if (before?.given === given) {
      next.set(uid, before);
      continue;
    }
    const { op, pod } = before
      ? compare(before, given)
      : { op: 'ADD' as const, pod: stamped(given, source, seenAt) };
    next.set(uid, { given, pod });
    if (op) changes.push({ op, pod });
  }
  for (const [uid, { pod }] of known) {
    if (!next.has(uid)) changes.push({ op: 'REMOVE', pod });
  }
  return { known: next, updates: inOrder(source, changes), duplicates };
}

/** Why a duplicate is ignored, in the kubelet's words. */
export function duplicateMessage(pod: Pod, source: PodSource): string {
  const { name } = pod.metadata;
  return `Error validating pod ${podText(pod)} from ${source} due to duplicate pod name "${name}", ignoring`;
}

function inOrder(source: PodSource, changes: readonly Change[]): PodUpdate[] {
  if (changes.length === 0) return [];
  return ORDER.map((op) => ({
    op,
    source,
    pods: changes.filter((change) => change.op === op).map(({ pod }) => pod),
  })).filter(({ pods }) => pods.length > 0);
}

function withoutDuplicates(pods: readonly Pod[]): { unique: Pod[]; duplicates: Pod[] } {
  const taken = new Set<string>();
  const unique: Pod[] = [];
  const duplicates: Pod[] = [];
  for (const pod of pods) {
    const name = podFullName(pod);
    (taken.has(name) ? duplicates : unique).push(pod);
    taken.add(name);
  }
  return { unique, duplicates };
}

function compare(known: KnownPod, given: Pod): Partial<Change> & { readonly pod: Pod } {
  const { pod } = known;
  if (!equalJson(wanted(pod), wanted(given))) {
    const op = given.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
    return { op, pod: updated(pod, given) };
  }
  if (equalJson(pod.status, given.status)) return { pod };
  return { op: 'RECONCILE', pod: withStatus(pod, given) };
}

/** The fields by which the source says what it wants of the pod. */
function wanted({ metadata, spec }: Pod): readonly unknown[] {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => !LOCAL_ANNOTATIONS.includes(key),
  );
  return [
    spec,
    metadata.labels ?? {},
    Object.fromEntries(annotations),
    metadata.deletionTimestamp ?? null,
    metadata.deletionGracePeriodSeconds ?? null,
  ];
}

/** The pod with what its source wants of it now. Its name, resourceVersion, owners and finalizers stay as they were first. */
function updated(pod: Pod, given: Pod): Pod {
  const local = membersOf(pod.metadata.annotations ?? {}, (key) => LOCAL_ANNOTATIONS.includes(key));
  const metadata = {
    ...membersOf(pod.metadata, (field) => !TAKEN_OVER.includes(field)),
    ...membersOf(given.metadata, (field) => TAKEN_OVER.includes(field)),
    annotations: { ...given.metadata.annotations, ...local },
  } as Pod['metadata'];
  return withStatus({ ...pod, metadata, spec: given.spec }, given);
}

function withStatus(pod: Pod, { status }: Pod): Pod {
  const rest = membersOf(pod, (field) => field !== 'status') as Pod;
  return { ...rest, ...(status && { status }) };
}

function membersOf(object: object, isWanted: (key: string) => boolean): object {
  return Object.fromEntries(Object.entries(object).filter(([key]) => isWanted(key)));
}

function stamped(pod: Pod, source: PodSource, seenAt: string): Pod {
  const annotations = {
    ...pod.metadata.annotations,
    [CONFIG_SOURCE_ANNOTATION]: source,
    [CONFIG_SEEN_ANNOTATION]: seenAt,
  };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
