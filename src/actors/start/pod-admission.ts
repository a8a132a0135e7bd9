/** Which pods may have a place on this node: each is asked for before it first starts, and keeps it until it has ended. */
import type { ActorOptions, AnyActorRef } from 'xstate';
import type { preemptionMachine } from '../../machines/preemption-machine.ts';
import { type Admission, admitPod, admitRunningPod } from '../../policies/admission/admit-pod.ts';
import {
  isForWantOfRoom,
  type Rejection,
  UNEXPECTED_ADMISSION_ERROR,
  unexpectedAdmissionError,
} from '../../policies/admission/rejection.ts';
import { isStaticPod } from '../../policies/pod/pod-kinds.ts';
import { effectiveGracePeriodSeconds, type KillPodOptions } from '../../policies/sync/pod-termination.ts';
import { admitPodBeside, type ComingRoom } from '../../policies/preemption/promised-room.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { StartRequest } from './pod-starts.ts';
import { Preemptions } from './preemptions.ts';
import type { StatusManager } from '../pods/status-manager.ts';
import { ResourceLedger } from './resource-ledger.ts';

export interface PodAdmissionOptions {
  readonly registry: () => PodRegistry;
  readonly node: Pick<PodNode, 'rejection'>;
  readonly nodeFacts: () => NodeFacts;
  /** Of victims that are otherwise equal, lower priority goes first. The kubelet does not look at it. */
  readonly preemptionLowerPriorityFirst: boolean;
  readonly statusManager: StatusManager;
  /** Asks again for a start for which there is, or may be, room by now. */
  readonly askAgain: (request: StartRequest) => void;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  readonly parent: () => AnyActorRef;
  readonly inspect?: ActorOptions<typeof preemptionMachine>['inspect'];
}

export class PodAdmission {
  readonly #options: PodAdmissionOptions;
  readonly #ledger = new ResourceLedger();
  /** They ran before this agent came: what they hold is theirs, but nobody has asked yet whether they may stay. */
  readonly #unchecked = new Set<string>();
  /** Of those that have no place yet. */
  readonly #requests = new Map<string, StartRequest>();
  /** What those lack that room is to be made for. */
  readonly #shortages = new Map<string, Rejection>();
  /** Static pods that wait for room, with what was last told of that. */
  readonly #waiting = new Map<string, string>();
  readonly #preemptions: Preemptions;

  constructor(options: PodAdmissionOptions) {
    this.#options = options;
    const { clock, recorder, logger, parent, inspect } = options;
    this.#preemptions = new Preemptions({
      ...{ clock, recorder, logger, parent },
      podOf: (uid) => this.#podOf(uid),
      facts: () => this.#planFacts(),
      holds: (uid) => this.#ledger.has(uid),
      kill: (uid, kill) => this.#kill(uid, kill),
      gracePeriodSeconds: (uid) => this.#gracePeriodSeconds(uid),
      admit: (uid) => this.#admitPreemptor(uid),
      reject: (uid, rejection) => this.#refusePreemptor(uid, rejection),
      onPromiseOver: (uid) => this.#promiseOver(uid),
      ...(inspect && { inspect }),
    });
  }

  /** A pod that runs already holds what it has, before anybody else is admitted. */
  adopt(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#ledger.has(uid)) return;
    this.#ledger.add(pod);
    this.#unchecked.add(uid);
  }

  /** Whether the pod may start now. Else it has been rejected, or is asked for again once there may be room. */
  admits(request: StartRequest): boolean {
    const { pod } = request;
    const { uid } = pod.metadata;
    const isRunning = this.#unchecked.delete(uid);
    if (this.#ledger.has(uid) && !isRunning) return true;
    this.#requests.set(uid, request);
    if (this.#preemptions.has(uid)) return false;
    const admission = this.#decide(pod, isRunning);
    if (admission.kind === 'admitted') this.#admitted(pod);
    else if (admission.kind === 'short') this.#preempt(pod, admission);
    else this.#refuse(pod, admission);
    return admission.kind === 'admitted';
  }

  /** The pod has ended, or does not want to start any more. */
  ended(uid: string): void {
    this.#unchecked.delete(uid);
    this.#forgetRequest(uid);
    const hasFreed = this.#ledger.remove(uid);
    // Whoever comes to wait by what follows has looked at the room already.
    const waiting = hasFreed ? this.#waitingInOrder() : [];
    this.#preemptions.ended(uid);
    for (const other of waiting) this.#askAgain(other);
  }

  stop(): void {
    this.#preemptions.stop();
  }

  /**
   * For whom there may be room: the most important one first, then the one that has waited longest. Those that room is being
   * made for look by themselves.
   */
  #waitingInOrder(): readonly string[] {
    const waiting = [...this.#waiting.keys()].filter((uid) => !this.#preemptions.has(uid));
    const priorityOf = (uid: string) => this.#podOf(uid)?.spec.priority ?? 0;
    return waiting.sort((a, b) => priorityOf(b) - priorityOf(a));
  }

  /** What it could not have has been kept from others. */
  #promiseOver(uid: string): void {
    for (const other of this.#waitingInOrder()) if (other !== uid) this.#askAgain(other);
  }

  #askAgain(uid: string): void {
    const request = this.#requests.get(uid);
    if (request !== undefined) this.#options.askAgain(request);
  }

  #decide(pod: Pod, isRunning: boolean): Admission {
    try {
      const node = this.#options.nodeFacts();
      const rejection = this.#options.node.rejection(pod) ?? (isRunning && admitRunningPod(node, pod));
      if (rejection) return { kind: 'rejected', ...rejection };
      return isRunning ? { kind: 'admitted' } : this.#fit(node, pod);
    } catch (error) {
      // A pod that cannot be made out must not hold up the others.
      return { kind: 'rejected', ...unexpectedAdmissionError(errorMessage(error)) };
    }
  }

  #fit(node: NodeFacts, pod: Pod): Admission {
    const others = this.#preemptions.promised().filter((uid) => uid !== pod.metadata.uid);
    if (others.length === 0) return admitPod(node, pod, this.#ledger);
    return admitPodBeside(node, pod, this.#ledger.holders(), this.#room());
  }

  #admitted(pod: Pod): void {
    const { uid } = pod.metadata;
    this.#ledger.add(pod);
    this.#forgetRequest(uid);
    this.#options.statusManager.admit(pod);
  }

  #forgetRequest(uid: string): void {
    this.#requests.delete(uid);
    this.#shortages.delete(uid);
    this.#waiting.delete(uid);
  }

  #preempt({ metadata }: Pod, { reason, message }: Rejection): void {
    this.#shortages.set(metadata.uid, { reason, message });
    this.#preemptions.begin(metadata);
  }

  /**
   * A static pod waits, as long as it lacks nothing but room: nobody would bring it a second time. It is told what it lacks,
   * rather than why nobody else has to go for it.
   */
  #refuse(pod: Pod, { reason, message }: Rejection): void {
    const { uid } = pod.metadata;
    if (!isStaticPod(pod) || !isForWantOfRoom(reason)) {
      this.#reject(pod, { reason, message });
      return;
    }
    const shortage = reason === UNEXPECTED_ADMISSION_ERROR ? this.#shortages.get(uid) : undefined;
    const lack = shortage ?? { reason, message };
    const told = this.#waiting.get(uid);
    this.#waiting.set(uid, lack.message);
    if (told === lack.message) return;
    const { statusManager, recorder } = this.#options;
    statusManager.hold(pod, lack);
    recorder.event(pod.metadata, 'Warning', lack.reason, `Waits until others have ended: ${lack.message}`);
  }

  /** The pod's actor finds it failed, and finishes it. */
  #reject(pod: Pod, rejection: Rejection): void {
    const { statusManager, recorder, registry, clock } = this.#options;
    statusManager.reject(pod, rejection, rfc3339(clock.now()));
    recorder.event(pod.metadata, 'Warning', rejection.reason, rejection.message);
    const failed: Pod = { ...pod, status: { ...pod.status, phase: 'Failed', ...rejection } };
    registry().send(pod.metadata.uid, { type: 'SyncPodUpdate', pod: failed });
  }

  #admitPreemptor(uid: string): Admission {
    const pod = this.#wantedPod(uid);
    if (pod === undefined) return { kind: 'rejected', ...unexpectedAdmissionError('the pod is gone') };
    const admission = this.#decide(pod, false);
    if (admission.kind !== 'admitted') return admission;
    const request = this.#requests.get(uid);
    this.#admitted(pod);
    if (request !== undefined) this.#options.askAgain(request);
    return admission;
  }

  #refusePreemptor(uid: string, rejection: Rejection): void {
    const pod = this.#wantedPod(uid);
    if (pod !== undefined) this.#refuse(pod, rejection);
  }

  /** Room may have been made for a pod that is to end by now. */
  #wantedPod(uid: string): Pod | undefined {
    return this.#options.registry().isPodTerminationRequested(uid) ? undefined : this.#podOf(uid);
  }

  #kill(uid: string, options: KillPodOptions): void {
    this.#options.registry().send(uid, { type: 'SyncPodKill', options });
  }

  #gracePeriodSeconds(uid: string): number {
    const { gracePeriodSeconds, pod } = this.#contextOf(uid) ?? {};
    return gracePeriodSeconds ?? effectiveGracePeriodSeconds(undefined, pod);
  }

  #planFacts() {
    const { nodeFacts, preemptionLowerPriorityFirst: lowerPriorityFirst } = this.#options;
    return { node: nodeFacts(), holders: this.#ledger.holders(), room: this.#room(), lowerPriorityFirst };
  }

  #room(): ComingRoom {
    const registry = this.#options.registry();
    const unendable = this.#preemptions.unendable();
    const held = this.#ledger.holders().map(({ metadata }) => metadata.uid);
    const ending = held.filter((uid) => registry.isPodTerminationRequested(uid) && !unendable.has(uid));
    const promisedTo = this.#preemptions.promised().flatMap((uid) => this.#podOf(uid) ?? []);
    return { ending: new Set(ending), promisedTo };
  }

  #podOf(uid: string): Pod | undefined {
    return this.#requests.get(uid)?.pod ?? this.#contextOf(uid)?.pod;
  }

  #contextOf(uid: string) {
    return this.#options.registry().get(uid)?.actor.getSnapshot().context;
  }
}
