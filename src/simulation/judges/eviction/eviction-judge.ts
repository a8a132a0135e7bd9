/** Compares eviction with what really runs and what it uses: which pod is evicted when something is short, and that it is one at a time. */
import type { EvictionEvent } from '../../../agent/machines/eviction-machine.ts';
import type { NodeReclaim } from '../../../agent/policies/eviction/file-system-parts.ts';
import type { Eviction } from '../../../agent/policies/eviction/pass.ts';
import {
  type EvictionSignal,
  PRESSURE_CONDITIONS,
  type PressureCondition,
} from '../../../agent/policies/eviction/signals.ts';
import { isCriticalPod } from '../../../agent/policies/pod/pod-kinds.ts';
import { podQOS } from '../../../agent/policies/pod/qos.ts';
import type { CallUnderWay } from '../../runtime/witness.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { exceededLimits, goesBefore } from './eviction-order.ts';
import { EvictionVictims, type KillEvent } from './eviction-victims.ts';
import { isEndingOrEnded, isNeverEvicted, type PodRecord, type PodRecords } from '../pod-records.ts';
import { isBeforeStart, isTerminated } from '../pod-states.ts';
import { ReclaimJudge } from './reclaim-judge.ts';
import { type EvictionRules, isHard } from '../../resources/eviction-rules.ts';
import type { NodeUse, RunningTruth, StorageUse } from '../../resources/node-use.ts';
import { isOfMemory, isShort, Shortages } from './shortages.ts';

/** The truth about a node that evicts. */
export interface EvictionTruth {
  readonly rules: EvictionRules;
  readonly runtime: RunningTruth;
  /** What the pod has on disk now; undefined on a node whose disks never get full. */
  readonly storageOf: (uid: string) => StorageUse | undefined;
}

export interface EvictionJudgeOptions {
  readonly now: () => number;
  readonly tenants: PodRecords;
  readonly truth: EvictionTruth;
  readonly violated: (
    invariant: string,
    subject: { uid: string; pod?: Pod | undefined },
    what: string,
  ) => void;
}

/** What the eviction actor shows. */
export interface EvictionView {
  /** `Observing`. */
  readonly pass: string;
  /** Memory alone is being measured. */
  readonly isMeasuringMemory: boolean;
  readonly conditions: readonly PressureCondition[];
}

/** While a pod ends that has less time than this, no other pod is evicted. */
const NEAR_END_SECONDS = 60;
/** Disk usage takes time to measure; a victim is chosen by figures that are no older than this. */
const STORAGE_MAX_AGE_MS = 1_000;
/** The node is measured every ten seconds, and measuring does not take long when nothing goes wrong. */
const LONGEST_SILENCE_MS = 30_000;
const NODE = { uid: '' };

export class EvictionJudge {
  readonly #options: EvictionJudgeOptions;
  readonly #shortages: Shortages;
  readonly #victims: EvictionVictims;
  readonly #reclaims: ReclaimJudge;
  #view: EvictionView | undefined;
  /** The figures that the agent has received since the last decision. */
  #received: NodeUse | undefined;
  #receivedOfPods: NodeUse | undefined;
  #question = 0;
  /** Unix ms. */
  #receivedAt: number;
  /** UIDs of the pods that ran when the pass began. */
  #running: ReadonlySet<string> = new Set();
  /** In this pass pods are evicted for limits of their own. */
  #isForLimits = false;

  constructor(options: EvictionJudgeOptions) {
    this.#options = options;
    const { now, tenants, truth } = options;
    this.#receivedAt = now();
    this.#shortages = new Shortages(truth.rules);
    const violated: EvictionJudgeOptions['violated'] = (...violation) => this.#violated(...violation);
    this.#victims = new EvictionVictims({ now, violated });
    this.#reclaims = new ReclaimJudge({
      now,
      tenants,
      truth: truth.runtime,
      violated: (subject, what) => violated('eviction', subject, what),
    });
  }

  /** The agent measures the node; the result is called with the figures that it receives. */
  measures(): (use: NodeUse, isWhole: boolean) => void {
    const question = this.#question;
    return (use, isWhole) => {
      this.#receivedAt = this.#options.now();
      if (question !== this.#question) return;
      this.#received = use;
      if (isWhole) this.#receivedOfPods = use;
    };
  }

  /** Dead containers or images are being removed; the result is called when that is over. */
  reclaims(what: NodeReclaim): () => void {
    const ended = this.#reclaims.begins(what);
    return () => {
      // Not if a pass for memory has begun meanwhile.
      const isWaitedFor = this.#view?.pass === 'ReclaimingNode';
      ended(isWaitedFor);
      if (isWaitedFor) this.#asks();
    };
  }

  /** The reclaimer has begun this call. */
  removes(call: CallUnderWay): void {
    this.#reclaims.callBegan(call);
  }

  /** The event has been sent to the eviction actor, which has not acted on it yet. */
  hears(event: EvictionEvent): void {
    switch (event.type) {
      case 'EVALUATED':
        this.#evaluated(event.evaluation.overLimit);
        this.#asks();
        break;
      case 'NODE_RECLAIMED':
        this.#checkReclaim(event.shortage !== undefined);
        this.#asks();
        break;
      case 'RANKED':
        if (event.choice.eviction !== undefined) this.#decided(event.choice.eviction);
        break;
      case 'RELIEVED':
        this.#checkRelief();
        break;
      case 'POD_ENDED':
        this.#victims.ended(event.uid);
        break;
      case 'POD_FAILED':
        this.#victims.failed(event.uid);
        break;
      case 'POD_GONE':
        this.#victims.gone(event.uid);
        break;
      default:
    }
  }

  /** What the eviction actor shows after the event. */
  shows(event: EvictionEvent, view: EvictionView): void {
    const wasEvaluating = this.#view?.pass === 'Evaluating';
    this.#view = view;
    // The next pass can begin with the event that ends the one before.
    const begins =
      view.pass === 'Evaluating' &&
      (!wasEvaluating || event.type === 'EVALUATED' || event.type === 'OBSERVATION_FAILED');
    if (event.type === 'EVALUATED') {
      this.#checkPressure(view);
      this.#checkCourse(view, begins);
    }
    if (begins) this.#begins();
  }

  /** I9: an evicted pod was chosen before, and gets SyncPodKill. */
  killed(tenant: PodRecord, event: KillEvent): void {
    this.#victims.killed(tenant, event);
  }

  /** Whether the pod is rejected because of a pressure condition. Each pass checks the conditions themselves. */
  turnsAway(pod: Pod): boolean {
    const conditions = this.#view?.conditions ?? [];
    if (conditions.length === 0 || isCriticalPod(pod)) return false;
    return conditions.some((condition) => condition !== 'MemoryPressure') || podQOS(pod) === 'BestEffort';
  }

  /** Why eviction is not at rest, if so. */
  get unrest(): string | undefined {
    const { now, tenants, truth } = this.#options;
    if (this.#view !== undefined && this.#view.pass !== 'Observing')
      return `a pass of eviction is in ${this.#view.pass}`;
    if (now() > this.#receivedAt + LONGEST_SILENCE_MS) return 'the node has not been measured for too long';
    const over = tenants
      .known()
      .find((one) => this.#mayGo(one) && this.#exceeded(one, truth.storageOf(one.uid)));
    return over && `${over.uid} exceeds a limit of its storage, and is not evicted`;
  }

  #begins(): void {
    this.#victims.passBegins();
    this.#reclaims.passBegins();
    this.#running = new Set(this.#candidates().map(({ uid }) => uid));
    this.#asks();
  }

  #asks(): void {
    this.#question += 1;
    this.#received = undefined;
    this.#receivedOfPods = undefined;
  }

  #evaluated(overLimit: readonly Eviction[]): void {
    const use = this.#received;
    this.#isForLimits = overLimit.length > 0;
    if (use === undefined) {
      this.#violated('eviction', NODE, 'a pass uses figures that are older than the pass');
      return;
    }
    this.#shortages.evaluated(use, this.#options.now());
    for (const eviction of overLimit) this.#goesForLimit(eviction, use);
    const goes = new Set(overLimit.map(({ pod }) => pod.uid));
    for (const tenant of this.#candidates()) {
      const { uid } = tenant;
      if (!this.#running.has(uid) || goes.has(uid)) continue;
      if (this.#exceeded(tenant, use.pods.get(uid)?.storage))
        this.#violated('eviction', tenant, 'exceeds a limit of its storage, and is not evicted');
    }
  }

  #goesForLimit(eviction: Eviction, use: NodeUse): void {
    const { uid } = eviction.pod;
    const tenant = this.#known(eviction);
    if (tenant === undefined) return;
    const storage = use.pods.get(uid)?.storage;
    const { layout } = this.#options.truth.rules;
    const exceeded = tenant.pod && storage ? exceededLimits(tenant.pod, storage, layout) : [];
    const all = [
      this.#misplaced(tenant),
      exceeded.includes(eviction.signal)
        ? undefined
        : `is evicted for ${eviction.signal}, and does not exceed it`,
      eviction.gracePeriodSeconds === 1 ? undefined : 'is evicted for a limit, and not at once',
    ];
    for (const what of all) if (what !== undefined) this.#violated('eviction', tenant, what);
    this.#victims.chosen(tenant, eviction);
  }

  #checkPressure({ conditions }: EvictionView): void {
    for (const condition of PRESSURE_CONDITIONS) {
      const isPressure = this.#shortages.holds(condition, this.#options.now());
      if (isPressure === conditions.includes(condition)) continue;
      const what = isPressure
        ? `there is no ${condition}, though something is short`
        : `${condition} is stuck`;
      this.#violated('eviction', NODE, what);
    }
  }

  /** A pass goes on if something has been short for long enough, and only then. */
  #checkCourse({ pass, isMeasuringMemory }: EvictionView, isNext: boolean): void {
    const due = this.#shortages.due();
    const [first] = due;
    // Memory that has been reported short is measured before anything is removed from disks.
    if (isNext && isMeasuringMemory && !this.#isForLimits && !due.some(({ signal }) => isOfMemory(signal)))
      return;
    const isOver = isNext || pass === 'Observing';
    if (this.#isForLimits) {
      if (pass !== 'Evicting')
        this.#violated('eviction', NODE, `limits are exceeded, and the pass is in ${pass}`);
    } else if (first !== undefined && isOver)
      this.#violated('eviction', NODE, `nothing is done, though ${first.signal} is short`);
    else if (first === undefined && !isOver)
      this.#violated('eviction', NODE, `the pass is in ${pass}, though nothing is short`);
  }

  /** Whether enough was removed, by figures that were taken after it. */
  #checkReclaim(goesOn: boolean): void {
    const use = this.#received;
    if (use === undefined) {
      if (!goesOn) this.#violated('eviction', NODE, 'enough was said to be removed, and it was not measured');
      return;
    }
    if (goesOn === !this.#shortages.isOver(use)) return;
    const what = goesOn
      ? 'enough was removed, and a pod is evicted'
      : 'not enough was removed, and no pod is evicted';
    this.#violated('eviction', NODE, what);
  }

  /** If the pass evicts no pod any more, the shortage is over, or could not be measured. */
  #checkRelief(): void {
    const use = this.#receivedOfPods;
    if (use === undefined) return;
    if (this.#shortages.due().every((rule) => isShort(rule, use)))
      this.#violated('eviction', NODE, 'no pod is evicted, though the shortage is as before');
  }

  #decided(eviction: Eviction): void {
    const victim = this.#known(eviction);
    if (victim === undefined) return;
    const use = this.#receivedOfPods;
    const signal = eviction.signal as EvictionSignal;
    const { layout } = this.#options.truth.rules;
    const all = [
      this.#misplaced(victim),
      this.#beside(victim),
      this.#isForLimits ? 'is evicted in a pass in which others exceed their limits' : undefined,
      this.#reclaims.missing(signal, layout),
      use === undefined
        ? 'is evicted by figures that are older than the choice'
        : this.#unfit(victim, eviction, use),
      use && this.#overtaken(victim, signal, use),
    ];
    for (const what of all) if (what !== undefined) this.#violated('eviction', victim, what);
    this.#victims.chosen(victim, eviction);
  }

  #known({ pod }: Eviction): PodRecord | undefined {
    const tenant = this.#options.tenants.get(pod.uid);
    if (tenant === undefined) this.#violated('eviction', pod, 'is evicted, and is not known');
    return tenant;
  }

  /** Why the pod cannot be evicted, if so. */
  #misplaced(victim: PodRecord): string | undefined {
    if (this.#victims.isGivenUp(victim.uid)) return 'is evicted again, though it has been given up';
    // A pod that has been ending for too long may be evicted, with a shorter grace period.
    const isLate = this.#options.tenants.isOverdue(victim) && !isTerminated(victim.state);
    return isEndingOrEnded(victim) && !isLate ? `is evicted, and is in ${victim.state}` : undefined;
  }

  /** Pods are evicted one by one, and not while another pod is about to end. */
  #beside(victim: PodRecord): string | undefined {
    const { tenants } = this.#options;
    const other = tenants
      .known()
      .find(
        (tenant) =>
          tenant !== victim &&
          isEndingOrEnded(tenant) &&
          !isTerminated(tenant.state) &&
          !tenants.isOverdue(tenant) &&
          tenant.graceSeconds <= NEAR_END_SECONDS &&
          !this.#victims.isGivenUp(tenant.uid),
      );
    return other && `is evicted while ${other.uid} is in ${other.state}`;
  }

  /** Why the pod need not be evicted, or not like that, if so. */
  #unfit(
    { uid, pod }: PodRecord,
    { signal, gracePeriodSeconds }: Eviction,
    use: NodeUse,
  ): string | undefined {
    if (!use.pods.has(uid)) return 'is evicted, and uses nothing';
    const rule = this.#shortages.ruleFor(signal as EvictionSignal);
    if (typeof rule === 'string') return rule;
    if (!isShort(rule, use)) return `is evicted for ${signal}, of which enough is left`;
    if (isOfDisk(signal) && isOldOnDisk(use)) return 'is evicted by what pods had on disk some time before';
    const own = pod?.spec.terminationGracePeriodSeconds ?? Infinity;
    const allowed = isHard(rule) ? 1 : Math.min(own, this.#options.truth.rules.maxPodGracePeriodSeconds);
    return gracePeriodSeconds === allowed
      ? undefined
      : `is given ${String(gracePeriodSeconds)} s to end, not ${String(allowed)} s`;
  }

  /** Which pod has to be evicted before this one, if any. */
  #overtaken(victim: PodRecord, signal: EvictionSignal, use: NodeUse): string | undefined {
    const cause = { signal, layout: this.#options.truth.rules.layout };
    const other = this.#candidates().find(
      (tenant) => tenant !== victim && use.pods.has(tenant.uid) && goesBefore(tenant, victim, cause, use),
    );
    return other && `is evicted before ${other.uid}`;
  }

  #candidates(): readonly PodRecord[] {
    return this.#options.tenants.known().filter((tenant) => this.#mayGo(tenant));
  }

  #mayGo(tenant: PodRecord): boolean {
    const { uid, state } = tenant;
    return (
      !isNeverEvicted(tenant) &&
      !isEndingOrEnded(tenant) &&
      !this.#victims.isGivenUp(uid) &&
      !isBeforeStart(state)
    );
  }

  #exceeded({ pod }: PodRecord, storage: StorageUse | undefined): boolean {
    if (pod === undefined || storage === undefined) return false;
    return exceededLimits(pod, storage, this.#options.truth.rules.layout).length > 0;
  }

  #violated(...violation: Parameters<EvictionJudgeOptions['violated']>): void {
    this.#options.violated(...violation);
  }
}

function isOfDisk(signal: string): boolean {
  return signal.includes('fs.');
}

function isOldOnDisk({ atMs, pods }: NodeUse): boolean {
  return [...pods.values()].some(({ storage }) => storage && storage.atMs < atMs - STORAGE_MAX_AGE_MS);
}
