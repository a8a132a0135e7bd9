/** Rules of eviction that are checked without the machine, by the kills that pods get and by the recorded events. */
import type { EvictionEvent } from '../../../src/agent/machines/eviction-machine.ts';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import { Counts } from '../coverage.ts';
import { type EvictionSnapshot, type Role, roleOf } from './eviction-environment.ts';

const MAY_GO: ReadonlySet<string> = new Set(['first', 'second']);

export class EvictionRules {
  readonly #broken: string[] = [];
  readonly #uids = new Set<string>();
  readonly #chosen = new Counts();
  readonly #failures = new Counts();
  readonly #kills = new Counts();
  /** The numbers of recorded events, by reason and UID. */
  readonly #records = new Counts();
  readonly #ending: () => readonly string[];
  /** Pods evicted for a shortage in this pass. */
  #victims = 0;

  /** `ending`: UIDs of the pods that have been told to end and have not ended. */
  constructor(ending: () => readonly string[]) {
    this.#ending = ending;
  }

  /** A pass begins with a measurement of the node. */
  passBegins(): void {
    this.#victims = 0;
  }

  /** The actor has received the event. */
  took(event: EvictionEvent): void {
    switch (event.type) {
      case 'EVALUATED':
        for (const { pod } of event.evaluation.overLimit) this.#chosen.add(pod.uid);
        return;
      case 'RANKED':
        if (event.choice.eviction) this.#chosen.add(event.choice.eviction.pod.uid);
        return;
      case 'POD_FAILED':
        this.#failures.add(event.uid);
        return;
      default:
    }
  }

  podTold(uid: string, event: PodEvent): void {
    this.#uids.add(uid);
    if (event.type === 'SyncPodKill' && event.options?.podStatus !== undefined)
      this.#killed(uid, event.options);
    // A deletion comes from the source of the pod.
    const isUpdated = event.type === 'SyncPodUpdate' && event.pod.metadata.deletionTimestamp === undefined;
    if (isUpdated) this.#broken.push(`I9 ${uid}: it is changed by more than a kill`);
  }

  recorded(uid: string, reason: string): void {
    this.#records.add(`${reason} ${uid}`);
  }

  broken(): readonly string[] {
    return [...this.#broken, ...[...this.#uids].flatMap((uid) => this.#brokenFor(uid))];
  }

  #killed(uid: string, options: NonNullable<Extract<PodEvent, { type: 'SyncPodKill' }>['options']>): void {
    const { evict, podTerminationGracePeriodSecondsOverride: graceSeconds, podStatus } = options;
    this.#kills.add(uid);
    if (
      evict !== true ||
      graceSeconds !== 1 ||
      podStatus?.reason !== 'Evicted' ||
      podStatus.phase !== 'Failed'
    )
      this.#broken.push(`${uid} is not evicted as the kubelet would: ${JSON.stringify(options)}`);
    if (!MAY_GO.has(roleOf(uid))) this.#broken.push(`${uid} should be safe`);
    if (podStatus?.message?.startsWith('The node was low on resource: ') !== true) return;
    this.#victims += 1;
    if (this.#victims > 1) this.#broken.push(`${uid} is victim number ${this.#victims} of its pass`);
    const others = this.#ending().filter((other) => other !== uid && this.#failures.of(other) === 0);
    if (others.length > 0) this.#broken.push(`${uid} goes beside ${others.join()}`);
  }

  #brokenFor(uid: string): readonly string[] {
    const chosen = this.#chosen.of(uid);
    const killed = this.#kills.of(uid);
    const found: string[] = [];
    if (killed !== chosen) found.push(`I9 ${uid}: chosen ${chosen} times, killed ${killed} times`);
    if (chosen > 1) found.push(`${uid}: chosen ${chosen} times`);
    if (this.#records.of(`Evicted ${uid}`) !== chosen)
      found.push(`${uid}: no event tells that it is evicted`);
    if (this.#records.of(`ExceededGracePeriod ${uid}`) !== this.#failures.of(uid))
      found.push(`${uid}: no event tells that it does not end`);
    return found;
  }
}

export function isSame(a: EvictionEvent, b: EvictionEvent): boolean {
  return isEqual(essence(a), essence(b));
}

export function isEqual(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function essence(event: EvictionEvent): object {
  const { type } = event;
  switch (type) {
    case 'EVALUATED': {
      const { conditions, observedConditions, overLimit, shortage } = event.evaluation;
      const over = overLimit.map(({ pod }) => roleOf(pod.uid));
      return { type, conditions, observedConditions, over, resource: shortage?.resource };
    }
    case 'NODE_RECLAIMED':
      return { type, resource: event.shortage?.resource };
    case 'RANKED':
      return { type, victim: victimOf(event.choice) };
    default:
      return 'uid' in event ? { type, role: plainRole(event.uid) } : { type };
  }
}

export function facts({ value, context }: EvictionSnapshot): object {
  const { shortage, choice, evictions, awaited, ended, unendable, doubtsLeft } = context;
  return {
    value,
    resource: shortage?.resource,
    victim: victimOf(choice),
    evictions: evictions.map(({ pod }) => roleOf(pod.uid)),
    awaited: awaited.map(roleOf),
    ended: ended.map(roleOf),
    unendable: unendable.map(roleOf),
    doubtsLeft,
  };
}

/** For the machine, a pod that was ending already is a pod that is not evicted, like any other. */
function plainRole(uid: string): Role {
  const role = roleOf(uid);
  return role === 'leaving' ? 'stranger' : role;
}

function victimOf(choice: EvictionSnapshot['context']['choice']): Role | undefined {
  return choice?.eviction && roleOf(choice.eviction.pod.uid);
}
