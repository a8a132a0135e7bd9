/** Holds the making of room for critical pods against what the pods really take: who goes for whom, and that they go. */
import type { PodEvent } from '../../machines/pod-machine.ts';
import type { PreemptionEvent } from '../../machines/preemption-machine.ts';
import { isCriticalPod, isPreemptable } from '../../policies/pod/pod-kinds.ts';
import { PREEMPTING, PREEMPTING_MESSAGE } from '../../policies/preemption/preemption-message.ts';
import { podQOS } from '../../policies/pod/qos.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { AWAITING_START } from './pod-states.ts';
import { shortResources, takenPorts } from './room.ts';
import { isEnding, isTerminated, patienceMs, podsOf, type Tenant, type Tenants } from './tenants.ts';

export interface PreemptionJudgeOptions {
  readonly now: () => number;
  readonly nodeFacts: () => NodeFacts;
  readonly tenants: Tenants;
  readonly violated: (invariant: string, tenant: Tenant, what: string) => void;
}

type KillEvent = Extract<PodEvent, { readonly type: 'SyncPodKill' }>;
type Decision = Extract<PreemptionEvent, { readonly type: 'VICTIMS_SELECTED' }>;

/** Room that is being made for one pod. */
interface Making {
  isPromised: boolean;
  /** By UID of those that are waited for, until when at the latest, Unix ms. */
  readonly deadlines: Map<string, number>;
  /** UIDs of those that have not ended in time. */
  readonly givenUp: Set<string>;
}

/** As it is when it is decided who goes for a pod. */
interface Scene {
  readonly preemptor: Tenant;
  readonly victims: readonly Tenant[];
  /** Those that keep their room: for certain, and as far as the agent may know. */
  readonly certain: readonly Tenant[];
  readonly possible: readonly Tenant[];
  /** The others that room is promised to. */
  readonly promised: readonly Tenant[];
}

export class PreemptionJudge {
  readonly #options: PreemptionJudgeOptions;
  readonly #makings = new Map<string, Making>();
  /** Those that were chosen to go, and have not been told yet. */
  readonly #chosen = new Set<Tenant>();

  constructor(options: PreemptionJudgeOptions) {
    this.#options = options;
  }

  /** The name of a pod for which room is being made, if there is one. */
  get unsettled(): string | undefined {
    const [uid] = this.#makings.keys();
    return uid === undefined ? undefined : (this.#options.tenants.get(uid)?.pod?.metadata.name ?? uid);
  }

  /** Those that room is promised to. */
  promised(): readonly Tenant[] {
    return [...this.#makings].flatMap(([uid, { isPromised }]) => {
      const tenant = this.#options.tenants.get(uid);
      return isPromised && tenant?.isGone === false ? [tenant] : [];
    });
  }

  /** I9: who goes for another pod was chosen for that, and is told by a kill. */
  killed(tenant: Tenant, { options }: KillEvent): void {
    const { reason, message } = options?.podStatus ?? {};
    if (reason !== PREEMPTING || message !== PREEMPTING_MESSAGE) return;
    tenant.isPreempted = true;
    if (!this.#chosen.delete(tenant))
      this.#options.violated('I9', tenant, 'is ended for another pod, and was not chosen');
  }

  /** The actor that makes room for the pod is told this. */
  hears(uid: string, event: PreemptionEvent): void {
    if (event.type === 'PREEMPT')
      this.#makings.set(uid, { isPromised: false, deadlines: new Map(), givenUp: new Set() });
    const [making, tenant] = [this.#makings.get(uid), this.#options.tenants.get(uid)];
    if (making === undefined || tenant === undefined) return;
    if (tenant.isGone && event.type !== 'PREEMPTOR_GONE')
      this.#options.violated('preemption', tenant, `${event.type}, though it is gone`);
    switch (event.type) {
      case 'VICTIMS_SELECTED':
        this.#decided(tenant, event);
        this.#awaits(making, event);
        break;
      case 'VICTIM_ENDED':
        this.#checkEnd(making, event.uid);
        break;
      case 'VICTIM_FAILED':
        this.#checkFailure(making, event.uid);
        break;
      case 'STILL_SHORT':
        making.isPromised = false;
        break;
      case 'ADMITTED':
      case 'REJECTED':
      case 'PREEMPTOR_GONE':
        this.#makings.delete(uid);
        break;
      default:
    }
  }

  #awaits({ deadlines, givenUp }: Making, { awaited }: Decision): void {
    const { now, tenants, violated } = this.#options;
    deadlines.clear();
    for (const uid of awaited) {
      const tenant = tenants.get(uid);
      deadlines.set(uid, now() + patienceMs(tenant?.graceSeconds ?? Infinity));
      if (givenUp.has(uid) && tenant !== undefined)
        violated('preemption', tenant, 'is waited for again, though it has been given up');
    }
  }

  /** Who counts as ended has ended, and in time. */
  #checkEnd({ deadlines }: Making, uid: string): void {
    const { now, tenants, violated } = this.#options;
    const [deadline = Infinity, tenant] = [deadlines.get(uid), tenants.get(uid)];
    if (tenant === undefined) return;
    if (now() > deadline) violated('preemption', tenant, 'is waited for longer than it may take to end');
    queueMicrotask(() => {
      if (!tenant.isGone && !isTerminated(tenant.state))
        violated('preemption', tenant, `counts as ended in ${tenant.state}`);
    });
  }

  #checkFailure({ deadlines, givenUp }: Making, uid: string): void {
    const { now, tenants, violated } = this.#options;
    const [deadline = Infinity, tenant] = [deadlines.get(uid), tenants.get(uid)];
    givenUp.add(uid);
    if (tenant !== undefined && now() < deadline)
      violated('preemption', tenant, 'is given up before its time');
  }

  /** Others go for a pod that waits, is short of nothing but room, and would have it then; and all of them have to. */
  #decided(preemptor: Tenant, { decision, awaited }: Decision): void {
    const { tenants, violated } = this.#options;
    const victims = decision.victims.flatMap(({ candidate }) => tenants.get(candidate.uid) ?? []);
    const scene = this.#scene(preemptor, victims);
    const { state, hasPlace } = preemptor;
    const early = [
      hasPlace || state !== AWAITING_START ? `has room made for it in ${state}` : undefined,
      ...victims.map(misplaced),
    ];
    // The actor of a pod that has just come shows a moment later which pod it is.
    queueMicrotask(() => {
      const late = [this.#unfit(scene), ...victims.map((victim) => misfit(preemptor, victim))];
      for (const what of [...early, ...late, this.#tooFew(scene), this.#tooMany(scene)])
        if (what !== undefined && victims.length > 0) violated('preemption', preemptor, what);
    });
    const making = this.#makings.get(preemptor.uid);
    if (making !== undefined) making.isPromised = awaited.length > 0;
    this.#expectKills(victims);
  }

  #scene(preemptor: Tenant, victims: readonly Tenant[]): Scene {
    const { tenants } = this.#options;
    return {
      ...{ preemptor, victims },
      certain: tenants.holders().filter((other) => !isEnding(other)),
      possible: tenants.possibleHolders().filter((other) => !isEnding(other) || tenants.isOverdue(other)),
      promised: this.promised().filter((other) => other !== preemptor),
    };
  }

  #unfit({ preemptor: { pod }, certain }: Scene): string | undefined {
    if (pod === undefined || !isCriticalPod(pod)) return 'has room made for it, and is not critical';
    if (pod.spec.nodeSelector !== undefined) return 'has room made for it, and may not run here';
    const [port] = takenPorts(pod, podsOf(certain));
    return port === undefined ? undefined : `has room made for it, and port ${String(port)} is not free`;
  }

  #tooFew({ preemptor, victims, certain }: Scene): string | undefined {
    const others = certain.filter((other) => !victims.includes(other));
    const short = this.#short(preemptor, others);
    return short.length === 0 ? undefined : `others go for it, and it stays short of ${short.join()}`;
  }

  /**
   * Each goes because those before it of its class, and all of the other classes, do not free enough, with what is coming
   * free anyway. What was promised to others is theirs.
   */
  #tooMany({ preemptor, victims, possible, promised }: Scene): string | undefined {
    const idle = victims.find((victim, index) => {
      const gone = victims.filter((other, place) => place < index || classOf(other) !== classOf(victim));
      const others = possible.filter((other) => !gone.includes(other));
      return this.#short(preemptor, [...others, ...promised]).length === 0;
    });
    return idle && `${idle.pod?.metadata.name ?? idle.uid} goes for it, and need not`;
  }

  /** Of what the pod would be short beside the others. */
  #short({ pod }: Tenant, others: readonly Tenant[]): string[] {
    if (pod === undefined) return [];
    return shortResources(pod, podsOf(others), this.#options.nodeFacts().allocatable);
  }

  #expectKills(victims: readonly Tenant[]): void {
    for (const victim of victims) this.#chosen.add(victim);
    queueMicrotask(() => {
      for (const victim of victims)
        if (this.#chosen.delete(victim))
          this.#options.violated('I9', victim, 'was chosen to go, and is not told by SyncPodKill');
    });
  }
}

/** Why the pod cannot go for another one, if so. */
function misplaced(victim: Tenant): string | undefined {
  const { uid, state, hasPlace, isStranger } = victim;
  if (isEnding(victim)) return `${uid} is to go for it, and is in ${state}`;
  return hasPlace || isStranger ? undefined : `${uid} is to go for it, and has no room`;
}

/** Why the pod must not go for the other one, if so. */
function misfit(preemptor: Tenant, victim: Tenant): string | undefined {
  const { pod, uid } = victim;
  if (preemptor.pod === undefined || pod === undefined) return undefined;
  if (!mayPreempt(preemptor, victim)) return `${uid} is to go for it, and may not be preempted by it`;
  const isLess = (pod.spec.priority ?? 0) < (preemptor.pod.spec.priority ?? 0);
  return isCriticalPod(pod) && !isLess ? `${uid} is to go for it, and is as critical` : undefined;
}

export function mayPreempt({ pod }: Tenant, other: Tenant): boolean {
  return pod !== undefined && other.pod !== undefined && isPreemptable(pod, other.pod);
}

const classOf = ({ pod }: Tenant): string => (pod === undefined ? '' : podQOS(pod));
