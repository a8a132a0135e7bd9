import {
  admittedPodStatus,
  rejectedPodStatus,
  terminatedStatus,
  waitingPodStatus,
  withCondition,
  withContainerReadiness,
  withContainerStartup,
  withSandboxReady,
} from '../../policies/status/status-changes.ts';
import {
  nextStatus,
  type StatusChange,
  type VersionedStatus,
  withObservedGeneration,
} from '../../policies/cluster/status-versions.ts';
import { isTerminalPhase } from '../../policies/termination/pod-termination.ts';
import { type Observable, Subject } from 'rxjs';
import type { Rejection } from '../../policies/admission/rejection.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Pod, PodCondition, PodStatus } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { DesiredPods } from './desired-pods.ts';

/** The pods that stand for static pods at the API server. */
type MirrorPods = Pick<DesiredPods, 'ownMirrorPodOf'>;

const NO_MIRROR_PODS: MirrorPods = { ownMirrorPodOf: () => undefined };

type Change = Omit<StatusChange, 'former' | 'mirrorPod' | 'now'>;

/** A pod has another status than before. */
export interface StatusNews {
  readonly uid: string;
  readonly isNew: boolean;
  readonly podIsFinished: boolean;
  /** The change is a small one, and another is likely to follow soon: both can be told together. */
  readonly canWait: boolean;
}

/** The status of every pod on this node, by UID: `/pods` serves it, the next status builds upon it, the API server gets it. */
export class StatusManager {
  readonly #context: AgentContext;
  readonly #mirrorPods: MirrorPods;
  readonly #entries = new Map<string, VersionedStatus>();
  /** What is known of a pod before its first status: when it was started. */
  readonly #recalled = new Map<string, PodStatus>();
  /** Pods whose status says how they ended, or why they wait: it does not follow from their containers. */
  readonly #settled = new Map<string, 'ended' | 'waiting'>();
  readonly #news = new Subject<StatusNews>();

  constructor(context: AgentContext, mirrorPods = NO_MIRROR_PODS) {
    this.#context = context;
    this.#mirrorPods = mirrorPods;
  }

  /** Emits after each change. */
  get news(): Observable<StatusNews> {
    return this.#news;
  }

  get(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.status ?? this.#recalled.get(uid);
  }

  /** Of a static pod, what its mirror pod shows. */
  servedOf(pod: Pod): PodStatus | undefined {
    return this.#mirrorPods.ownMirrorPodOf(pod)?.status;
  }

  entry(uid: string): VersionedStatus | undefined {
    return this.#entries.get(uid);
  }

  entries(): IterableIterator<[uid: string, VersionedStatus]> {
    return this.#entries.entries();
  }

  /** Keeps a whole status if it differs. For a pod that is being deleted, each status counts as new: the deletion may wait for it. */
  set(pod: Pod, status: PodStatus): boolean {
    const forced = pod.metadata.deletionTimestamp != null;
    return this.#keep({ pod, status: withObservedGeneration(pod, status), forced });
  }

  /** A readiness probe has a result. It counts at once, although the next status is computed only after the effect in flight. */
  setContainerReadiness(pod: Pod, containerID: string, ready: boolean): void {
    const status = withContainerReadiness(pod, this.#statusOf(pod), containerID, ready);
    if (status !== undefined) this.#change({ pod, status });
  }

  /** The same of a startup probe. */
  setContainerStartup(pod: Pod, containerID: string, started: boolean): void {
    const status = withContainerStartup(this.#statusOf(pod), containerID, started);
    if (status !== undefined) this.#change({ pod, status });
  }

  /** The pod's sandbox is ready. This counts at once, although its containers may take long to start. */
  sandboxReady(pod: Pod): void {
    const status = withObservedGeneration(pod, withSandboxReady(pod, this.#statusOf(pod)));
    this.#change({ pod, status }, true);
  }

  /** Nothing is left of the pod on this node: the status is its last one, and the API server may forget the pod. */
  terminate(pod: Pod, served = this.servedOf(pod) ?? pod.status): void {
    // What the API server has (`served`) of a static pod that ends before a status of it was kept must not be emptied.
    const before = this.#statusOf(pod, served);
    this.#keep({ pod, status: terminatedStatus(pod, before), forced: true, podIsFinished: true });
  }

  /** The pod was started at that time (RFC 3339 in whole seconds), perhaps by an earlier agent. The API server is told with the next status. */
  recallStart(pod: Pod, startTime: string): void {
    const { uid } = pod.metadata;
    const entry = this.#entries.get(uid);
    if (entry === undefined) this.#recalled.set(uid, { ...pod.status, startTime });
    else this.#entries.set(uid, { ...entry, status: { ...entry.status, startTime } });
  }

  /** The API server has the disruption, and has given it its time. That is no change to be written. */
  disruptionTold(uid: string, disruption: PodCondition): void {
    const entry = this.#entries.get(uid);
    const isKnown = ({ type, status }: PodCondition) =>
      type === disruption.type && status === disruption.status;
    if (entry?.status.conditions?.some(isKnown))
      this.#entries.set(uid, { ...entry, status: withCondition(entry.status, disruption) });
  }

  /** The pod is rejected, at `now` (RFC 3339 in whole seconds). This status is final. */
  reject(pod: Pod, rejection: Rejection, now: string): void {
    this.#change({ pod, status: rejectedPodStatus(pod, rejection, now) });
    this.#settled.set(pod.metadata.uid, 'ended');
  }

  /** The pod ended under an earlier agent. Its present status is final. */
  restore(pod: Pod): void {
    this.#change({ pod, status: pod.status ?? {} });
    this.#settled.set(pod.metadata.uid, 'ended');
  }

  /** Whether its status stays as it is. */
  isFinal(uid: string): boolean {
    return this.#settled.get(uid) === 'ended';
  }

  /** The pod waits for room. */
  setWaiting(pod: Pod, lack: Rejection): void {
    this.#change({ pod, status: waitingPodStatus(pod, lack), isHeld: true });
    this.#settled.set(pod.metadata.uid, 'waiting');
  }

  /** The pod is admitted: removes the reason for its wait from the status. */
  admit(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#settled.delete(uid)) this.#change({ pod, status: admittedPodStatus(pod), isHeld: true });
  }

  /** The API server has no use for the status any more. */
  drop(uid: string): void {
    this.#entries.delete(uid);
    this.#recalled.delete(uid);
  }

  forget(uid: string): void {
    this.drop(uid);
    this.#settled.delete(uid);
  }

  /** Drops the statuses of unknown pods. */
  keepOnly(isKnown: (uid: string) => boolean): void {
    for (const uid of [...this.#entries.keys(), ...this.#recalled.keys()])
      if (!isKnown(uid)) this.forget(uid);
  }

  /** The status that a change of a part builds upon. */
  #statusOf({ metadata: { uid } }: Pod, otherwise: PodStatus = {}): PodStatus {
    return this.#entries.get(uid)?.status ?? otherwise;
  }

  /** Changes a part of a status. A status without a phase is not whole yet: if it were written, it would delete the rest at the API server. */
  #change(change: Change, canWait = false): void {
    if (change.status.phase !== undefined) this.#keep(change, canWait);
  }

  /** Whether the status was kept. */
  #keep(change: Change, canWait = false): boolean {
    const { clock, logger } = this.#context;
    const { pod } = change;
    const { uid, deletionTimestamp } = pod.metadata;
    const former = this.#entries.get(uid);
    const mirrorPod = former === undefined ? this.#formerMirrorPod(change) : undefined;
    const result = nextStatus({ ...change, former, mirrorPod, now: rfc3339(clock.now()) });
    if (result.kind === 'refused')
      logger.warn({ ...podFields(pod.metadata), problem: result.problem }, 'Status is dropped');
    if (result.kind !== 'changed') return false;
    const { next } = result;
    this.#entries.set(uid, next);
    this.#recalled.delete(uid);
    const isNew = former === undefined && deletionTimestamp == null;
    this.#news.next({ uid, isNew, podIsFinished: next.podIsFinished, canWait });
    return true;
  }

  /** A mirror pod that has ended is not the former one of a pod that goes on: the same manifest has begun a new life. */
  #formerMirrorPod({ pod, status }: Pick<StatusChange, 'pod' | 'status'>): Pod | undefined {
    const mirrorPod = this.#mirrorPods.ownMirrorPodOf(pod);
    const isOver = isTerminalPhase(mirrorPod?.status?.phase) && !isTerminalPhase(status.phase);
    return isOver ? undefined : mirrorPod;
  }
}
