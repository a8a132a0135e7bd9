/** Which statuses are written to the API server, and how one is written. */
import type { Pod, PodCondition, PodStatus } from '../../../types/kubernetes.ts';
import { type JsonObject, POD_STATUS_RULES, strategicMergePatch } from '../formats/strategic-merge.ts';
import { isManifestPod, isMirrorPod } from '../pod/pod-kinds.ts';
import { isTerminalPhase } from '../termination/pod-termination.ts';
import { mergedStatus, type StatusMerge, writtenDisruption } from './merged-status.ts';
import { equalStatuses, servedPodStatus } from './served-pod-status.ts';
import { normalizedStatus, type VersionedStatus } from './status-versions.ts';

/** The pods that the sources want, as the status manager asks for them. */
export interface KnownPods {
  get(uid: string): Pod | undefined;
  mirrorPodOf(staticPod: Pod): Pod | undefined;
  /** The UID of the static pod for that of its mirror pod; others stay. */
  translateUID(apiUID: string): string;
}

export interface PodToWrite {
  readonly uid: string;
  /** The UID at the API server: that of the mirror pod for a static pod. */
  readonly apiUID: string;
  readonly entry: VersionedStatus;
}

export interface WriteRound {
  readonly entries: Iterable<readonly [uid: string, VersionedStatus]>;
  /** By UID at the API server, the newest version that was written. */
  readonly written: Pick<ReadonlyMap<string, number>, 'get' | 'keys'>;
  readonly pods: KnownPods;
  /** Also those that others have changed, and those that can be deleted. Else only new versions. */
  readonly all: boolean;
}

/** Versions of pods that neither this node nor the API server knows any more are forgotten. */
export function outdatedVersions({
  written,
  known,
  pods,
}: Pick<WriteRound, 'written' | 'pods'> & { readonly known: (uid: string) => boolean }): string[] {
  return [...written.keys()].filter((apiUID) => !known(apiUID) && pods.translateUID(apiUID) === apiUID);
}

/** A static pod without a mirror pod has no status at the API server. */
export function podsToWrite({ entries, written, pods, all }: WriteRound): PodToWrite[] {
  const due: PodToWrite[] = [];
  for (const [uid, entry] of entries) {
    const apiUID = apiUIDOf(uid, entry.pod, pods);
    if (apiUID === undefined) continue;
    const isNew = (written.get(apiUID) ?? 0) < entry.version;
    if (isNew || (all && (isDeletable(apiUID, entry, pods) || needsReconcile(uid, entry, pods)))) {
      due.push({ uid, apiUID, entry });
    }
  }
  return due;
}

/**
 * Under which UID the API server has the status; undefined for a pod of a manifest without mirror pod. `former`: the pod of the last
 * status, whose source may have forgotten it; its mirror pod can outlive that.
 */
export function apiUIDOf(uid: string, former: Pod, pods: KnownPods): string | undefined {
  const pod = pods.get(uid);
  if (pod === undefined) return pods.mirrorPodOf(former)?.metadata.uid ?? uid;
  return isManifestPod(pod) ? pods.mirrorPodOf(pod)?.metadata.uid : uid;
}

function isDeletable(apiUID: string, { podIsFinished }: VersionedStatus, pods: KnownPods): boolean {
  const pod = pods.get(apiUID);
  return pod !== undefined && canBeDeleted(pod, podIsFinished);
}

/** By status: the pod of the API server that was found to have it. Neither object ever changes, so later comparisons need no new look. */
const reconciled = new WeakMap<PodStatus, Pod>();

/** Whether the status at the API server, as last seen, is not the one of the node. */
export function needsReconcile(
  uid: string,
  { status }: Pick<VersionedStatus, 'status'>,
  pods: KnownPods,
): boolean {
  const pod = pods.get(uid);
  if (pod === undefined) return false;
  const served = isManifestPod(pod) ? pods.mirrorPodOf(pod) : pod;
  if (served === undefined || reconciled.get(status) === served) return false;
  const isEqual = equalStatuses(normalizedStatus(served, served.status ?? {}), status);
  if (isEqual) reconciled.set(status, served);
  return !isEqual;
}

/** Whether the pod is to be deleted at the API server now: it has a deletionTimestamp and a terminal phase there, and nothing is left of it here. */
export function canBeDeleted(pod: Pod, podIsFinished: boolean): boolean {
  const { metadata, status } = pod;
  return (
    metadata.deletionTimestamp != null && !isMirrorPod(pod) && isTerminalPhase(status?.phase) && podIsFinished
  );
}

export type StatusRequest =
  | { readonly verb: 'get' }
  | { readonly verb: 'patch'; readonly patch: JsonObject }
  /** Without grace period, and only the pod of that UID. */
  | { readonly verb: 'delete'; readonly uid: string };

export interface StatusWrite {
  readonly uid: string;
  readonly entry: VersionedStatus;
  readonly pods: Pick<KnownPods, 'translateUID'>;
  /** The pod as the server has just answered: then it is not read before the write. */
  readonly recent?: Pod;
  readonly couldHaveRunningContainers: () => boolean;
  /** RFC 3339 in whole seconds. */
  readonly now: () => string;
  /** The server has this version now. `pod`: its answer. `disruption`: the condition that was written with the end of the pod. */
  readonly onWritten: (apiUID: string, pod: Pod, disruption: PodCondition | undefined) => void;
}

/**
 * The requests of one write, in order. Each is answered with the pod as the server has it, or undefined where there is none.
 * `replaced`: a pod of another UID has the name now. `deleted`: the pod is being deleted at the server.
 */
export type StatusConversation = Generator<
  StatusRequest,
  'absent' | 'replaced' | 'written' | 'deleted',
  Pod | undefined
>;

export function* writeStatus(write: StatusWrite): StatusConversation {
  const { uid, entry, pods, recent, onWritten } = write;
  const served = recent ?? (yield { verb: 'get' });
  if (served === undefined) return 'absent';
  const apiUID = served.metadata.uid;
  if (pods.translateUID(apiUID) !== uid) return 'replaced';
  const merge = mergeOf(write, served);
  const patch = statusPatch(merge);
  const patched = patch && (yield { verb: 'patch', patch });
  if (patch && !patched && recent) return 'absent';
  const pod = patched ?? served;
  onWritten(apiUID, pod, writtenDisruption(merge));
  if (!canBeDeleted(pod, entry.podIsFinished)) return 'written';
  yield { verb: 'delete', uid: apiUID };
  return 'deleted';
}

/**
 * Whether the status may be written without reading the pod again, if it was read a moment ago. The end of a pod is always merged with the
 * newest object, because others may have changed it.
 */
export function canWriteUnread({ pod, status, podIsFinished }: VersionedStatus): boolean {
  return pod.metadata.deletionTimestamp == null && !podIsFinished && !isTerminalPhase(status.phase);
}

/** Whether no node has written a status of the pod yet, so that a write cannot undo one. */
export function hasNoStatusYet({ status = {} }: Pod): boolean {
  const { phase, startTime, containerStatuses } = status;
  return phase === 'Pending' && startTime === undefined && containerStatuses === undefined;
}

function mergeOf({ entry, couldHaveRunningContainers, now }: StatusWrite, pod: Pod): StatusMerge {
  return {
    pod,
    served: pod.status ?? {},
    status: entry.status,
    couldHaveRunningContainers: couldHaveRunningContainers(),
    now: now(),
  };
}

/** The UID is a precondition: a pod that has taken the name in the meantime is not touched. */
function statusPatch(merge: StatusMerge): JsonObject | undefined {
  const { pod, served } = merge;
  const merged = mergedStatus(merge);
  const status = strategicMergePatch(servedPodStatus(served), servedPodStatus(merged), POD_STATUS_RULES);
  if (Object.keys(status).length === 0) return undefined;
  return { metadata: { uid: pod.metadata.uid }, status };
}

const FIRST_MS = 1_000;

const MAX_MS = 10_000;

/** How long nothing is written after so many failures in a row. `askedMs`: what the API server asked for. */
export function writeBackOffMs(failures: number, askedMs = 0): number {
  return Math.max(Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS), askedMs);
}
