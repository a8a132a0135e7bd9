/** Rules of preemption that are checked without the machine, by the events that pods get and by the pods that run then. */
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import type { PreemptionEvent } from '../../../src/agent/machines/preemption-machine.ts';
import { Counts } from '../coverage.ts';
import { CPUS, type PreemptionState, uidOf } from './preemption-environment.ts';

const PREEMPTOR = uidOf('preemptor');
const CPUS_BY_UID = new Map(Object.entries(CPUS).map(([name, cpus]) => [`uid-of-${name}`, cpus]));

export class PreemptionRules {
  readonly #broken: string[] = [];
  readonly #chosen = new Counts();
  readonly #failures = new Counts();
  readonly #kills = new Counts();
  /** The numbers of recorded events, by reason and UID. */
  readonly #records = new Counts();
  #mayStart = false;
  #decisions = 0;
  #state: PreemptionState['value'] = 'Idle';

  /** The actor has received the event, and is in this state now. */
  took(event: PreemptionEvent, { value }: PreemptionState): void {
    this.#state = value;
    if (event.type === 'VICTIM_FAILED') this.#failures.add(event.uid);
    if (event.type === 'NO_VICTIMS') this.#decisions += 1;
    if (event.type !== 'VICTIMS_SELECTED' || event.awaited.length === 0) return;
    this.#decisions += 1;
    for (const { candidate } of event.decision.victims) this.#chosen.add(candidate.uid);
  }

  podTold(uid: string, event: PodEvent): void {
    if (event.type === 'SyncPodKill' && event.options?.podStatus?.reason === 'Preempting') {
      const { evict, podTerminationGracePeriodSecondsOverride: graceSeconds } = event.options;
      this.#kills.add(uid);
      if (evict !== true || graceSeconds !== undefined)
        this.#broken.push(`${uid} is not evicted in its own time`);
    }
    // A deletion comes from the source of the pod.
    const isUpdated = event.type === 'SyncPodUpdate' && event.pod.metadata.deletionTimestamp === undefined;
    if (isUpdated && uid !== PREEMPTOR && this.#chosen.of(uid) > 0)
      this.#broken.push(`I9 ${uid}: it is changed by more than a kill`);
    if (event.type === 'ADMITTED' && uid === PREEMPTOR) this.#mayStart = true;
  }

  recorded(uid: string, reason: string): void {
    this.#records.add(`${reason} ${uid}`);
  }

  decisionTold(uid: string): void {
    this.#records.add(`decision ${uid}`);
  }

  /** `runs`: UIDs of pods that run in the runtime. `cpus`: CPUs of the node when the preemptor was admitted. */
  broken(runs: readonly string[], cpus: number): readonly string[] {
    const runningCpus = runs.reduce((sum, uid) => sum + (CPUS_BY_UID.get(uid) ?? 0), 0);
    return [
      ...this.#broken,
      ...[...CPUS_BY_UID.keys()].flatMap((uid) => this.#brokenFor(uid)),
      ...(runningCpus > cpus ? [`${runs.join()} run, on ${cpus} CPUs`] : []),
      ...(this.#decisions > 0 && this.#records.of(`decision ${PREEMPTOR}`) === 0
        ? ['no decision has been told']
        : []),
      ...(this.#mayStart && this.#state !== 'Idle' ? ['the preemptor does not wait for its room'] : []),
      ...(!this.#mayStart && runs.includes(PREEMPTOR) ? ['the preemptor has started unasked'] : []),
    ];
  }

  #brokenFor(uid: string): readonly string[] {
    const chosen = this.#chosen.of(uid);
    const found = {
      [`I9 ${uid}: chosen ${chosen} times, killed ${this.#kills.of(uid)} times`]:
        this.#kills.of(uid) !== chosen,
      [`${uid}: nobody is told that it goes`]: this.#records.of(`Preempting ${uid}`) !== chosen,
      [`${uid}: nobody is told that it does not end`]:
        this.#records.of(`ExceededGracePeriod ${uid}`) !== this.#failures.of(uid),
    };
    return Object.keys(found).filter((what) => found[what]);
  }
}
