/** Compares the pods that the agent admits with the resources that all pods really use. */
import type { PodSnapshot } from '../../agent/actors/pods/pod-registry.ts';
import type { PodEvent } from '../../agent/machines/pod-machine.ts';
import type { PreemptionEvent } from '../../agent/machines/preemption-machine.ts';
import { EVICTED } from '../../agent/policies/eviction/eviction-message.ts';
import { isCriticalPod, isPreemptable, isStaticPod } from '../../agent/policies/pod/pod-kinds.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { Violation } from '../history.ts';
import {
  admissionObstacles,
  grownResources,
  insufficientResources,
  takenPorts,
} from './admission-obstacles.ts';
import type { DevicesJudge } from './devices-judge.ts';
import type { PlacementJudge } from './placement-judge.ts';
import type { EvictionTruth } from './eviction/eviction-choice.ts';
import { EvictionJudge } from './eviction/eviction-judge.ts';
import { PluginJudge, type PluginTruth } from './plugins/plugin-judge.ts';
import { isOfPlugin, type KillEvent } from './plugins/plugin-kills-judge.ts';
import { isEndingOrEnded, podsOf, type PodRecord, PodRecords } from './pod-records.ts';
import { isPastSyncing, isTerminated } from './pod-states.ts';
import { mayPreempt, PreemptionJudge } from './preemption-judge.ts';

export interface AdmissionJudgeOptions {
  readonly node: number;
  readonly now: () => number;
  readonly nodeFacts: () => NodeFacts;
  readonly isRunning: (uid: string) => boolean;
  /** The pod as its source wants it. */
  readonly desired: (uid: string) => Pod | undefined;
  /** UIDs of the pods that ran when the agent started. */
  readonly found: Iterable<string>;
  /** Undefined for a node that does not evict. */
  readonly eviction?: EvictionTruth | undefined;
  /** Undefined for a node without plugins. */
  readonly plugins?: PluginTruth | undefined;
  /** Undefined for a node without devices. */
  readonly devices?: Pick<DevicesJudge, 'lacking' | 'hasJustFailed'> | undefined;
  /** Undefined for a node that keeps no CPUs for containers. */
  readonly placement?: Pick<PlacementJudge, 'mayLack'> | undefined;
  readonly onViolation: (violation: Violation) => void;
}

interface Subject {
  readonly uid: string;
  readonly pod?: Pod | undefined;
}

/** Judges one agent from its start to its end. Pods that ran before may stay, even if the node is too small for them. */
export class AdmissionJudge {
  /** Undefined for a node that does not evict. */
  readonly evictions: EvictionJudge | undefined;
  /** Undefined for a node without plugins. */
  readonly plugins: PluginJudge | undefined;
  readonly #options: AdmissionJudgeOptions;
  readonly #records: PodRecords;
  readonly #preemptions: PreemptionJudge;
  readonly #found: ReadonlySet<string>;

  constructor(options: AdmissionJudgeOptions) {
    this.#options = options;
    const { now, nodeFacts, isRunning, desired, found, eviction, plugins } = options;
    const violated = (invariant: string, subject: Subject, what: string) =>
      this.#violated(invariant, subject, what);
    this.#found = new Set(found);
    this.#records = new PodRecords({ now, isRunning, found });
    this.#preemptions = new PreemptionJudge({
      now,
      nodeFacts,
      records: this.#records,
      desired,
      violated,
    });
    const tenants = this.#records;
    this.evictions = eviction && new EvictionJudge({ now, truth: eviction, tenants, violated });
    this.plugins = plugins && new PluginJudge({ now, truth: plugins, tenants, violated });
  }

  /** A pod's actor shows this snapshot after that event. */
  onSnapshot(actor: object, snapshot: PodSnapshot, event: PodEvent): void {
    const before = this.#records.get(snapshot.context.uid)?.pod;
    const record = this.#records.update(actor, snapshot);
    if (event.type === 'SyncPodUpdate' && record.isAdmitted && before) this.#resized(record, before);
    if (event.type === 'ADMITTED') this.#admitted(record);
    if (event.type === 'SyncPodKill' && isOfPlugin(event)) this.#killedForPlugin(record, event);
    else if (event.type === 'SyncPodKill') {
      this.#preemptions.killed(record, event);
      this.evictions?.killed(record, event);
    }
    // A static pod that lacks only room waits for it.
    if (event.type === 'REJECTED' && isPastSyncing(record.state)) this.#checkRejection(record, event.reason);
  }

  /** The actor that makes room for the pod receives this event. */
  onPreemptionEvent(uid: string, event: PreemptionEvent): void {
    this.#preemptions.onEvent(uid, event);
    const record = this.#records.get(uid);
    if (event.type === 'ADMITTED' && record !== undefined) this.#admitted(record);
  }

  /** An abandoned call has started something of the pod. */
  landedLate(uid: string): void {
    this.#records.landedLate(uid);
  }

  /** The latest incarnation of the pod that this agent has had. */
  record(uid: string): Readonly<PodRecord> | undefined {
    return this.#records.get(uid);
  }

  /** Whether the pod was preempted, evicted or rejected. */
  hasReasonToEnd(uid: string): boolean {
    const { isPreempted = false, evictedFor, rejection } = this.#records.get(uid) ?? {};
    return isPreempted || evictedFor !== undefined || rejection !== undefined;
  }

  /** Why a pod that awaits its start must not wait any longer, once nothing happens on the node any more. */
  needlessWait(uid: string): string | undefined {
    const { pod } = this.#records.get(uid) ?? {};
    if (pod === undefined || !isStaticPod(pod)) return 'waits for its start, and stays there';
    if (this.#wasFound(uid)) return 'waits for room, and runs';
    if (this.#lacksParts(pod)) return undefined;
    const isNeedless = this.#couldFit(pod, podsOf(this.#records.possibleHolders()), []);
    return isNeedless ? 'waits for room that it could have' : undefined;
  }

  /** Whether the present requests of the admitted pod would fit beside the others. */
  hasRoomFor(pod: Pod): boolean {
    const { uid } = pod.metadata;
    const others = this.#records.possibleHolders().filter((other) => other.uid !== uid);
    const { allocatable } = this.#options.nodeFacts();
    return insufficientResources(pod, podsOf(others), allocatable).length === 0;
  }

  /** The name of a pod for which room is still being made, if there is one. */
  get unfinishedPreemption(): string | undefined {
    return this.#preemptions.unfinished;
  }

  #killedForPlugin(record: PodRecord, event: KillEvent): void {
    if (this.plugins === undefined)
      this.#violated('plugins', record, 'is ended for a plugin, and there is none');
    this.plugins?.killed(record, event);
  }

  /** A pod is admitted only if it fits beside all pods that may still run, and does not take room promised to other pods. */
  #admitted(record: PodRecord): void {
    const { isAdmitted, mayRunUnadmitted } = record;
    record.isAdmitted = true;
    if (isEndingOrEnded(record)) this.#violated('admission', record, `is admitted in ${record.state}`);
    if (isAdmitted || mayRunUnadmitted) return;
    if (record.pod !== undefined && this.evictions?.turnsAway(record.pod) === true)
      this.#violated('admission', record, 'is admitted, though the node is short of something');
    const others = this.#records.holders().filter((other) => other !== record);
    const promised = this.#preemptions.promisedBeside(record);
    const staying = others.filter((other) => !isEndingOrEnded(other));
    const { allocatable } = this.#options.nodeFacts();
    const obstaclesBeside = (all: readonly PodRecord[]) => {
      const present = all.filter(({ state }) => !isTerminated(state));
      return record.pod === undefined ? [] : admissionObstacles(record.pod, podsOf(present), allocatable);
    };
    // The pod whose end allows this admission shows its end a microtask later.
    queueMicrotask(() => {
      const obstacles = obstaclesBeside(others);
      if (obstacles.length > 0)
        this.#violated('admission', record, `is admitted, and short of ${obstacles.join()}`);
      // A promise does not bind a pod that may preempt the pod to which the room is promised.
      const owners = promised.filter((other) => !mayPreempt(record, other));
      const rest = staying.filter(({ uid }) => owners.every((owner) => owner.uid !== uid));
      const taken = owners.length === 0 ? [] : obstaclesBeside([...rest, ...owners]);
      if (taken.length > 0)
        this.#violated('preemption', record, `takes what is promised to another pod: ${taken.join()}`);
    });
  }

  /** An admitted pod is granted more only if that fits beside all pods that may still run. */
  #resized(record: PodRecord, before: Pod): void {
    const { pod } = record;
    if (pod === undefined || isEndingOrEnded(record)) return;
    const grown = grownResources(before, pod);
    if (grown.length === 0) return;
    const { allocatable } = this.#options.nodeFacts();
    const others = this.#records.holders().filter((other) => other !== record);
    // The pod whose end or smaller size allows this shows it a microtask later.
    queueMicrotask(() => {
      const present = others.filter(({ state }) => !isTerminated(state));
      const short = insufficientResources(pod, podsOf(present), allocatable);
      const missing = grown.filter((resource) => short.includes(resource));
      if (missing.length > 0)
        this.#violated('admission', record, `is given more, and the node is short of ${missing.join()}`);
    });
  }

  /** A pod is rejected before it has started, and for a reason that is true. */
  #checkRejection(record: PodRecord, reason: string): void {
    const { uid, pod, isAdmitted } = record;
    if (pod === undefined) return;
    record.rejection = reason;
    if (isAdmitted) this.#violated('admission', record, `is rejected after it was admitted: ${reason}`);
    // As with the kubelet, also if it has run before.
    if (reason === 'TaintToleration' && this.#options.plugins?.hadNoExecute() === true) return;
    if (this.#wasFound(uid) && reason !== 'NodeAffinity')
      this.#violated('admission', record, `is rejected with ${reason}, and ran before`);
    if (reason === EVICTED) {
      if (this.evictions?.turnsAway(pod) !== true)
        this.#violated('admission', record, 'is rejected because of a pressure that does not concern it');
      return;
    }
    const others = this.#records.possibleHolders().filter((other) => other !== record);
    const promised = this.#preemptions.promisedBeside(record);
    const what = this.#whyFalse(reason, pod, podsOf(others), podsOf(promised));
    if (what !== undefined) this.#violated('admission', record, `is rejected with ${reason}, ${what}`);
  }

  /** A pod that has run since before this agent started has its room. */
  #wasFound(uid: string): boolean {
    return this.#found.has(uid) && this.#options.isRunning(uid);
  }

  /** Why the reason of a rejection is not true, if so. */
  #whyFalse(reason: string, pod: Pod, others: readonly Pod[], promised: readonly Pod[]): string | undefined {
    if (reason === 'NodeAffinity')
      return pod.spec.nodeSelector === undefined ? 'and has no node selector' : undefined;
    if (OF_PARTS.has(reason) && this.#lacksParts(pod)) return undefined;
    if (reason === 'UnexpectedAdmissionError')
      return this.#couldFit(pod, others, promised) ? 'and could have room' : undefined;
    const { allocatable } = this.#options.nodeFacts();
    const obstacles = admissionObstacles(pod, [...others, ...promised], allocatable);
    const isTrue = obstacles.some((name) => reason === reasonOf(name));
    return isTrue ? undefined : `and is short of ${obstacles.join() || 'nothing'}`;
  }

  /** Whether there is room for the pod, or room can be made by ending others. Pods that only wait for room cannot be ended. */
  #couldFit(pod: Pod, others: readonly Pod[], promised: readonly Pod[]): boolean {
    if (takenPorts(pod, [...others, ...promised]).length > 0 || pod.spec.nodeSelector !== undefined)
      return false;
    const staying = isCriticalPod(pod) ? others.filter((other) => !this.#mayBePreempted(pod, other)) : others;
    const { allocatable } = this.#options.nodeFacts();
    return admissionObstacles(pod, [...staying, ...promised], allocatable).length === 0;
  }

  /** Devices are set aside for pods that are still being admitted, too. */
  #lacksParts(pod: Pod): boolean {
    const { devices, placement } = this.#options;
    const others = this.#records.known().filter(({ uid }) => uid !== pod.metadata.uid);
    if (placement?.mayLack(pod, podsOf(others)) === true) return true;
    return devices?.hasJustFailed(pod) === true || (devices?.lacking(pod, podsOf(others)) ?? []).length > 0;
  }

  #mayBePreempted(preemptor: Pod, other: Pod): boolean {
    const record = this.#records.get(other.metadata.uid);
    return isPreemptable(preemptor, other) && (record === undefined || !this.#records.isOverdue(record));
  }

  #violated(invariant: string, { uid, pod }: Subject, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, uid, what, ...(pod && { name: pod.metadata.name }) });
  }
}

/** Reasons of pods that cannot have devices, CPUs or memory for themselves. */
const OF_PARTS: ReadonlySet<string> = new Set([
  'UnexpectedAdmissionError',
  'SMTAlignmentError',
  'TopologyAffinityError',
]);

const reasonOf = (obstacle: string): string =>
  obstacle.startsWith('port ') ? 'NodePorts' : `OutOf${obstacle}`;
