/** Compares preemption with what the pods really hold: which pods are chosen as victims, and that they end. */
import type { PodEvent } from '../../agent/machines/pod-machine.ts';
import type { PreemptionEvent } from '../../agent/machines/preemption-machine.ts';
import { isCriticalPod, isPreemptable } from '../../agent/policies/pod/pod-kinds.ts';
import { PREEMPTING, PREEMPTING_MESSAGE } from '../../agent/policies/preemption/preemption-message.ts';
import { podQOS } from '../../agent/policies/pod/qos.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { grownResources, insufficientResources, takenPorts } from './admission-obstacles.ts';
import { isEndingOrEnded, patienceMs, podsOf, type PodRecord, type PodRecords } from './pod-records.ts';
import { isBeforeStart, isTerminated } from './pod-states.ts';

export interface PreemptionJudgeOptions {
  readonly now: () => number;
  readonly nodeFacts: () => NodeFacts;
  readonly records: PodRecords;
  /** The pod as its source wants it: one that runs may ask for more than it has. */
  readonly desired: (uid: string) => Pod | undefined;
  readonly violated: (invariant: string, record: PodRecord, what: string) => void;
}

type KillEvent = Extract<PodEvent, { readonly type: 'SyncPodKill' }>;
type Decision = Extract<PreemptionEvent, { readonly type: 'VICTIMS_SELECTED' }>;

/** The preemption for one pod. */
interface Preemption {
  /** The room that is being freed is promised to the pod. */
  isPromised: boolean;
  /** By UID of the awaited victims: when the agent stops waiting for them, Unix ms. */
  readonly deadlines: Map<string, number>;
  /** UIDs of victims that did not end in time. */
  readonly givenUp: Set<string>;
}

/** The node at the moment in which victims are chosen. */
interface Choice {
  readonly preemptor: PodRecord;
  readonly victims: readonly PodRecord[];
  /** Pods that certainly keep their room. */
  readonly certain: readonly PodRecord[];
  /** Pods that keep their room as far as the agent may know. */
  readonly possible: readonly PodRecord[];
  /** The other pods that room is promised to. */
  readonly promised: readonly PodRecord[];
  /** Of the node, when it was decided. */
  readonly allocatable: NodeFacts['allocatable'];
}

export class PreemptionJudge {
  readonly #options: PreemptionJudgeOptions;
  readonly #preemptions = new Map<string, Preemption>();
  /** Victims that have not been told to end yet. */
  readonly #chosen = new Set<PodRecord>();

  constructor(options: PreemptionJudgeOptions) {
    this.#options = options;
  }

  /** The name of a pod for which room is being made, if there is one. */
  get unfinished(): string | undefined {
    const [uid] = this.#preemptions.keys();
    return uid === undefined ? undefined : (this.#options.records.get(uid)?.pod?.metadata.name ?? uid);
  }

  /** The pods other than this one that room is promised to, with what they ask for. */
  promisedBeside({ uid: own }: PodRecord): readonly PodRecord[] {
    return [...this.#preemptions].flatMap(([uid, { isPromised }]) => {
      const record = this.#options.records.get(uid);
      return isPromised && record?.isGone === false && uid !== own ? [this.#asking(record)] : [];
    });
  }

  /** A pod that has no place yet asks for what it was last granted, if it was: its resize comes after. */
  #asking(record: PodRecord): PodRecord {
    if (!record.isAdmitted && !record.mayRunUnadmitted) return record;
    return { ...record, pod: this.#options.desired(record.uid) ?? record.pod };
  }

  /** I9: a preempted pod was chosen as a victim before it is killed. */
  killed(record: PodRecord, { options }: KillEvent): void {
    const { reason, message } = options?.podStatus ?? {};
    if (reason !== PREEMPTING || message !== PREEMPTING_MESSAGE) return;
    record.isPreempted = true;
    if (!this.#chosen.delete(record))
      this.#options.violated('I9', record, 'is ended for another pod, and was not chosen');
  }

  /** The actor that makes room for the pod receives this event. */
  onEvent(uid: string, event: PreemptionEvent): void {
    if (event.type === 'PREEMPT')
      this.#preemptions.set(uid, { isPromised: false, deadlines: new Map(), givenUp: new Set() });
    const [preemption, record] = [this.#preemptions.get(uid), this.#options.records.get(uid)];
    if (preemption === undefined || record === undefined) return;
    if (record.isGone && event.type !== 'PREEMPTOR_GONE')
      this.#options.violated('preemption', record, `${event.type}, though it is gone`);
    switch (event.type) {
      case 'VICTIMS_SELECTED':
        this.#checkVictims(record, event);
        this.#awaitVictims(preemption, event);
        break;
      case 'VICTIM_ENDED':
        this.#checkEnd(preemption, event.uid);
        break;
      case 'VICTIM_FAILED':
        this.#checkFailure(preemption, event.uid);
        break;
      case 'STILL_SHORT':
        preemption.isPromised = false;
        break;
      case 'ADMITTED':
      case 'REJECTED':
      case 'PREEMPTOR_GONE':
        this.#preemptions.delete(uid);
        break;
      default:
    }
  }

  #awaitVictims({ deadlines, givenUp }: Preemption, { awaited }: Decision): void {
    const { now, records, violated } = this.#options;
    deadlines.clear();
    for (const uid of awaited) {
      const record = records.get(uid);
      deadlines.set(uid, now() + patienceMs(record?.graceSeconds ?? Infinity));
      if (givenUp.has(uid) && record !== undefined)
        violated('preemption', record, 'is waited for again, though it has been given up');
    }
  }

  /** A victim that counts as ended has ended, and in time. */
  #checkEnd({ deadlines }: Preemption, uid: string): void {
    const { now, records, violated } = this.#options;
    const [deadline = Infinity, record] = [deadlines.get(uid), records.get(uid)];
    if (record === undefined) return;
    if (now() > deadline) violated('preemption', record, 'is waited for longer than it may take to end');
    queueMicrotask(() => {
      if (!record.isGone && !isTerminated(record.state))
        violated('preemption', record, `counts as ended in ${record.state}`);
    });
  }

  #checkFailure({ deadlines, givenUp }: Preemption, uid: string): void {
    const { now, records, violated } = this.#options;
    const [deadline = Infinity, record] = [deadlines.get(uid), records.get(uid)];
    givenUp.add(uid);
    if (record !== undefined && now() < deadline)
      violated('preemption', record, 'is given up before its time');
  }

  /**
   * Victims are ended only for a critical pod that waits, lacks nothing but room, and fits once they have ended. Each of them
   * is needed.
   */
  #checkVictims(preemptor: PodRecord, { decision, awaited }: Decision): void {
    const { records, violated } = this.#options;
    const victims = decision.victims.flatMap(({ candidate }) => records.get(candidate.uid) ?? []);
    const choice = this.#choice(preemptor, victims);
    const { state, isAdmitted } = preemptor;
    const early = [
      (isAdmitted ? !this.#isToBeResized(preemptor) : !isBeforeStart(state))
        ? `has room made for it in ${state}`
        : undefined,
      ...victims.map(cannotBeVictim),
    ];
    // The actor of a new pod shows its pod a microtask later.
    queueMicrotask(() => {
      const late = [
        this.#whyNoPreemption(choice),
        ...victims.map((victim) => mustNotBeVictim(preemptor, victim)),
      ];
      for (const what of [...early, ...late, this.#remainingShortage(choice), this.#needlessVictim(choice)])
        if (what !== undefined && victims.length > 0) violated('preemption', preemptor, what);
    });
    const preemption = this.#preemptions.get(preemptor.uid);
    if (preemption !== undefined) preemption.isPromised = awaited.length > 0;
    this.#expectKills(victims);
  }

  #isToBeResized(record: PodRecord): boolean {
    const [before, after] = [record.pod, this.#asking(record).pod];
    if (before === undefined || after === undefined || isEndingOrEnded(record)) return false;
    return grownResources(before, after).length + grownResources(after, before).length > 0;
  }

  #choice(preemptor: PodRecord, victims: readonly PodRecord[]): Choice {
    const { records } = this.#options;
    const promised = this.promisedBeside(preemptor);
    const others = (holders: readonly PodRecord[], keeps: (holder: PodRecord) => boolean) =>
      holders
        .filter(({ uid }) => uid !== preemptor.uid && promised.every((other) => other.uid !== uid))
        .filter(keeps)
        // In the same turn, a resize may give back what they hold now.
        .map((holder) => ({ ...holder }));
    return {
      preemptor: this.#asking(preemptor),
      victims,
      certain: others(records.holders(), (other) => !isEndingOrEnded(other)),
      possible: others(
        records.possibleHolders(),
        (other) => !isEndingOrEnded(other) || records.isOverdue(other),
      ),
      promised,
      // Devices that containers hold count: in the same turn, the pod may get some.
      allocatable: this.#options.nodeFacts().allocatable,
    };
  }

  /** Why no room may be made for the pod, if so. */
  #whyNoPreemption({ preemptor: { pod }, certain }: Choice): string | undefined {
    if (pod === undefined || !isCriticalPod(pod)) return 'has room made for it, and is not critical';
    if (pod.spec.nodeSelector !== undefined) return 'has room made for it, and may not run here';
    const [port] = takenPorts(pod, podsOf(certain));
    return port === undefined ? undefined : `has room made for it, and port ${String(port)} is not free`;
  }

  #remainingShortage({ preemptor, victims, certain, allocatable }: Choice): string | undefined {
    const others = without(certain, victims);
    // A pod whose resize has given something back in this turn shows it now.
    const resized = others.map((other) => this.#options.records.get(other.uid) ?? other);
    const stillShort = shortOf(preemptor, resized, allocatable);
    const short = shortOf(preemptor, others, allocatable).filter((resource) => stillShort.includes(resource));
    return short.length === 0
      ? undefined
      : `other pods are ended for it, and it stays short of ${short.join()}`;
  }

  /**
   * A victim is needed if the victims before it of its QoS class, all victims of the other classes and the pods that are ending
   * anyway do not free enough. Room that is promised to other pods does not count.
   */
  #needlessVictim({ preemptor, victims, possible, promised, allocatable }: Choice): string | undefined {
    const needless = victims.find((victim, index) => {
      const gone = victims.filter((other, place) => place < index || classOf(other) !== classOf(victim));
      return shortOf(preemptor, [...without(possible, gone), ...promised], allocatable).length === 0;
    });
    return needless && `${needless.pod?.metadata.name ?? needless.uid} is ended for it, and need not be`;
  }

  #expectKills(victims: readonly PodRecord[]): void {
    for (const victim of victims) this.#chosen.add(victim);
    queueMicrotask(() => {
      for (const victim of victims)
        if (this.#chosen.delete(victim))
          this.#options.violated('I9', victim, 'was chosen as a victim, and is not told by SyncPodKill');
    });
  }
}

/** The resources of which the pod would be short beside the others. */
function shortOf(
  { pod }: PodRecord,
  others: readonly PodRecord[],
  allocatable: NodeFacts['allocatable'],
): string[] {
  return pod === undefined ? [] : insufficientResources(pod, podsOf(others), allocatable);
}

/** Why the pod cannot be a victim of any pod, if so. */
function cannotBeVictim(victim: PodRecord): string | undefined {
  const { uid, state, isAdmitted, mayRunUnadmitted } = victim;
  if (isEndingOrEnded(victim)) return `${uid} is chosen as its victim in ${state}`;
  return isAdmitted || mayRunUnadmitted ? undefined : `${uid} is chosen as its victim, and holds no room`;
}

/** Why the pod must not be a victim of this preemptor, if so. */
function mustNotBeVictim(preemptor: PodRecord, victim: PodRecord): string | undefined {
  const { pod, uid } = victim;
  if (preemptor.pod === undefined || pod === undefined) return undefined;
  if (!mayPreempt(preemptor, victim)) return `${uid} is chosen as its victim, and may not be preempted by it`;
  const isLess = (pod.spec.priority ?? 0) < (preemptor.pod.spec.priority ?? 0);
  return isCriticalPod(pod) && !isLess ? `${uid} is chosen as its victim, and is as critical` : undefined;
}

export function mayPreempt({ pod }: PodRecord, other: PodRecord): boolean {
  return pod !== undefined && other.pod !== undefined && isPreemptable(pod, other.pod);
}

function without(records: readonly PodRecord[], gone: readonly PodRecord[]): readonly PodRecord[] {
  return records.filter(({ uid }) => gone.every((other) => other.uid !== uid));
}

const classOf = ({ pod }: PodRecord): string => (pod === undefined ? '' : podQOS(pod));
