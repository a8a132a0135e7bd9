import type { Admission } from '../../policies/admission/admit-pod.ts';
import { type InsufficientResource, UNEXPECTED_ADMISSION_ERROR } from '../../policies/admission/rejection.ts';
import type { StartDelay } from '../../policies/admission/start-delay.ts';
import { isCriticalPod } from '../../policies/pod/pod-kinds.ts';
import { allocationFromPod, isAllocated, podAsAllocated } from '../../policies/resize/allocation.ts';
import { sortPendingResizes } from '../../policies/resize/pending-resizes.ts';
import { requestedResizes } from '../../policies/resize/requested-resizes.ts';
import { isDeferred, isInfeasible } from '../../policies/resize/resize-conditions.ts';
import { actuatedOf } from '../../policies/resize/resize-actions.ts';
import type { ResizeRefusal } from '../../policies/resize/resize-decision.ts';
import type { InfeasibleResize, PodNode } from '../../runtime/node/pod-node.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { TimerHandle } from '../../../types/clock.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodAllocation } from '../../../types/runtime-pod.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { RoomArbiter } from '../start/room-arbiter.ts';
import type { ResizeStates } from './resize-states.ts';

/** The kubelet tries again as seldom. */
const RETRY_MS = 180_000;

const PLAIN_PROCESSES: InfeasibleResize = {
  detail: 'runtime_limitation',
  message: 'The containers of this node are plain processes: their resources cannot be changed in place.',
};

/** In the words of the kubelet up to 1.35. */
function tooLarge({ resource, requested, capacity }: InsufficientResource): InfeasibleResize {
  const message = `Node didn't have enough capacity: ${resource}, requested: ${requested}, capacity: ${capacity}`;
  return { detail: 'insufficient_node_allocatable', message };
}

/** What makes the node look again at resizes that wait. */
export type ResizeTrigger =
  | 'pod_updated'
  | 'pods_added'
  | 'pods_removed'
  | 'pod_terminated'
  | 'periodic_retry';

export interface PodResizesParts {
  readonly states: ResizeStates;
  readonly room: RoomArbiter;
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly node: Pick<PodNode, 'resizer' | 'recallContainers'>;
  readonly pleg: Pick<Pleg, 'lastSeen' | 'runtimeHolds'>;
}

/**
 * Changes of the CPU and memory of pods. Their actors see pods as allocated: with what the node has granted. A change of a spec is
 * granted, waits here for room, or can never be granted.
 */
export class PodResizes {
  readonly #context: AgentContext;
  readonly #parts: PodResizesParts;
  /** What pods have been granted that have no place yet, by UID: a former agent had admitted them. */
  readonly #recalled = new Map<string, PodAllocation>();
  /** UIDs of the pods whose resize waits, in the order in which they are tried. */
  #pending: readonly string[] = [];
  #timer: TimerHandle | undefined;
  /** Before every source has been seen, nothing is granted: the pods that run hold more than is known. */
  #isOpen = false;

  constructor(context: AgentContext, parts: PodResizesParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** The pod with the resources that it has been granted; as it is, where it has no place yet. */
  asAllocated(pod: Pod): Pod {
    return podAsAllocated(pod, this.#allocationOf(pod.metadata.uid));
  }

  /** A pod comes of which the runtime has something: a former agent has granted it what it has. */
  recall(pod: Pod): void {
    const { node, pleg, states } = this.#parts;
    const { uid } = pod.metadata;
    node.recallContainers(uid);
    const seen = pleg.lastSeen(uid);
    const allocation =
      node.resizer?.allocation(uid) ?? seen?.sandboxes[0]?.allocated ?? (seen && actuatedOf(pod, seen));
    if (allocation === undefined || isAllocated(pod, allocation)) return;
    this.#recalled.set(uid, allocation);
    states.recall(pod);
    this.#push(uid);
  }

  /** The source has another version of the pod than `before`. */
  updated(before: Pod | undefined, pod: Pod): void {
    const { uid } = pod.metadata;
    const resizes = this.#context.measurements?.resizes;
    if (resizes && before) for (const change of requestedResizes(before, pod)) resizes.requested(change);
    const allocation = this.#allocationOf(uid);
    if (allocation === undefined) return;
    if (isAllocated(pod, allocation)) {
      this.#drop(uid);
      this.#parts.states.withdrawn(pod);
      return;
    }
    this.#parts.states.asked(pod);
    this.#push(uid);
    this.retry('pod_updated', uid);
  }

  /** The pods that are ending for the resize of this one. */
  delayOf(uid: string): StartDelay | undefined {
    return this.#parts.room.growing.get(uid)?.delay;
  }

  sourcesReady(): void {
    this.#isOpen = true;
    this.retry('pods_added');
  }

  /** `except`: a pod that is told what has become of it anyway. */
  retry(trigger: ResizeTrigger, except?: string): void {
    this.#retry(this.#pending, trigger, except);
  }

  /** Room that was being made for this pod is not reserved for it any more. */
  promiseOver(uid: string): void {
    const others = this.#pending.filter((other) => other !== uid);
    this.#retry(others, 'pod_terminated');
  }

  #retry(uids: readonly string[], trigger: ResizeTrigger, except?: string): void {
    if (!this.#isOpen || uids.length === 0) return;
    // What is granted may make other pods end or start, and more resizes come meanwhile.
    for (const uid of uids) if (!this.#try(uid, trigger, uid === except)) this.#drop(uid);
    this.#arm();
  }

  forget(uid: string): void {
    this.#recalled.delete(uid);
    this.#parts.states.forget(uid);
    this.#drop(uid);
  }

  stop(): void {
    this.#pending = [];
    this.#arm();
  }

  #allocationOf(uid: string): PodAllocation | undefined {
    const admitted = this.#parts.room.allocated(uid);
    return admitted === undefined ? this.#recalled.get(uid) : allocationFromPod(admitted);
  }

  #drop(uid: string): void {
    this.#parts.room.growing.stop(uid);
    this.#pending = this.#pending.filter((other) => other !== uid);
  }

  #push(uid: string): void {
    const { desired, states } = this.#parts;
    const uids = this.#pending.includes(uid) ? this.#pending : [...this.#pending, uid];
    const waiting = uids.flatMap((uid) => {
      const pod = desired.get(uid);
      const since = states.conditionsOf(uid).pending?.lastTransitionTime;
      return pod === undefined ? [] : [{ desired: pod, allocated: this.asAllocated(pod), since }];
    });
    this.#pending = sortPendingResizes(waiting).map(({ desired: { metadata } }) => metadata.uid);
  }

  /** Whether the resize still waits. */
  #try(uid: string, trigger: ResizeTrigger, isTold: boolean): boolean {
    const { desired, registry, states, room, node } = this.#parts;
    const pod = desired.get(uid);
    const allocation = this.#allocationOf(uid);
    if (pod === undefined || allocation === undefined || registry.isPodTerminationRequested(uid))
      return false;
    const before = states.conditionsOf(uid);
    const { resized, conditions } = states.decide(pod, allocation, () => this.#refusal(pod));
    if (resized) {
      room.resize(pod);
      void node.resizer?.allocate(uid, allocationFromPod(pod));
      if (isDeferred(before)) this.#context.measurements?.resizes.deferredAccepted(trigger);
      if (!isTold) registry.send(uid, { type: 'SyncPodUpdate', pod });
      return false;
    }
    if (!isTold && conditions !== before) registry.send(uid, { type: 'SyncPodSync' });
    if (isDeferred(conditions) && isCriticalPod(pod)) this.#makeRoom(pod);
    return !isInfeasible(conditions);
  }

  /** Other pods are ended for a critical one that lacks nothing but room. */
  #makeRoom(pod: Pod): void {
    const { room } = this.#parts;
    if (room.allocated(pod.metadata.uid) === undefined || room.resizeAdmission(pod).kind !== 'short') return;
    room.growing.makeRoom(pod, () => this.retry('pod_terminated'));
  }

  #refusal(pod: Pod): ResizeRefusal | undefined {
    const admission = this.#parts.room.resizeAdmission(pod);
    const infeasible = this.#infeasible(pod, admission);
    if (infeasible === undefined) return admission.kind === 'admitted' ? undefined : admission;
    const { detail, message } = infeasible;
    this.#context.measurements?.resizes.infeasible(detail);
    return { reason: 'Infeasible', message };
  }

  #infeasible(pod: Pod, admission: Admission): InfeasibleResize | undefined {
    const { node, room } = this.#parts;
    const { resizer } = node;
    const refusal = resizer ? resizer.refusal(pod, this.asAllocated(pod)) : PLAIN_PROCESSES;
    const isShort = admission.kind !== 'admitted' && admission.reason !== UNEXPECTED_ADMISSION_ERROR;
    if (refusal !== undefined || !isShort) return refusal;
    const beyond = room.beyondNode(pod);
    return beyond && tooLarge(beyond);
  }

  #arm(): void {
    const { clock } = this.#context;
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer);
    this.#timer =
      this.#pending.length === 0 ? undefined : clock.setTimeout(() => this.retry('periodic_retry'), RETRY_MS);
  }
}
