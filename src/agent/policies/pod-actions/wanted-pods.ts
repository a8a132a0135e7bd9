/** Which pods the sources want: how a source's new list differs from the list before, and what is started and removed because of it. */
import type { Pod } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { isRunning } from '../cri/runtime-pod-status.ts';
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
export interface ListedPod {
  readonly given: Pod;
  readonly pod: Pod;
}

/** The pods of one source by UID. */
export type KnownPods = ReadonlyMap<string, ListedPod>;

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
  const next = new Map<string, ListedPod>();
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

function compare(known: ListedPod, given: Pod): Partial<Change> & { readonly pod: Pod } {
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

/** What housekeeping has to know of a pod that has an actor. */
export interface KnownPod {
  readonly uid: string;
  readonly finished: boolean;
  readonly terminationRequested: boolean;
  readonly restartRequested: boolean;
}

export interface HousekeepingFacts {
  /** UIDs of the pods that the sources want on this node. */
  readonly desired: { has(uid: string): boolean; keys(): Iterable<string> };
  readonly known: Iterable<KnownPod>;
  readonly runtimePods: readonly RuntimePodStatus[];
}

export interface HousekeepingPlan {
  /** Finished, and either not desired any more or to be started again: what the runtime holds is removed, then the actor. */
  readonly retire: readonly string[];
  /** Running pods that no source wants. */
  readonly kill: readonly string[];
  /** Desired pods that have no actor. */
  readonly start: readonly string[];
  /** Pods that only the runtime knows, and of which something runs. */
  readonly killRuntimePods: readonly RuntimePodStatus[];
  /** Pods that only the runtime knows, and of which nothing runs. */
  readonly removeRuntimePods: readonly RuntimePodStatus[];
}

/** What housekeeping has to do about pods, once every source has been read (lifecycle, Housekeeping). */
export function planHousekeeping({ desired, known, runtimePods }: HousekeepingFacts): HousekeepingPlan {
  const uids = new Set<string>();
  const retire: string[] = [];
  const kill: string[] = [];
  for (const { uid, finished, terminationRequested, restartRequested } of known) {
    uids.add(uid);
    if (finished && (restartRequested || !desired.has(uid))) retire.push(uid);
    else if (!terminationRequested && !desired.has(uid)) kill.push(uid);
  }
  const start = [...desired.keys()].filter((uid) => !uids.has(uid));
  const wanted = (uid: string) => uids.has(uid) || desired.has(uid);
  const orphans = runtimePods.filter(({ uid }) => !wanted(uid));
  return {
    retire,
    kill,
    start,
    killRuntimePods: orphans.filter((pod) => isRunning(pod)),
    removeRuntimePods: orphans.filter((pod) => !isRunning(pod)),
  };
}
