/** The eviction actor of a node, and what it does in the world. */
import { type ActorOptions, type ActorRefFrom, type AnyActorRef, createActor } from 'xstate';
import {
  type EvictionContext,
  type EvictionEvent,
  evictionMachine,
} from '../../machines/eviction-machine.ts';
import type { NodeReclaim } from '../../policies/eviction/file-system-parts.ts';
import { type EvictionExplanation, explainEviction } from '../../policies/eviction/explanation.ts';
import { observe } from '../../policies/eviction/observations.ts';
import { chooseVictim, evaluateEviction, type Eviction } from '../../policies/eviction/pass.ts';
import { describeShortage } from '../../policies/eviction/ranking-text.ts';
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
import { hasStorageLimit } from '../../policies/eviction/exceeded-limits.ts';
import type { NodeReclaimer } from '../../runtime/node/pod-node.ts';
import type { Clock, TimerHandle } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EventRecorder, NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { Summary } from '../../types/stats.ts';
import { EndLimits, endPatienceMs, recordExceededGracePeriod } from '../start/end-limits.ts';
import { EvictionFigures, type EvictionParts, type EvictionStats } from './eviction-figures.ts';
import { EvictionLooks, type Look } from './eviction-looks.ts';
import type { PodEntry, PodRegistry, PodSnapshot } from '../pods/pod-registry.ts';

/** How long what an evicted pod had on the disk may take to be removed (the kubelet's). */
const CLEANUP_PATIENCE_MS = 30_000;
/** A pod that has longer than this to end is not waited for: it may be told to hurry. */
const NEAR_END_SECONDS = 60;
/** So many of a ranking are told with it. */
const TOLD_MAX = 10;
/** How long it is watched who uses the disks, where these are too slow. */
const IO_OVER_MS = 1_000;
/** What is known of the disks of pods must be younger than this, where it decides who goes. */
const FRESH_DISK_USAGE_MS = 1_000;
const ON_DISK = { network: false, diskUsageMaxAgeMs: FRESH_DISK_USAGE_MS };
/** Measured for the victims' sake: nothing that says nothing of who is to go. */
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
  readonly nodeName: string;
  readonly logger: Logger;
  readonly parent: AnyActorRef;
  readonly inspect?: ActorOptions<typeof evictionMachine>['inspect'];
}

export class EvictionManager {
  readonly #options: EvictionManagerOptions;
  readonly #actor: ActorRefFrom<typeof evictionMachine>;
  readonly #figures: EvictionFigures;
  readonly #looks: EvictionLooks;
  readonly #limits: EndLimits;
  /** UIDs of evicted pods that have ended and have not been cleaned up after. */
  readonly #cleaning = new Set<string>();
  /** Since when pods have been seen to be ending, by UID. */
  readonly #endingSince = new Map<string, number>();
  /** Until what evicted pods had on the disk counts as removed. */
  #patience: TimerHandle | undefined;
  /** Under way, also those for which nobody waits any more. */
  readonly #removals = new Map<NodeReclaim, Promise<void>>();
  /** When the last pod ended that was evicted. */
  #lastEndMs: number | undefined;
  #isStopped = false;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    const { clock, logger, parent, inspect } = options;
    this.#figures = new EvictionFigures(options);
    this.#looks = new EvictionLooks({
      ...{ figures: this.#figures, clock, logger },
      isObserving: () => this.#actor.getSnapshot().matches({ Pass: 'Observing' }),
      isReclaiming: () => this.#actor.getSnapshot().matches({ Pass: 'ReclaimingNode' }),
      observe: () => this.#send({ type: 'OBSERVE' }),
    });
    this.#limits = new EndLimits(clock);
    this.#actor = createActor(this.#machine(), { id: 'eviction', parent, ...(inspect && { inspect }) });
  }

  /** The conditions of pressure that hold now, in the order in which they are named. */
  conditions(): readonly PressureCondition[] {
    const snapshot = this.#actor.getSnapshot();
    return PRESSURE_CONDITIONS.filter((condition) => snapshot.hasTag(condition));
  }

  /** Who would be evicted now. Rejects where the node cannot be measured. */
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
    this.#looks.watch();
  }

  stop(): void {
    this.#isStopped = true;
    this.#looks.stop();
    this.#limits.clear();
    if (this.#patience !== undefined) this.#options.clock.clearTimeout(this.#patience);
  }

  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void {
    if (how === 'Terminated') this.#terminated(uid);
    else this.#released(uid);
    if (how === 'Forgotten') this.#send({ type: 'POD_GONE', uid });
  }

  /** Nothing of the pod runs any more. */
  #terminated(uid: string): void {
    this.#endingSince.delete(uid);
    if (this.#limits.lift(uid)) {
      this.#cleaning.add(uid);
      this.#lastEndMs = this.#options.clock.now();
    }
    this.#send({ type: 'POD_ENDED', uid });
    const { shortage } = this.#actor.getSnapshot().context;
    if (shortage !== undefined) this.#looks.hurry(shortage.resource === 'memory' ? 'memory' : 'all');
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
        armObservation: ({ context, event }) => this.#looks.arm(context, event),
        disarmObservation: () => this.#looks.disarm(),
        evaluate: ({ context }) => void this.#evaluate(context),
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
              { ranking: choice.ranking.candidates.slice(0, TOLD_MAX) },
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

  async #evaluate(context: EvictionContext): Promise<void> {
    try {
      const look = this.#looks.current;
      const summary = await this.#measure(look);
      const isPartial = look.scope === 'memory' || look.hurried.aborted;
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

  /** What is not known of the disks of pods is measured for the next look: nobody waits for that. */
  async #measure({ scope, hurried }: Look): Promise<Summary> {
    const stats = await this.#figures.stats();
    if (scope === 'memory') return stats.summary({ onlyNode: true, onlyCPUAndMemory: true });
    await this.#figures.learnLayout(hurried);
    const hasLimits =
      this.#figures.settings.localStorageCapacityIsolation && this.#pods().some(hasStorageLimit);
    return stats.summary({
      ...{ onlyNode: !hasLimits, network: false, diskUsagePatienceMs: 0, signal: hurried },
    });
  }

  async #reclaim({ shortage }: EvictionContext): Promise<void> {
    if (shortage === undefined) return;
    const look = this.#looks.current;
    const isOvertaken = () => this.#looks.current !== look;
    for (const what of shortage.reclaim) {
      await this.#reclaimOne(what);
      if (isOvertaken()) return;
    }
    const remaining = await this.#afterReclaim(shortage);
    if (!isOvertaken()) this.#send({ type: 'NODE_RECLAIMED', shortage: remaining });
  }

  /** What is being removed already is not begun once more. */
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

  /** By figures that are taken now: what has been over since is no reason any more. */
  async #rank(context: EvictionContext): Promise<void> {
    try {
      const { shortage } = context;
      if (shortage === undefined) throw new Error('nothing is short');
      const stats = await this.#figures.stats();
      const { settings } = this.#figures;
      const summary = await stats.summary(FIGURES_FOR[shortage.resource]);
      const remaining = remainingShortage(shortage, observe(summary));
      if (remaining === undefined) {
        this.#send({ type: 'RELIEVED' });
        return;
      }
      const ends = this.#ends(context);
      const pods = this.#pods().filter(isWorthEnding(summary, ends.ending));
      const choice = chooseVictim({ settings, shortage: remaining, summary, pods, ...ends });
      this.#send({ type: 'RANKED', choice });
    } catch (error) {
      this.#options.logger.warn({}, `Eviction manager: pods could not be ranked: ${errorMessage(error)}`);
      this.#send({ type: 'RELIEVED' });
    }
  }

  #end({ pod, kill, message, gracePeriodSeconds }: Eviction): void {
    const { recorder, registry } = this.#options;
    recorder.event(pod, 'Warning', EVICTED, message);
    const onOver = (problem: string) => this.#send({ type: 'POD_FAILED', uid: pod.uid, problem });
    this.#limits.set(pod.uid, gracePeriodSeconds, onOver);
    const isKnown = registry.send(pod.uid, { type: 'SyncPodKill', options: kill });
    if (!isKnown || registry.isPodKnownTerminated(pod.uid)) this.#terminated(pod.uid);
  }

  #awaitCleanup(actor: { send(event: EvictionEvent): void }): void {
    if (this.#cleaning.size === 0) {
      actor.send({ type: 'CLEANED_UP' });
      return;
    }
    this.#patience = this.#options.clock.setTimeout(() => {
      this.#cleaning.clear();
      this.#cleanedUp();
    }, CLEANUP_PATIENCE_MS);
  }

  #cleanedUp(): void {
    if (!this.#actor.getSnapshot().matches({ Pass: 'CleaningUp' })) return;
    if (this.#patience !== undefined) this.#options.clock.clearTimeout(this.#patience);
    this.#send({ type: 'CLEANED_UP' });
  }

  // The pods that it is about

  /** Those of which something may run. */
  #pods(): readonly Pod[] {
    return this.#entries((snapshot) => snapshot.hasTag('couldHaveRunningContainers')).flatMap(
      ({ actor }) => actor.getSnapshot().context.pod ?? [],
    );
  }

  #ends({ unendable }: EvictionContext) {
    return { ending: this.#ending(), unendable: new Set(unendable) };
  }

  /** Those that come to their end soon. One that has been on its way for too long is not waited for any more. */
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

  #entries(isMeant: (snapshot: PodSnapshot) => boolean): readonly PodEntry[] {
    return [...this.#options.registry.entries()].filter(({ actor }) => isMeant(actor.getSnapshot()));
  }

  // What is told

  #reportShortage({ shortage }: EvictionContext): void {
    if (shortage === undefined) return;
    const { recorder, logger } = this.#options;
    recorder.nodeEvent('Warning', EVICTION_THRESHOLD_MET, evictionThresholdMetMessage(shortage));
    logger.info({}, `Eviction manager: ${describeShortage(shortage)}`);
  }

  #reportCondition(condition: PressureCondition, holds: boolean): void {
    const { recorder, nodeName } = this.#options;
    const reason = nodePressureEventReason(condition, holds);
    recorder.nodeEvent('Normal', reason, `Node ${nodeName} status is now: ${reason}`);
  }

  #reportFailed(event: EvictionEvent): void {
    if (event.type !== 'POD_FAILED') return;
    const { recorder, registry, logger } = this.#options;
    const pod = registry.get(event.uid)?.pod;
    if (pod === undefined) return;
    recordExceededGracePeriod(recorder, pod);
    logger.warn(podFields(pod), `Eviction manager: goes on without the end of the pod: ${event.problem}`);
  }
}

function isEnding(snapshot: PodSnapshot): boolean {
  return snapshot.hasTag('terminationRequested') && !snapshot.hasTag('terminated');
}

const RECLAIMED: Readonly<Record<NodeReclaim, string>> = {
  containers: 'dead containers',
  images: 'unused images',
};

/** A pod of which nothing runs yet has no figures, and would go first: its end frees nothing. */
function isWorthEnding({ pods }: Summary, ending: ReadonlySet<string>): (pod: Pod) => boolean {
  const measured = new Set(pods.map(({ podRef }) => podRef.uid));
  return ({ metadata: { uid } }) => measured.has(uid) || ending.has(uid);
}
