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

/** The kubelet's period. */
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

/** Why deferred resizes are tried again. */
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
 * In-place resizes of pods. The pods' actors get pods with the granted resources. A change of a spec is granted, waits here for
 * room, or is infeasible.
 */
export class PodResizes {
  readonly #context: AgentContext;
  readonly #parts: PodResizesParts;
  /** Granted resources of pods that a former agent had admitted and this agent has not yet, by UID. */
  readonly #recalled = new Map<string, PodAllocation>();
  /** UIDs of the pods whose resize waits, in the order in which they are tried. */
  #pending: readonly string[] = [];
  #timer: TimerHandle | undefined;
  /** Nothing is granted before every source has been read, since running pods may hold more than is known. */
  #isOpen = false;

  constructor(context: AgentContext, parts: PodResizesParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** The pod with its granted resources; unchanged if it is not admitted yet. */
  asAllocated(pod: Pod): Pod {
    return podAsAllocated(pod, this.#allocationOf(pod.metadata.uid));
  }

  /** For a pod that the runtime already has: a former agent has granted its resources. */
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
    this.#ask(pod);
    this.retry('pod_updated', uid);
  }

  /** The pods that end to make room for the resize of this one. */
  delayOf(uid: string): StartDelay | undefined {
    return this.#parts.room.growing.get(uid)?.delay;
  }

  sourcesReady(): void {
    this.#isOpen = true;
    this.retry('pods_added');
  }

  /** `except`: this pod is synced anyway. */
  retry(trigger: ResizeTrigger, except?: string): void {
    this.#retry(this.#pending, trigger, except);
  }

  /** The pod got its place with what it requested when it asked. A resize that came meanwhile is decided now. */
  admitted(uid: string): void {
    const { desired, registry, room } = this.#parts;
    const [pod, admitted] = [desired.get(uid), room.allocated(uid)];
    if (pod === undefined || admitted === undefined || pod === admitted) return;
    if (isAllocated(pod, allocationFromPod(admitted))) return;
    this.#ask(pod);
    this.#retry([uid], 'pods_added', uid);
    registry.send(uid, { type: 'SyncPodUpdate', pod: this.asAllocated(pod) });
  }

  /** There is no room for the pod, of which nothing runs: it may ask for what it requests now, instead of what a former agent has granted. */
  rejected(uid: string): void {
    const { desired, registry, states } = this.#parts;
    const pod = desired.get(uid);
    if (!this.#recalled.delete(uid) || pod === undefined) return;
    this.#drop(uid);
    states.withdrawn(pod);
    registry.send(uid, { type: 'SyncPodUpdate', pod });
  }

  /** The room of a preemption is not reserved for this pod any more. */
  promiseOver(uid: string): void {
    const others = this.#pending.filter((other) => other !== uid);
    this.#retry(others, 'pod_terminated');
  }

  #retry(uids: readonly string[], trigger: ResizeTrigger, except?: string): void {
    if (!this.#isOpen || uids.length === 0) return;
    // A granted resize may make other pods end or start, and new resizes may come meanwhile.
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

  #ask(pod: Pod): void {
    this.#parts.states.asked(pod);
    this.#push(pod.metadata.uid);
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
  #try(uid: string, trigger: ResizeTrigger, isSyncing: boolean): boolean {
    const { desired, registry, states, room, node } = this.#parts;
    const pod = desired.get(uid);
    const allocation = this.#allocationOf(uid);
    if (pod === undefined || allocation === undefined || registry.isPodTerminationRequested(uid))
      return false;
    // It gets the room for what was granted before.
    if (room.isJudged(uid)) return true;
    const before = states.conditionsOf(uid);
    const { resized, conditions } = states.decide(pod, allocation, () => this.#refusal(pod));
    if (resized) {
      room.resize(pod);
      void node.resizer?.allocate(uid, allocationFromPod(pod));
      if (isDeferred(before)) this.#context.measurements?.resizes.deferredAccepted(trigger);
      if (!isSyncing) registry.send(uid, { type: 'SyncPodUpdate', pod });
      return false;
    }
    if (!isSyncing && conditions !== before) registry.send(uid, { type: 'SyncPodSync' });
    if (isDeferred(conditions) && isCriticalPod(pod)) this.#makeRoom(pod);
    return !isInfeasible(conditions);
  }

  /** Preempts other pods for a critical one that lacks nothing but room. */
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
