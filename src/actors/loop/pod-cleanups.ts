import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import { planHousekeeping } from '../../policies/pod-actions/wanted-pods.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { TurnoverMeasurements } from '../../types/measurements.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import type { EndedPods } from '../pods/ended-pods.ts';
import type { OrphanRemoval } from '../pods/orphan-removal.ts';
import type { PodDelivery } from '../pods/pod-delivery.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { PodRetirement } from '../pods/pod-retirement.ts';
import type { StatusManager } from '../pods/status-manager.ts';
import type { ProbeManager } from '../probes/probe-manager.ts';
import type { ExitWithPods } from './exit-with-pods.ts';

export interface PodCleanupsOptions {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly ended: Pick<EndedPods, 'keepOnly'>;
  readonly delivery: PodDelivery;
  readonly retirement: PodRetirement;
  readonly orphans: OrphanRemoval;
  readonly exit: Pick<ExitWithPods, 'hasBegun'>;
  readonly pleg: Pick<Pleg, 'pods'>;
  readonly podRuntime: Pick<PodRuntime, 'collectBackOffGarbage'>;
  readonly statusManager: Pick<StatusManager, 'keepOnly'>;
  readonly probes: Pick<ProbeManager, 'keepOnly'>;
  readonly turnover?: Pick<TurnoverMeasurements, 'orphaned' | 'restarted'>;
  /** Begins the life of a pod on this node. */
  readonly create: (pod: Pod) => void;
  readonly isKnown: (uid: string) => boolean;
  /** Asks for a housekeeping now. */
  readonly askForTurn: () => void;
}

/** Housekeeping: compares what is wanted with the actors and with what the runtime holds, and makes them agree. */
export class PodCleanups {
  readonly #options: PodCleanupsOptions;

  constructor(options: PodCleanupsOptions) {
    this.#options = options;
  }

  /** From now on, what no source wants may be removed. */
  sourcesReady(): void {
    const { orphans, askForTurn } = this.#options;
    orphans.begin();
    askForTurn();
  }

  run(): void {
    const { registry, desired, ended, delivery, retirement, orphans, exit, create } = this.#options;
    const { pleg, podRuntime, statusManager, probes, turnover, isKnown } = this.#options;
    const plan = planHousekeeping({ desired, known: this.#knownPods(), runtimePods: pleg.pods() });
    for (const uid of plan.retire) void retirement.retire(uid);
    // An agent that exits with its pods wants none any more.
    if (!exit.hasBegun) ended.keepOnly((uid) => desired.has(uid));
    statusManager.keepOnly(isKnown);
    probes.keepOnly(isKnown);
    for (const uid of plan.kill) registry.kill(uid);
    for (const uid of plan.start) {
      const pod = desired.get(uid);
      if (pod === undefined) continue;
      turnover?.restarted(isManifestPod(pod));
      create(pod);
    }
    for (const pod of plan.killRuntimePods) {
      turnover?.orphaned();
      delivery.killRuntimePod(pod);
    }
    for (const pod of plan.removeRuntimePods) void retirement.removeFromRuntime(pod);
    orphans.turn();
    podRuntime.collectBackOffGarbage();
  }

  *#knownPods() {
    for (const { pod, actor } of this.#options.registry.entries()) {
      const snapshot = actor.getSnapshot();
      yield {
        uid: pod.uid,
        finished: snapshot.hasTag('finished'),
        terminationRequested: snapshot.hasTag('terminationRequested'),
        restartRequested: snapshot.context.restartRequested,
      };
    }
  }
}
