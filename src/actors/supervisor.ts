/** The supervisor actor: the loop over the registry of pod actors, with what handles its events. */
import type { ActorOptions, ActorRefFrom, AnyActorRef } from 'xstate';
import type { supervisorMachine, SupervisorEvent } from '../machines/supervisor-machine.ts';
import type { KillPodOptions } from '../policies/termination/pod-termination.ts';
import type { PodNode } from '../runtime/node/pod-node.ts';
import type { Pleg } from '../runtime/pleg/pleg.ts';
import type { PodRuntime } from '../runtime/pods/pod-runtime.ts';
import { WorkQueue } from '../system/work-queue.ts';
import type { Clock } from '../types/clock.ts';
import type { EventRecorder, PodReference } from '../types/event-recorder.ts';
import type { Pod } from '../types/kubernetes.ts';
import type { Logger } from '../types/logger.ts';
import type { TurnoverMeasurements } from '../types/measurements.ts';
import type { NodeFacts } from '../types/node-facts.ts';
import { createActor } from './agent-actor.ts';
import { ExitWithPods } from './loop/exit-with-pods.ts';
import { type LoopHandlers, provideLoopMachine } from './loop/loop-machine.ts';
import { PodCleanups } from './loop/pod-cleanups.ts';
import { PodReports } from './loop/pod-reports.ts';
import { PodWakeUps } from './loop/pod-wake-ups.ts';
import { RuntimeNews } from './loop/runtime-news.ts';
import { SourceChanges } from './loop/source-changes.ts';
import { EndedPods, type EndedPodsStore, NO_STORE } from './pods/ended-pods.ts';
import { DesiredPods } from './pods/desired-pods.ts';
import { EffectSlots } from './pods/effect-slots.ts';
import { OrphanRemoval } from './pods/orphan-removal.ts';
import { type PodEffects, providePodMachine } from './pods/pod-actor.ts';
import { PodDelivery } from './pods/pod-delivery.ts';
import { PodEnds } from './pods/pod-ends.ts';
import { type PodObserver, PodRegistry } from './pods/pod-registry.ts';
import { PodRemoval } from './pods/pod-removal.ts';
import { PodRetirement } from './pods/pod-retirement.ts';
import { PodRevival } from './pods/pod-revival.ts';
import { StateTimes } from './pods/state-times.ts';
import type { StatusManager } from './pods/status-manager.ts';
import type { ProbeManager } from './probes/probe-manager.ts';
import { NameArbiter } from './start/name-arbiter.ts';
import { PodStarts, type StartGates } from './start/pod-starts.ts';
import { RoomArbiter } from './start/room-arbiter.ts';

export interface SupervisorOptions {
  readonly sources: readonly string[];
  readonly effects: PodEffects;
  readonly pleg: Pleg;
  readonly podRuntime: PodRuntime;
  readonly node: PodNode;
  readonly probes: ProbeManager;
  readonly statusManager: StatusManager;
  readonly clock: Clock;
  readonly random: () => number;
  readonly syncFrequencyMs: number;
  readonly nodeFacts: () => NodeFacts;
  /** With the node as the API server has it now; only in a cluster. */
  readonly freshNodeFacts?: () => Promise<NodeFacts>;
  /** Of victims of preemption that are otherwise equal, lower priority goes first. */
  readonly preemptionLowerPriorityFirst: boolean;
  /** Without it, deletions of pods are forgotten when the agent stops. */
  readonly endedPods?: EndedPodsStore;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  readonly inspect?: ActorOptions<typeof supervisorMachine>['inspect'];
  readonly onStopped: () => void;
  /** A mirror pod has come. */
  readonly onMirrorPod?: () => void;
  /** Puts something between pods and the answers to what they ask before they start: tests do. */
  readonly wrapGates?: (gates: StartGates) => StartGates;
  readonly podObserver?: PodObserver;
  readonly turnover?: TurnoverMeasurements;
}

export class Supervisor {
  readonly registry: PodRegistry;
  /** Tells how far pods have come on the way to their end. */
  readonly ends = new PodEnds();
  /** Since when pods are in their states. */
  readonly stateTimes: StateTimes;
  readonly #options: SupervisorOptions;
  readonly #actor: ActorRefFrom<typeof supervisorMachine>;
  readonly #slots = new EffectSlots();
  /** The pods that the sources want. */
  readonly desired = new DesiredPods();
  /** Pods that stay ended until their manifests change. */
  readonly ended: EndedPods;
  readonly #starts: PodStarts;
  readonly #delivery: PodDelivery;
  readonly #handlers: LoopHandlers;
  readonly #workQueue: WorkQueue;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { sources, inspect, clock, pleg, podRuntime, node, logger, statusManager, podObserver } = options;
    this.#actor = createActor(
      provideLoopMachine(() => this.#handlers),
      {
        id: 'supervisor',
        input: { sources },
        clock,
        ...(inspect && { inspect }),
      },
    );
    this.stateTimes = new StateTimes(clock);
    const registry = new PodRegistry({
      parent: this.#actor,
      ...(inspect && { inspect }),
      synced: () => this.synced,
      observers: [this.stateTimes, ...(podObserver ? [podObserver] : [])],
    });
    this.registry = registry;
    this.#workQueue = new WorkQueue(clock, (uids) => this.send({ type: 'SYNC', uids }));
    const removal = new PodRemoval(pleg, podRuntime, node);
    this.#starts = this.#buildStarts(removal);
    this.ended = new EndedPods({
      store: options.endedPods ?? NO_STORE,
      registry,
      desired: this.desired,
      logger,
    });
    statusManager.news.subscribe(({ uid }) => this.ended.record(uid, statusManager.get(uid)));
    const machine = this.#podMachine();
    const [starts, ended] = [this.#starts, this.ended];
    this.#delivery = new PodDelivery({ registry, machine, pleg, node, starts, ended, statusManager, logger });
    this.ends.subscribe(({ uid }, end) => {
      if (end !== 'Forgotten') return;
      statusManager.forget(uid);
      this.#handlers.exit.reportWhenAllGone();
    });
    this.#handlers = this.#buildHandlers(removal);
  }

  /** The root of the tree of actors. */
  get actor(): AnyActorRef {
    return this.#actor;
  }

  /** Whether every source has been seen. */
  get synced(): boolean {
    return this.#actor.getSnapshot().matches({ Sources: 'Ready' });
  }

  /** What the admitted pods hold of the node. */
  get heldResources(): PodStarts['held'] {
    return this.#starts.held;
  }

  /** Why the runtime is not ready, if so. */
  get runtimeProblem(): string | undefined {
    return this.#actor.getSnapshot().context.runtimeProblem;
  }

  /** When the next sync of a pod is due that waits for one, in Unix milliseconds. */
  nextSyncAt(uid: string): number | undefined {
    return this.#workQueue.dueAt(uid);
  }

  start(): void {
    this.#actor.start();
  }

  /** A pod that runs already holds its name: a static pod of that name that comes now waits for it to end. */
  adopt(): void {
    const { pleg } = this.#options;
    for (const pod of pleg.pods()) if (pleg.runtimeHolds(pod.uid) === 'running') this.#starts.adoptName(pod);
  }

  /** The node may have more for its pods: those that wait for room ask again. */
  offerRoom(): void {
    this.#starts.offerRoom();
  }

  send(event: SupervisorEvent): void {
    this.#actor.send(event);
  }

  /** Ends a pod. Resolves when it is Terminated; at once when there is no such pod. */
  async killPod(uid: string, options: KillPodOptions = {}): Promise<void> {
    const { registry } = this;
    if (registry.get(uid) === undefined || registry.isPodKnownTerminated(uid)) return;
    const terminated = this.ends.terminated(uid);
    registry.kill(uid, options);
    await terminated;
  }

  /** Ends a pod that runs and that no source wants. */
  killRuntimePod(pod: PodReference): void {
    this.#delivery.killRuntimePod(pod);
  }

  /** Stops routing and asks the effects in flight to come to rest; resolves when they have. */
  async stop(): Promise<void> {
    this.#workQueue.stop();
    this.#starts.stop();
    await this.#slots.close();
    this.#actor.stop();
  }

  #buildStarts(removal: PodRemoval): PodStarts {
    const { node, nodeFacts, freshNodeFacts, preemptionLowerPriorityFirst } = this.#options;
    const { clock, recorder, turnover, logger, inspect } = this.#options;
    const room = new RoomArbiter({
      registry: this.registry,
      admit: (pod, signal) => node.admit(pod, signal),
      nodeFacts,
      ...(freshNodeFacts && { freshNodeFacts }),
      preemptionLowerPriorityFirst,
      clock,
      recorder,
      ...(turnover && { turnover }),
      logger,
      parent: this.#actor,
      ...(inspect && { inspect }),
    });
    const askForRuntime = (uid: string) => this.send({ type: 'RUNTIME_AWAITED', uid });
    return new PodStarts({ removal, names: new NameArbiter(), room, askForRuntime });
  }

  #podMachine() {
    const { effects, statusManager, clock, random, syncFrequencyMs, recorder, logger } = this.#options;
    const { wrapGates, turnover } = this.#options;
    return providePodMachine({
      effects,
      slots: this.#slots,
      workQueue: this.#workQueue,
      gates: wrapGates?.(this.#starts) ?? this.#starts,
      statusManager,
      supervisor: this,
      clock,
      random,
      syncFrequencyMs,
      recorder,
      ...(turnover && { turnover }),
      logger,
    });
  }

  #buildHandlers(removal: PodRemoval): LoopHandlers {
    const { registry, desired, ended, ends } = this;
    const { node, pleg, podRuntime, probes, statusManager, effects, clock, logger } = this.#options;
    const { onMirrorPod, onStopped, turnover } = this.#options;
    const measured = turnover && { turnover };
    const [delivery, starts] = [this.#delivery, this.#starts];
    const send = (event: SupervisorEvent) => this.send(event);
    const isKnown = (uid: string) => registry.get(uid) !== undefined || desired.has(uid);
    const orphans = new OrphanRemoval({
      node,
      clock,
      removal,
      isKnown,
      isInRuntime: (uid) => pleg.runtimeHolds(uid) !== 'nothing',
      ...measured,
      logger,
    });
    const create = (pod: Pod) => {
      delivery.create(pod);
      retirement.retireIfDue(pod.metadata.uid);
    };
    const retirement = new PodRetirement({ registry, desired, removal, ends, create, ...measured, logger });
    const shared = { registry, desired, ended, pleg, delivery, retirement, create };
    const exit = new ExitWithPods({ ...shared, clock, onAllGone: () => send({ type: 'ALL_PODS_GONE' }) });
    const askForTurn = () => send({ type: 'HOUSEKEEPING' });
    return {
      sources: new SourceChanges({ ...shared, onMirrorPod, logger }),
      wakeUps: new PodWakeUps({ registry, pleg, starts, effects }),
      runtime: new RuntimeNews({ registry, clock, logger, send }),
      reports: new PodReports({ registry, starts, ends, retirement, statusManager, logger }),
      revival: new PodRevival({ registry, slots: this.#slots, desired, delivery, clock, logger }),
      cleanups: new PodCleanups({
        ...shared,
        ...measured,
        orphans,
        exit,
        podRuntime,
        statusManager,
        probes,
        isKnown,
        askForTurn,
      }),
      exit,
      onStopped,
    };
  }
}
