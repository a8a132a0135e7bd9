/** The eviction actor of a node, and its effects. */
import type { ActorRefFrom } from 'xstate';
import {
  type EvictionContext,
  type EvictionEvent,
  evictionMachine,
} from '../../machines/eviction-machine.ts';
import type { NodeReclaim } from '../../policies/eviction/file-system-parts.ts';
import { type EvictionExplanation, explainEviction } from '../../policies/eviction/explanation.ts';
import { type Observations, observe } from '../../policies/eviction/observations.ts';
import { chooseVictim, evaluateEviction } from '../../policies/eviction/pass.ts';
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
  EVICTION_THRESHOLD_MET,
  evictionThresholdMetMessage,
} from '../../policies/eviction/eviction-message.ts';
import { hasStorageLimit } from '../../policies/eviction/pod-usage.ts';
import type { NodeReclaimer } from '../../runtime/node/pod-node.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { Summary } from '../../../types/stats.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor } from '../agent-actor.ts';
import { recordExceededGracePeriod } from '../start/kill-timeouts.ts';
import { EvictionFigures, type EvictionParts, type EvictionStats } from './eviction-figures.ts';
import { EvictionPods } from './eviction-pods.ts';
import { EvictionWatch } from './eviction-watch.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';

/** At most this many candidates of a ranking are logged. */
const LOGGED_CANDIDATES_MAX = 10;
/** If the disks are too slow, the I/O of each pod is measured over this time. */
const IO_OVER_MS = 1_000;
/** What pods use of disks must be younger than this when a victim is chosen by it. */
const FRESH_DISK_USAGE_MS = 1_000;
const ON_DISK = { network: false, diskUsageMaxAgeMs: FRESH_DISK_USAGE_MS };
/** The figures that a ranking needs, by the resource that is short. It does not wait for others. */
const FIGURES_FOR: Readonly<Record<StarvedResource, Parameters<EvictionStats['summary']>[0]>> = {
  memory: { onlyCPUAndMemory: true },
  pids: { network: false, diskUsagePatienceMs: 0 },
  io: { network: false, diskUsagePatienceMs: 0, ioOverMs: IO_OVER_MS },
  'ephemeral-storage': ON_DISK,
  inodes: ON_DISK,
};

export interface EvictionManagerParts extends EvictionParts {
  readonly reclaimer: NodeReclaimer | undefined;
  readonly registry: PodRegistry;
  /** A condition has begun or ended. In a cluster the Node object shows it, with an event. Default: only an event. */
  readonly onPressure?: () => void;
  readonly nodeName: string;
}

/** One measurement of the node. */
interface Measurement {
  readonly isOfMemoryAlone: boolean;
  /** Aborts when memory has become short meanwhile: the measurement then ends with the figures that it has. */
  readonly hurried: AbortSignal;
}

export class EvictionManager {
  readonly #context: ActorContext;
  readonly #parts: EvictionManagerParts;
  readonly #actor: ActorRefFrom<typeof evictionMachine>;
  readonly #figures: EvictionFigures;
  readonly #watch: EvictionWatch;
  readonly #pods: EvictionPods;
  /** Removals under way, also those for which no pass waits any longer. */
  readonly #removals = new Map<NodeReclaim, Promise<void>>();
  /** Hurries the latest measurement. Each measurement has a controller of its own. */
  #hurry = new AbortController();
  #isStopped = false;

  constructor(context: ActorContext, parts: EvictionManagerParts) {
    this.#context = context;
    this.#parts = parts;
    const send = (event: EvictionEvent) => this.#send(event);
    this.#figures = new EvictionFigures(parts);
    this.#watch = new EvictionWatch(context, this.#figures, send);
    this.#pods = new EvictionPods(context, { registry: parts.registry, send });
    this.#actor = agentActor(context, this.#machine(), { id: 'eviction', title: 'eviction' });
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
    const summary = await stats.summary({ network: false, ioOverMs: isOfIO ? IO_OVER_MS : undefined });
    const ends = this.#pods.ends(this.context.unendable);
    const pods = this.#pods.running();
    return explainEviction({ settings, conditions: this.conditions(), summary, pods, ...ends });
  }

  start(): void {
    this.#actor.start();
    this.#watch.start();
  }

  stop(): void {
    this.#send({ type: 'STOP' });
    this.#isStopped = true;
    this.#watch.stop();
    this.#pods.stop();
  }

  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void {
    const snapshot = this.#actor.getSnapshot();
    if (how === 'Terminated') this.#pods.terminated(uid);
    else if (snapshot.matches({ Pass: 'CleaningUp' })) this.#checkCleanup(snapshot.context, uid);
    if (how === 'Forgotten') this.#send({ type: 'POD_GONE', uid });
  }

  #send(event: EvictionEvent): void {
    if (!this.#isStopped && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #checkCleanup({ ended }: EvictionContext, released?: string): void {
    if (this.#pods.areReleased(ended.filter((uid) => uid !== released))) this.#send({ type: 'CLEANED_UP' });
  }

  #machine(): typeof evictionMachine {
    const { logger } = this.#context;
    return evictionMachine.provide({
      actions: {
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
        endPods: ({ context }) => context.evictions.forEach((eviction) => this.#pods.end(eviction)),
        reportFailedPod: ({ event }) => this.#reportFailed(event),
        awaitCleanup: ({ context }) => this.#checkCleanup(context),
        reportPressure: (_, { condition }) => this.#reportCondition(condition, true),
        reportNoPressure: (_, { condition }) => this.#reportCondition(condition, false),
      },
    });
  }

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
      const [nowMs, lastEndMs] = [this.#context.clock.now(), this.#pods.lastEndMs];
      const [pods, ends] = [this.#pods.running(), this.#pods.ends(context.unendable)];
      const facts = { settings, state, nowMs, lastEndMs, summary, isPartial, pods, ...ends };
      this.#send({ type: 'EVALUATED', evaluation: evaluateEviction(facts) });
    } catch (error) {
      this.#send({ type: 'OBSERVATION_FAILED', problem: errorMessage(error) });
    }
  }

  /** Takes the last known disk usage of pods. If that is old, it is measured for the next pass. */
  async #measure({ isOfMemoryAlone, hurried }: Measurement): Promise<Summary> {
    const stats = await this.#figures.stats();
    if (isOfMemoryAlone) return stats.summary({ onlyNode: true, onlyCPUAndMemory: true });
    await this.#figures.learnLayout(hurried);
    const hasLimits =
      this.#figures.settings.localStorageCapacityIsolation && this.#pods.running().some(hasStorageLimit);
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

  /** Waits for a removal that is still under way from an earlier pass, and does not begin another. */
  #reclaimOne(what: NodeReclaim): Promise<void> {
    const removal = this.#removals.get(what) ?? this.#remove(what).finally(() => this.#removals.delete(what));
    this.#removals.set(what, removal);
    return removal;
  }

  async #remove(what: NodeReclaim): Promise<void> {
    const { reclaimer } = this.#parts;
    try {
      if (what === 'containers') await reclaimer?.deleteDeadContainers();
      else await reclaimer?.deleteUnusedImages();
    } catch (error) {
      this.#context.logger.warn(
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

  /** Ranks by figures that are taken now: if they show no pressure any more, nothing is evicted. */
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
      this.#measureAge(remaining, observations);
      const ends = this.#pods.ends(context.unendable);
      const pods = this.#pods.running().filter(isWorthEvicting(summary, ends.ending));
      const choice = chooseVictim({ settings, shortage: remaining, summary, pods, ...ends });
      this.#send({ type: 'RANKED', choice });
    } catch (error) {
      this.#context.logger.warn({}, `Eviction manager: pods could not be ranked: ${errorMessage(error)}`);
      this.#send({ type: 'RELIEVED' });
    }
  }

  #measureAge({ threshold: { signal } }: Shortage, observations: Observations): void {
    const { clock, measurements } = this.#context;
    const timeMs = observations.get(signal)?.timeMs;
    if (timeMs !== undefined) measurements?.evictionStatsAge(signal, Math.max(0, clock.now() - timeMs));
  }

  #reportShortage({ shortage }: EvictionContext): void {
    if (shortage === undefined) return;
    const { recorder, logger } = this.#context;
    recorder.nodeEvent('Warning', EVICTION_THRESHOLD_MET, evictionThresholdMetMessage(shortage));
    logger.info({}, `Eviction manager: ${describeShortage(shortage)}`);
  }

  #reportCondition(condition: PressureCondition, holds: boolean): void {
    const { onPressure, nodeName } = this.#parts;
    if (onPressure !== undefined) {
      // While an action runs, the actor's snapshot does not have the condition yet.
      queueMicrotask(onPressure);
      return;
    }
    const reason = nodePressureEventReason(condition, holds);
    this.#context.recorder.nodeEvent('Normal', reason, `Node ${nodeName} status is now: ${reason}`);
  }

  #reportFailed(event: EvictionEvent): void {
    if (event.type !== 'POD_FAILED') return;
    const { recorder, logger } = this.#context;
    const pod = this.#parts.registry.get(event.uid)?.pod;
    if (pod === undefined) return;
    recordExceededGracePeriod(recorder, pod);
    logger.warn(
      podFields(pod),
      `Eviction manager: does not wait for the end of the pod any longer: ${event.problem}`,
    );
  }
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
