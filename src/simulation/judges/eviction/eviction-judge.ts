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
import { EvictionChoice, type EvictionTruth } from './eviction-choice.ts';
import { exceededLimits } from './eviction-order.ts';
import { EvictionVictims, type KillEvent } from './eviction-victims.ts';
import type { PodRecord, PodRecords } from '../pod-records.ts';
import { ReclaimJudge } from './reclaim-judge.ts';
import type { NodeUse } from '../../resources/node-use.ts';
import { isOfMemory, isShort, Shortages } from './shortages.ts';

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

/** The node is measured every ten seconds, and measuring does not take long when nothing goes wrong. */
const LONGEST_SILENCE_MS = 30_000;
const NODE = { uid: '' };

export class EvictionJudge {
  readonly #options: EvictionJudgeOptions;
  readonly #shortages: Shortages;
  readonly #victims: EvictionVictims;
  readonly #reclaims: ReclaimJudge;
  readonly #choice: EvictionChoice;
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
    this.#choice = new EvictionChoice({ tenants, truth, victims: this.#victims, shortages: this.#shortages });
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
      .find((one) => this.#choice.mayGo(one) && this.#choice.exceeds(one, truth.storageOf(one.uid)));
    return over && `${over.uid} exceeds a limit of its storage, and is not evicted`;
  }

  #begins(): void {
    this.#victims.passBegins();
    this.#reclaims.passBegins();
    this.#running = new Set(this.#choice.candidates().map(({ uid }) => uid));
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
    for (const tenant of this.#choice.candidates()) {
      const { uid } = tenant;
      if (!this.#running.has(uid) || goes.has(uid)) continue;
      if (this.#choice.exceeds(tenant, use.pods.get(uid)?.storage))
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
      this.#choice.misplaced(tenant),
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
    const signal = eviction.signal as EvictionSignal;
    const all = [
      ...this.#choice.objections(victim, eviction, this.#receivedOfPods),
      this.#isForLimits ? 'is evicted in a pass in which others exceed their limits' : undefined,
      this.#reclaims.missing(signal, this.#options.truth.rules.layout),
    ];
    for (const what of all) if (what !== undefined) this.#violated('eviction', victim, what);
    this.#victims.chosen(victim, eviction);
  }

  #known({ pod }: Eviction): PodRecord | undefined {
    const tenant = this.#options.tenants.get(pod.uid);
    if (tenant === undefined) this.#violated('eviction', pod, 'is evicted, and is not known');
    return tenant;
  }

  #violated(...violation: Parameters<EvictionJudgeOptions['violated']>): void {
    this.#options.violated(...violation);
  }
}
