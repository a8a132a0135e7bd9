/** The eviction actor of a node, and its effects. */
import type { ActorOptions, ActorRefFrom, AnyActorRef } from 'xstate';
import {
  type EvictionContext,
  type EvictionEvent,
  evictionMachine,
} from '../../machines/eviction-machine.ts';
import type { NodeReclaim } from '../../policies/eviction/file-system-parts.ts';
import { type EvictionExplanation, explainEviction } from '../../policies/eviction/explanation.ts';
import { type Observations, observe } from '../../policies/eviction/observations.ts';
import { chooseVictim, evaluateEviction, type Eviction } from '../../policies/eviction/pass.ts';
import { DOUBT_PERIOD_MS, MEASUREMENT_PERIOD_MS } from '../../policies/eviction/measurement-schedule.ts';
import { describeShortage } from '../../policies/eviction/ranking.ts';
import { remainingShortage, type Shortage, shortageAfterReclaim } from '../../policies/eviction/shortage.ts';
import {
  PRESSURE_CONDITIONS,
  type PressureCondition,
  type StarvedResource,
  starvedResource,
} from '../../policies/eviction/signals.ts';
import { nodePressureEventReason } from '../../policies/eviction/node-pressure.ts';
import {
  EVICTED,
  EVICTION_THRESHOLD_MET,
  evictionThresholdMetMessage,
} from '../../policies/eviction/eviction-message.ts';
import { hasStorageLimit } from '../../policies/eviction/pod-usage.ts';
import type { NodeReclaimer } from '../../runtime/node/pod-node.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EventRecorder, NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { Summary } from '../../types/stats.ts';
import { createActor } from '../agent-actor.ts';
import { EndLimits, endPatienceMs, recordExceededGracePeriod } from '../start/end-limits.ts';
import { EvictionFigures, type EvictionParts, type EvictionStats } from './eviction-figures.ts';
import { EvictionWatch } from './eviction-watch.ts';
import type { PodEntry, PodRegistry, PodSnapshot } from '../pods/pod-registry.ts';

/** How long the removal of what an evicted pod had on the disk is waited for (the kubelet's). */
const CLEANUP_PATIENCE_MS = 30_000;
/** A pod that may take longer than this to end is not waited for: it can be evicted, with a shorter grace period. */
const NEAR_END_SECONDS = 60;
/** At most this many candidates of a ranking are logged. */
const LOGGED_CANDIDATES_MAX = 10;
/** If the disks are too slow, the I/O of each pod is measured over this time. */
const IO_OVER_MS = 1_000;
/** What pods use of disks must be younger than this when a victim is chosen by it. */
const FRESH_DISK_USAGE_MS = 1_000;
const ON_DISK = { network: false, diskUsageMaxAgeMs: FRESH_DISK_USAGE_MS };
/** What a ranking needs to know, by the resource that is short; figures that it does not need are not waited for. */
const FIGURES_FOR: Readonly<Record<StarvedResource, Parameters<EvictionStats['summary']>[0]>> = {
  memory: { onlyCPUAndMemory: true },
  pids: { network: false, diskUsagePatienceMs: 0 },
  io: { network: false, diskUsagePatienceMs: 0, ioOverMs: IO_OVER_MS },
  'ephemeral-storage': ON_DISK,
  inodes: ON_DISK,
};

export interface EvictionManagerOptions extends EvictionParts {
  readonly reclaimer: NodeReclaimer | undefined;
  readonly registry: PodRegistry;
  readonly clock: Clock;
  readonly recorder: EventRecorder & NodeEventRecorder;
  /** A condition has come or gone. In a cluster the Node object tells of it, with an event. Default: an event. */
  readonly onPressure?: () => void;
  /** A pod is evicted because of that signal. */
  readonly onEvicted?: (signal: string) => void;
  /** Pods are ranked for eviction by figures of that age. */
  readonly onRanked?: (signal: string, statsAgeMs: number) => void;
  readonly nodeName: string;
  readonly logger: Logger;
  readonly parent: AnyActorRef;
  readonly inspect?: ActorOptions<typeof evictionMachine>['inspect'];
}

/** One measurement of the node. */
interface Measurement {
  readonly isOfMemoryAlone: boolean;
  /** Aborts when memory has become short meanwhile: figures that are not known by then are not waited for. */
  readonly hurried: AbortSignal;
}

export class EvictionManager {
  readonly #options: EvictionManagerOptions;
  readonly #actor: ActorRefFrom<typeof evictionMachine>;
  readonly #figures: EvictionFigures;
  readonly #watch: EvictionWatch;
  readonly #limits: EndLimits;
  /** Until everything is measured again. */
  readonly #period: Timer;
  /** Until memory is measured again because the figures did not show what the watch told. */
  readonly #doubt: Timer;
  /** Until the clean-up of evicted pods is not waited for any longer. */
  readonly #patience: Timer;
  /** UIDs of evicted pods that have ended and have not been cleaned up yet. */
  readonly #cleaning = new Set<string>();
  /** Since when pods have been seen to be ending, by UID. */
  readonly #endingSince = new Map<string, number>();
  /** Under way, also those that are not waited for any longer. */
  readonly #removals = new Map<NodeReclaim, Promise<void>>();
  /** When the last evicted pod ended. */
  #lastEndMs: number | undefined;
  /** Hurries the latest measurement; each measurement has its own. */
  #hurry = new AbortController();
  #isStopped = false;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    const { clock, logger, parent, inspect } = options;
    this.#figures = new EvictionFigures(options);
    this.#watch = new EvictionWatch({ figures: this.#figures, logger, send: (event) => this.#send(event) });
    this.#limits = new EndLimits(clock);
    this.#period = new Timer(clock);
    this.#doubt = new Timer(clock);
    this.#patience = new Timer(clock);
    this.#actor = createActor(this.#machine(), { id: 'eviction', parent, ...(inspect && { inspect }) });
  }

  /** The conditions that hold now, in the order in which a node's status lists them. */
  conditions(): readonly PressureCondition[] {
    const snapshot = this.#actor.getSnapshot();
    return PRESSURE_CONDITIONS.filter((condition) => snapshot.hasTag(condition));
  }

  /** The latest figures and choices. */
  get context(): EvictionContext {
    return this.#actor.getSnapshot().context;
  }

  /** Which pods would be evicted now. Rejects if the node cannot be measured. */
  async explain(): Promise<EvictionExplanation> {
    const stats = await this.#figures.stats();
    await this.#figures.learnLayout();
    const { settings } = this.#figures;
    const isOfIO = settings.thresholds.some(({ signal }) => starvedResource(signal) === 'io');
    const summary = await stats.summary({ network: false, ...(isOfIO && { ioOverMs: IO_OVER_MS }) });
    const ends = this.#ends(this.#actor.getSnapshot().context);
    return explainEviction({ settings, conditions: this.conditions(), summary, pods: this.#pods(), ...ends });
  }

  start(): void {
    this.#actor.start();
    this.#watch.start();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch.stop();
    this.#limits.clear();
    for (const timer of [this.#period, this.#doubt, this.#patience]) timer.disarm();
  }

  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void {
    if (how === 'Terminated') this.#terminated(uid);
    else this.#released(uid);
    if (how === 'Forgotten') this.#send({ type: 'POD_GONE', uid });
  }

  /** None of the pod's containers runs any more. */
  #terminated(uid: string): void {
    this.#endingSince.delete(uid);
    if (this.#limits.lift(uid)) {
      this.#cleaning.add(uid);
      this.#lastEndMs = this.#options.clock.now();
    }
    this.#send({ type: 'POD_ENDED', uid });
  }

  /** What the pod had on this node has been released. */
  #released(uid: string): void {
    if (this.#cleaning.delete(uid) && this.#cleaning.size === 0) this.#cleanedUp();
  }

  #send(event: EvictionEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #machine(): typeof evictionMachine {
    const { logger } = this.#options;
    return evictionMachine.provide({
      actions: {
        armPeriod: () => this.#period.arm(MEASUREMENT_PERIOD_MS, () => this.#send({ type: 'PERIOD_OVER' })),
        disarmPeriod: () => this.#period.disarm(),
        armDoubt: () => this.#doubt.arm(DOUBT_PERIOD_MS, () => this.#send({ type: 'DOUBT_OVER' })),
        disarmDoubt: () => this.#doubt.disarm(),
        measureMemory: ({ context }) => void this.#evaluate(context, this.#measurement(true)),
        measureEverything: ({ context }) => void this.#evaluate(context, this.#measurement(false)),
        hurryMeasurement: () => this.#hurry.abort(),
        reportFailedObservation: ({ event }) => {
          if (event.type !== 'OBSERVATION_FAILED') return;
          logger.warn({}, `Eviction manager: the node could not be measured: ${event.problem}`);
        },
        reportShortage: ({ context }) => this.#reportShortage(context),
        reclaimNode: ({ context }) => void this.#reclaim(context),
        rankPods: ({ context }) => void this.#rank(context),
        reportChoice: ({ context: { choice } }) => {
          if (choice !== undefined)
            logger.info(
              { ranking: choice.ranking.candidates.slice(0, LOGGED_CANDIDATES_MAX) },
              `Eviction manager: ${choice.why}`,
            );
        },
        endPods: ({ context }) => context.evictions.forEach((eviction) => this.#end(eviction)),
        reportFailedPod: ({ event }) => this.#reportFailed(event),
        awaitCleanup: ({ self }) => this.#awaitCleanup(self),
        reportPressure: (_, { condition }) => this.#reportCondition(condition, true),
        reportNoPressure: (_, { condition }) => this.#reportCondition(condition, false),
      },
    });
  }

  // A pass

  #measurement(isOfMemoryAlone: boolean): Measurement {
    this.#hurry = new AbortController();
    return { isOfMemoryAlone, hurried: this.#hurry.signal };
  }

  async #evaluate(context: EvictionContext, measurement: Measurement): Promise<void> {
    try {
      const summary = await this.#measure(measurement);
      const isPartial = measurement.isOfMemoryAlone || measurement.hurried.aborted;
      const { state } = context;
      const { settings } = this.#figures;
      const [nowMs, lastEndMs] = [this.#options.clock.now(), this.#lastEndMs];
      const [pods, ends] = [this.#pods(), this.#ends(context)];
      const facts = { settings, state, nowMs, lastEndMs, summary, isPartial, pods, ...ends };
      this.#send({ type: 'EVALUATED', evaluation: evaluateEviction(facts) });
    } catch (error) {
      this.#send({ type: 'OBSERVATION_FAILED', problem: errorMessage(error) });
    }
  }

  /** What pods use of disks is taken as it is known. If it is old, it is measured for the next pass. */
  async #measure({ isOfMemoryAlone, hurried }: Measurement): Promise<Summary> {
    const stats = await this.#figures.stats();
    if (isOfMemoryAlone) return stats.summary({ onlyNode: true, onlyCPUAndMemory: true });
    await this.#figures.learnLayout(hurried);
    const hasLimits =
      this.#figures.settings.localStorageCapacityIsolation && this.#pods().some(hasStorageLimit);
    return stats.summary({
      onlyNode: !hasLimits,
      network: false,
      diskUsagePatienceMs: 0,
      signal: hurried,
    });
  }

  async #reclaim({ shortage }: EvictionContext): Promise<void> {
    if (shortage === undefined) return;
    const before = this.#hurry;
    const isOvertaken = () => this.#hurry !== before;
    for (const what of shortage.reclaim) {
      await this.#reclaimOne(what);
      if (isOvertaken()) return;
    }
    const remaining = await this.#afterReclaim(shortage);
    if (!isOvertaken()) this.#send({ type: 'NODE_RECLAIMED', shortage: remaining });
  }

  /** A removal that is still under way from an earlier pass is waited for, not begun again. */
  #reclaimOne(what: NodeReclaim): Promise<void> {
    const removal = this.#removals.get(what) ?? this.#remove(what).finally(() => this.#removals.delete(what));
    this.#removals.set(what, removal);
    return removal;
  }

  async #remove(what: NodeReclaim): Promise<void> {
    const { reclaimer, logger } = this.#options;
    try {
      if (what === 'containers') await reclaimer?.deleteDeadContainers();
      else await reclaimer?.deleteUnusedImages();
    } catch (error) {
      logger.warn(
        {},
        `Eviction manager: not all ${RECLAIMED[what]} could be removed: ${errorMessage(error)}`,
      );
    }
  }

  async #afterReclaim(shortage: Shortage): Promise<Shortage | undefined> {
    const { thresholds } = this.#figures.settings;
    try {
      const summary = await (await this.#figures.stats()).summary({ onlyNode: true, network: false });
      return shortageAfterReclaim(shortage, thresholds, observe(summary));
    } catch {
      return shortageAfterReclaim(shortage, thresholds, undefined);
    }
  }

  /** By figures that are taken now: if they show that pressure is gone, nothing is evicted. */
  async #rank(context: EvictionContext): Promise<void> {
    try {
      const { shortage } = context;
      if (shortage === undefined) throw new Error('nothing is short');
      const stats = await this.#figures.stats();
      const { settings } = this.#figures;
      const summary = await stats.summary(FIGURES_FOR[shortage.resource]);
      const observations = observe(summary);
      const remaining = remainingShortage(shortage, observations);
      if (remaining === undefined) {
        this.#send({ type: 'RELIEVED' });
        return;
      }
      this.#tellAge(remaining, observations);
      const ends = this.#ends(context);
      const pods = this.#pods().filter(isWorthEvicting(summary, ends.ending));
      const choice = chooseVictim({ settings, shortage: remaining, summary, pods, ...ends });
      this.#send({ type: 'RANKED', choice });
    } catch (error) {
      this.#options.logger.warn({}, `Eviction manager: pods could not be ranked: ${errorMessage(error)}`);
      this.#send({ type: 'RELIEVED' });
    }
  }

  #tellAge({ threshold: { signal } }: Shortage, observations: Observations): void {
    const { clock, onRanked } = this.#options;
    const timeMs = observations.get(signal)?.timeMs;
    if (timeMs !== undefined) onRanked?.(signal, Math.max(0, clock.now() - timeMs));
  }

  #end({ pod, kill, message, gracePeriodSeconds, signal }: Eviction): void {
    const { recorder, registry, onEvicted } = this.#options;
    onEvicted?.(signal);
    recorder.event(pod, 'Warning', EVICTED, message);
    const onOver = (problem: string) => this.#send({ type: 'POD_FAILED', uid: pod.uid, problem });
    this.#limits.set(pod.uid, gracePeriodSeconds, onOver);
    const isKnown = registry.kill(pod.uid, kill);
    if (!isKnown || registry.isPodKnownTerminated(pod.uid)) this.#terminated(pod.uid);
  }

  #awaitCleanup(actor: { send(event: EvictionEvent): void }): void {
    if (this.#cleaning.size === 0) {
      actor.send({ type: 'CLEANED_UP' });
      return;
    }
    this.#patience.arm(CLEANUP_PATIENCE_MS, () => {
      this.#cleaning.clear();
      this.#cleanedUp();
    });
  }

  #cleanedUp(): void {
    if (!this.#actor.getSnapshot().matches({ Pass: 'CleaningUp' })) return;
    this.#patience.disarm();
    this.#send({ type: 'CLEANED_UP' });
  }

  // Pods

  /** Those that may have running containers. */
  #pods(): readonly Pod[] {
    return this.#entries((snapshot) => snapshot.hasTag('couldHaveRunningContainers')).flatMap(
      ({ actor }) => actor.getSnapshot().context.pod ?? [],
    );
  }

  #ends({ unendable }: EvictionContext) {
    return { ending: this.#ending(), unendable: new Set(unendable) };
  }

  /** UIDs of pods that will have ended soon. A pod that has been ending for too long is not among them. */
  #ending(): ReadonlySet<string> {
    const nowMs = this.#options.clock.now();
    const known = new Map(this.#endingSince);
    this.#endingSince.clear();
    const near = this.#entries(isEnding).filter(({ pod: { uid }, actor }) => {
      const { gracePeriodSeconds = 0 } = actor.getSnapshot().context;
      const sinceMs = known.get(uid) ?? nowMs;
      this.#endingSince.set(uid, sinceMs);
      return gracePeriodSeconds <= NEAR_END_SECONDS && nowMs - sinceMs < endPatienceMs(gracePeriodSeconds);
    });
    return new Set(near.map(({ pod }) => pod.uid));
  }

  #entries(matches: (snapshot: PodSnapshot) => boolean): readonly PodEntry[] {
    return [...this.#options.registry.entries()].filter(({ actor }) => matches(actor.getSnapshot()));
  }

  // Events and logs

  #reportShortage({ shortage }: EvictionContext): void {
    if (shortage === undefined) return;
    const { recorder, logger } = this.#options;
    recorder.nodeEvent('Warning', EVICTION_THRESHOLD_MET, evictionThresholdMetMessage(shortage));
    logger.info({}, `Eviction manager: ${describeShortage(shortage)}`);
  }

  #reportCondition(condition: PressureCondition, holds: boolean): void {
    const { recorder, onPressure, nodeName } = this.#options;
    if (onPressure !== undefined) {
      // While an action runs, the actor's snapshot does not have the condition yet.
      queueMicrotask(onPressure);
      return;
    }
    const reason = nodePressureEventReason(condition, holds);
    recorder.nodeEvent('Normal', reason, `Node ${nodeName} status is now: ${reason}`);
  }

  #reportFailed(event: EvictionEvent): void {
    if (event.type !== 'POD_FAILED') return;
    const { recorder, registry, logger } = this.#options;
    const pod = registry.get(event.uid)?.pod;
    if (pod === undefined) return;
    recordExceededGracePeriod(recorder, pod);
    logger.warn(
      podFields(pod),
      `Eviction manager: does not wait for the end of the pod any longer: ${event.problem}`,
    );
  }
}

function isEnding(snapshot: PodSnapshot): boolean {
  return snapshot.hasTag('terminationRequested') && !snapshot.hasTag('terminated');
}

const RECLAIMED: Readonly<Record<NodeReclaim, string>> = {
  containers: 'dead containers',
  images: 'unused images',
};

/** A pod that does not run yet has no figures, and would be ranked first, though its end frees nothing. */
function isWorthEvicting({ pods }: Summary, ending: ReadonlySet<string>): (pod: Pod) => boolean {
  const measured = new Set(pods.map(({ podRef }) => podRef.uid));
  return ({ metadata: { uid } }) => measured.has(uid) || ending.has(uid);
}
