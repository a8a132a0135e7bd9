/** Who has a place on a simulated node, by what the pods' actors show and the runtime knows. */
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';
import { isCriticalPriority, isMirrorPod, isStaticPod } from '../../policies/pod/pod-kinds.ts';
import { effectiveGracePeriodSeconds } from '../../policies/sync/pod-termination.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { AWAITING_START, isEndingState, stateName } from './pod-states.ts';

/** As long as the agent waits for a pod that is to make room: half as long again as it may take, and not less than this. */
const LEAST_PATIENCE_MS = 10_000;
const PATIENCE_FACTOR = 1.5;

/** One incarnation of a pod. */
export interface Tenant {
  readonly uid: string;
  readonly actor: object;
  /** As its actor was told last; undefined of a pod that only the runtime knows. */
  pod: Pod | undefined;
  state: string;
  /** It has been admitted, by this agent. */
  hasPlace: boolean;
  /** Something of it ran before this agent came, or was started by a call that nobody waited for. */
  isStranger: boolean;
  /** Its end has been on its way since, Unix ms. */
  endingSince: number | undefined;
  graceSeconds: number;
  /** It is Terminated, and everybody knows. */
  isGone: boolean;
  /** It was to go for another one. */
  isPreempted: boolean;
  /** The signal of what the node was short of, or of the limit that it exceeded, as it was to go for that. */
  evictedFor: string | undefined;
  /** Why it was not admitted. */
  rejection: string | undefined;
}

export interface TenantsOptions {
  readonly now: () => number;
  readonly isRunning: (uid: string) => boolean;
  /** UIDs of what ran when the agent came. */
  readonly found: Iterable<string>;
}

export class Tenants {
  readonly #options: TenantsOptions;
  readonly #latest = new Map<string, Tenant>();
  /** UIDs of pods of which something runs that this agent did not start, or does not know of. */
  readonly #strangers: Set<string>;

  constructor(options: TenantsOptions) {
    this.#options = options;
    this.#strangers = new Set(options.found);
  }

  get(uid: string): Tenant | undefined {
    return this.#latest.get(uid);
  }

  /** Takes down what a pod's actor shows. */
  update(actor: object, snapshot: PodSnapshot): Tenant {
    const { uid, pod, gracePeriodSeconds } = snapshot.context;
    const tenant = this.#tenant(actor, uid);
    const state = stateName(snapshot);
    tenant.pod = pod;
    tenant.graceSeconds = gracePeriodSeconds ?? effectiveGracePeriodSeconds(undefined, pod);
    if (isEndingState(state)) tenant.endingSince ??= this.#options.now();
    if (isTerminated(state) && !isTerminated(tenant.state)) this.#ended(tenant);
    tenant.state = state;
    return tenant;
  }

  /** Something of the pod runs now that this agent did not wait for. */
  landedLate(uid: string): void {
    this.#strangers.add(uid);
    const tenant = this.#latest.get(uid);
    if (tenant !== undefined) tenant.isStranger = true;
  }

  /** All that hold a place for certain. */
  holders(): readonly Tenant[] {
    return this.#living().filter(({ hasPlace, state }) => hasPlace && !isTerminated(state));
  }

  /** All that the agent may take for holders: what it found running, and what ends. */
  possibleHolders(): readonly Tenant[] {
    return this.#living().filter(
      ({ hasPlace, isStranger, state }) => hasPlace || isStranger || state !== AWAITING_START,
    );
  }

  /** A pod that ends for longer than that is not waited for any more by those who need its room. */
  isOverdue({ endingSince, graceSeconds }: Tenant): boolean {
    return endingSince !== undefined && this.#options.now() >= endingSince + patienceMs(graceSeconds);
  }

  /** All that have an actor. */
  known(): readonly Tenant[] {
    return this.#living();
  }

  #living(): readonly Tenant[] {
    return [...this.#latest.values()].filter(({ isGone, pod }) => !isGone && pod !== undefined);
  }

  #tenant(actor: object, uid: string): Tenant {
    const known = this.#latest.get(uid);
    if (known?.actor === actor) return known;
    const tenant: Tenant = {
      ...{ uid, actor, pod: undefined, state: AWAITING_START, hasPlace: false, isGone: false },
      isStranger: this.#strangers.has(uid) || this.#options.isRunning(uid),
      ...{ endingSince: undefined, graceSeconds: 0, isPreempted: false },
      ...{ evictedFor: undefined, rejection: undefined },
    };
    this.#latest.set(uid, tenant);
    return tenant;
  }

  /** What others do about an end, they do in the same breath. */
  #ended(tenant: Tenant): void {
    this.#strangers.delete(tenant.uid);
    queueMicrotask(() => (tenant.isGone = true));
  }
}

export function patienceMs(graceSeconds: number): number {
  return Math.max(LEAST_PATIENCE_MS, PATIENCE_FACTOR * graceSeconds * 1000);
}

export function isEnding({ state }: Tenant): boolean {
  return isEndingState(state) || isTerminated(state);
}

export function isTerminated(state: string): boolean {
  return state.startsWith('Terminated');
}

/** Whether the node must not do without the pod: it is never evicted. */
export function mustStay({ pod }: Tenant): boolean {
  return pod !== undefined && (isStaticPod(pod) || isMirrorPod(pod) || isCriticalPriority(priorityOf(pod)));
}

export function priorityOf(pod: Pod | undefined): number {
  return pod?.spec.priority ?? 0;
}

/** The pods of those of which it is known. */
export function podsOf(tenants: readonly Tenant[]): readonly Pod[] {
  return tenants.flatMap(({ pod }) => pod ?? []);
}
