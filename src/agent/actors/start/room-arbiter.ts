/** Decides which pods have a place on this node. Each pod asks before it first starts, and keeps its place until it has ended. */
import { type Admission, admitPod, admitRunningPod, beyondNode } from '../../policies/admission/admit-pod.ts';
import type { UsedResources } from '../../policies/admission/used-resources.ts';
import {
  type InsufficientResource,
  mayFitLater,
  type Rejection,
  UNEXPECTED_ADMISSION_ERROR,
  unexpectedAdmissionError,
} from '../../policies/admission/rejection.ts';
import { admitPodBeside, type FreedRoom } from '../../policies/preemption/victim-plan.ts';
import { effectiveGracePeriodSeconds } from '../../policies/termination/pod-termination.ts';
import type { PodAdmission, PodNode } from '../../runtime/node/pod-node.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { NodeFacts } from '../../../types/node-facts.ts';
import type { ActorContext } from '../actor-context.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import { GrowingPods } from './growing-pods.ts';
import { Preemptions } from './preemptions.ts';
import { ResourceLedger } from './resource-ledger.ts';
import { type RoomAnswer, type RoomRequest, RoomRequests } from './room-requests.ts';

export interface RoomArbiterParts {
  readonly registry: PodRegistry;
  /** `admit` is called for each pod before the room for it is judged. */
  readonly node: Pick<PodNode, 'admit' | 'withdraw'>;
  readonly pleg: Pick<Pleg, 'runtimeHolds'>;
  readonly nodeFacts: () => NodeFacts;
  /** With the node as the API server has it now; only in a cluster. */
  readonly freshNodeFacts?: () => Promise<NodeFacts>;
  /** Of victims that are otherwise equal, lower priority goes first. The kubelet does not look at it. */
  readonly preemptionLowerPriorityFirst: boolean;
  /** The pod has got its place, and hears of it next. */
  readonly onAdmitted?: (uid: string) => void;
  /** The pod, of which nothing runs, has been told that it gets none. */
  readonly onRejected?: (uid: string) => void;
  /** Room that was being made for this pod is not reserved for it any more. */
  readonly onPromiseOver?: (uid: string) => void;
}

export class RoomArbiter {
  readonly growing: GrowingPods;
  readonly #parts: RoomArbiterParts;
  readonly #ledger = new ResourceLedger();
  /** Pods that ran before this agent: they hold their room, and whether they may stay is still to be decided. */
  readonly #unchecked = new Set<string>();
  readonly #requests: RoomRequests;
  /** What a pod lacks for which other pods may be ended, by UID. */
  readonly #shortages = new Map<string, Rejection>();
  readonly #preemptions: Preemptions;
  /** How often there may have been more room. */
  #offers = 0;

  /** The actors of preemptions are children of the context's parent. */
  constructor(context: ActorContext, parts: RoomArbiterParts) {
    this.#parts = parts;
    const { registry } = parts;
    this.#requests = new RoomRequests(registry);
    this.#preemptions = new Preemptions(context, {
      podOf: (uid) => this.#requesting(uid),
      facts: ({ metadata }) => this.#planFacts(metadata.uid),
      holds: (uid) => this.#ledger.has(uid),
      kill: (uid, kill) => registry.kill(uid, kill),
      gracePeriodSeconds: (uid) => gracePeriodSeconds(registry, uid),
      preempting: (uid, delay) => {
        const growth = this.growing.get(uid);
        if (growth) growth.delay = delay;
        else this.#requests.get(uid)?.answer({ type: 'PREEMPTING', delay });
      },
      admit: (uid) => this.#admitPreemptor(uid),
      reject: (uid, rejection) => this.#rejectPreemptor(uid, rejection),
      // Reserved room is free: ask the waiting pods again.
      onPromiseOver: (uid) => {
        this.offer(this.#waiting().filter((other) => other !== uid));
        parts.onPromiseOver?.(uid);
      },
    });
    const admission = (pod: Pod) => this.resizeAdmission(pod);
    this.growing = new GrowingPods({ preemptions: this.#preemptions, admission });
  }

  /** What the admitted pods have reserved of the node. */
  get reserved(): UsedResources {
    return this.#ledger;
  }

  /** A pod that runs already holds what it requests, before any other pod is admitted. */
  adopt(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#ledger.has(uid)) return;
    this.#ledger.add(pod);
    this.#unchecked.add(uid);
  }

  /**
   * Answers with ADMITTED; with SHORT where other pods may be ended for this one; else with REJECTED. Whenever there may be room,
   * ROOM_FREED is sent to each pod that waits for some. Answers at once, unless a part of the node takes its time to admit the pod, or the
   * node's labels may have changed meanwhile.
   */
  request(pod: Pod, answer: (event: RoomAnswer) => void): void {
    const { uid } = pod.metadata;
    const isRunning = this.#unchecked.has(uid);
    const request = this.#requests.make(pod, answer);
    if (this.#ledger.has(uid) && !isRunning) {
      answer({ type: 'ADMITTED' });
      return;
    }
    const before = this.#requests.keep(request);
    const shortage = this.#shortages.get(uid);
    if (this.#preemptions.has(uid) && shortage !== undefined) {
      answer({ type: 'SHORT', ...shortage });
      return;
    }
    if (!isRunning && this.#mayHaveOld(uid, before)) this.#parts.node.withdraw(uid);
    const rejection = this.#admittedByParts(request);
    if (rejection instanceof Promise) void this.#judgeLater(request, isRunning, rejection);
    else this.#judge(request, isRunning, rejection);
  }

  /** Whether the pod has asked for its place, and has no answer yet. */
  isJudged(uid: string): boolean {
    return this.#requests.isJudged(uid);
  }

  /** The pod as it was admitted, or resized since; undefined for a pod that has no place. */
  allocated(uid: string): Pod | undefined {
    return this.#ledger.podOf(uid);
  }

  /** Whether the node has room for what the pod, which has a place, requests now. */
  resizeAdmission(pod: Pod): Admission {
    return this.#decide(pod, false, this.#parts.nodeFacts);
  }

  /** What the node could not grant the pod even if it had no other pod. */
  beyondNode(pod: Pod): InsufficientResource | undefined {
    return beyondNode(this.#parts.nodeFacts(), pod);
  }

  /** The pod now holds its new requests. Room that it gives back is offered to waiting pods. */
  resize(pod: Pod): void {
    this.#ledger.replace(pod);
    this.offerAll();
  }

  /** Whether the pod may have got CPUs or devices at a try that led to nothing, perhaps of an earlier agent: they may be of no use by now. */
  #mayHaveOld(uid: string, before: RoomRequest | undefined): boolean {
    return before === undefined ? this.#parts.pleg.runtimeHolds(uid) === 'nothing' : !before.isAnswered;
  }

  /** Never throws or rejects: an admission that fails must not block other pods. */
  #admittedByParts({ pod, asked }: RoomRequest): PodAdmission {
    const failed = (error: unknown) => unexpectedAdmissionError(errorMessage(error));
    try {
      const rejection = this.#parts.node.admit(pod, asked.signal);
      return rejection instanceof Promise ? rejection.catch(failed) : rejection;
    } catch (error) {
      return failed(error);
    }
  }

  /** Room that was freed meanwhile was not offered to the pod, since it did not wait yet: it asks again, if it waits now. */
  async #judgeLater(request: RoomRequest, isRunning: boolean, parts: Promise<Rejection | undefined>) {
    const offers = this.#offers;
    const rejection = await parts;
    if (!this.#requests.isAwaited(request)) return;
    this.#judge(request, isRunning, rejection);
    if (rejection !== undefined && offers !== this.#offers) this.offer([request.pod.metadata.uid]);
  }

  /** `rejection`: by a part of the node. */
  #judge(request: RoomRequest, isRunning: boolean, rejection: Rejection | undefined): void {
    const { nodeFacts, freshNodeFacts } = this.#parts;
    const admission: Admission = rejection
      ? { kind: 'rejected', ...rejection }
      : this.#decide(request.pod, isRunning, nodeFacts);
    const isOutdated = admission.kind === 'rejected' && admission.reason === 'NodeAffinity';
    if (isOutdated && freshNodeFacts) void this.#judgeAgain(request, isRunning, freshNodeFacts);
    else this.#answer(request, admission);
  }

  #answer(request: RoomRequest, admission: Admission): void {
    request.isAnswered = true;
    const isRunning = this.#unchecked.delete(request.pod.metadata.uid);
    if (admission.kind === 'admitted') this.#admit(request);
    else if (admission.kind === 'short') this.#short(request, rejectionOf(admission));
    else this.#reject(request, admission, isRunning);
  }

  /** The scheduler may have seen labels of the node that have not arrived here: the pod is judged once more, with the newest node. */
  async #judgeAgain(
    request: RoomRequest,
    isRunning: boolean,
    freshNodeFacts: () => Promise<NodeFacts>,
  ): Promise<void> {
    // Without an answer of the API server, the node as it is known decides.
    const facts = await freshNodeFacts().catch(() => this.#parts.nodeFacts());
    if (this.#requests.isAwaited(request))
      this.#answer(
        request,
        this.#decide(request.pod, isRunning, () => facts),
      );
  }

  /** For a pod that was answered SHORT: others are ended for it. Answers PREEMPTING, and in the end ADMITTED or REJECTED. */
  makeRoom(pod: Pod, answer: (event: RoomAnswer) => void): void {
    const { uid } = pod.metadata;
    this.#requests.keep(this.#requests.make(pod, answer));
    if (this.#preemptions.has(uid)) this.#preemptions.tellAgain(uid);
    else this.#preemptions.begin(pod.metadata);
  }

  /**
   * The pod has ended, or will not start. A preemption that waited for it goes on. Returns the UIDs of the waiting pods that can
   * ask again.
   */
  ended(uid: string): readonly string[] {
    this.#unchecked.delete(uid);
    this.#requests.forget(uid);
    this.#shortages.delete(uid);
    this.growing.forget(uid);
    const hadParts = this.#parts.node.withdraw(uid);
    const hasFreed = this.#ledger.remove(uid) || hadParts;
    if (hasFreed) this.#offers += 1;
    // Listed first: a pod that begins to wait below has already been judged with the freed room.
    const waiting = hasFreed ? this.#waiting() : [];
    this.#preemptions.ended(uid);
    return waiting;
  }

  /** There may be room: these pods ask again, one after the other. */
  offer(uids: readonly string[]): void {
    for (const uid of uids) this.#requests.get(uid)?.answer({ type: 'ROOM_FREED' });
  }

  /** The node may have become larger. */
  offerAll(): void {
    this.#offers += 1;
    this.offer(this.#waiting());
  }

  stop(): void {
    this.#requests.stop();
    this.#preemptions.stop();
  }

  /** UIDs of the pods that wait for room, the first to be served first. A pod for which room is being made is not among them. */
  #waiting(): readonly string[] {
    return this.#requests.waiting().filter((uid) => !this.#preemptions.has(uid));
  }

  #decide(pod: Pod, isRunning: boolean, nodeFacts: () => NodeFacts): Admission {
    try {
      const node = nodeFacts();
      const rejection = isRunning ? admitRunningPod(node, pod) : undefined;
      if (rejection) return { kind: 'rejected', ...rejection };
      return isRunning ? { kind: 'admitted' } : this.#fit(node, pod);
    } catch (error) {
      // An admission that throws must not block other pods.
      return { kind: 'rejected', ...unexpectedAdmissionError(errorMessage(error)) };
    }
  }

  #fit(node: NodeFacts, pod: Pod): Admission {
    const { uid } = pod.metadata;
    const others = this.#preemptions.promised().filter((other) => other !== uid);
    if (others.length === 0) return admitPod(node, pod, this.#ledger.besides(uid));
    return admitPodBeside(node, pod, this.#holdersBeside(uid), this.#room());
  }

  #admit({ pod, answer }: RoomRequest): void {
    const { uid } = pod.metadata;
    this.#ledger.add(pod);
    this.#requests.served(uid);
    this.#shortages.delete(uid);
    this.#parts.onAdmitted?.(uid);
    answer({ type: 'ADMITTED' });
  }

  #short({ pod, answer }: RoomRequest, shortage: Rejection): void {
    this.#shortages.set(pod.metadata.uid, shortage);
    answer({ type: 'SHORT', ...shortage });
  }

  /**
   * The rejection says what the pod lacks, not why no other pod can be preempted. A running pod keeps its resources until it has
   * ended.
   */
  #reject({ pod, answer, number }: RoomRequest, rejection: Rejection, isRunning: boolean): void {
    const { reason, message } = rejection;
    const { uid } = pod.metadata;
    const hadParts = !isRunning && this.#parts.node.withdraw(uid);
    const shortage = reason === UNEXPECTED_ADMISSION_ERROR ? this.#shortages.get(uid) : undefined;
    const lack = mayFitLater(rejection) ? (shortage ?? { reason, message }) : undefined;
    // Only pods that asked after this one can have been refused because of what it held. If earlier ones asked again too, this would never end.
    const later = hadParts
      ? this.#waiting().filter((other) => (this.#requests.get(other)?.number ?? 0) > number)
      : [];
    answer({ type: 'REJECTED', reason, message, lack });
    if (!isRunning) this.#parts.onRejected?.(uid);
    this.offer(later);
  }

  #admitPreemptor(uid: string): Admission {
    const isEnding = this.#parts.registry.isPodTerminationRequested(uid);
    const growth = this.growing.get(uid);
    if (growth !== undefined && !isEnding) return this.growing.admit(growth);
    const request = this.#requests.wanted(uid);
    if (request === undefined) return { kind: 'rejected', ...unexpectedAdmissionError('the pod is gone') };
    const admission = this.#decide(request.pod, false, this.#parts.nodeFacts);
    if (admission.kind === 'admitted') this.#admit(request);
    return admission;
  }

  /** A pod whose resize does not fit already has its condition, and runs on, even if its admission is being asked for again. */
  #rejectPreemptor(uid: string, rejection: Rejection): void {
    if (this.growing.forget(uid)) return;
    const request = this.#requests.wanted(uid);
    if (request !== undefined) this.#reject(request, rejection, false);
  }

  /** The pod with what it asks for. */
  #requesting(uid: string): Pod | undefined {
    return this.growing.get(uid)?.pod ?? this.#parts.registry.podOf(uid);
  }

  #holdersBeside(uid: string): readonly Pod[] {
    return this.#ledger.holders().filter(({ metadata }) => metadata.uid !== uid);
  }

  #planFacts(uid: string) {
    const { nodeFacts, preemptionLowerPriorityFirst: lowerPriorityFirst } = this.#parts;
    return { node: nodeFacts(), holders: this.#holdersBeside(uid), room: this.#room(), lowerPriorityFirst };
  }

  #room(): FreedRoom {
    const { registry } = this.#parts;
    const unendable = this.#preemptions.unendable();
    const holders = this.#ledger.holders().map(({ metadata }) => metadata.uid);
    const ending = holders.filter((uid) => registry.isPodTerminationRequested(uid) && !unendable.has(uid));
    const promisedTo = this.#preemptions.promised().flatMap((uid) => this.#requesting(uid) ?? []);
    return { ending: new Set(ending), promisedTo };
  }
}

function rejectionOf({ reason, message }: Rejection): Rejection {
  return { reason, message };
}

function gracePeriodSeconds(registry: PodRegistry, uid: string): number {
  const context = registry.get(uid)?.actor.getSnapshot().context;
  return context?.gracePeriodSeconds ?? effectiveGracePeriodSeconds(undefined, context?.pod);
}
