/** The supervisor actor: the loop's handlers, by the kubelet's names, over the registry of pod actors. */
import { type ActorOptions, type ActorRefFrom, type AnyActorRef, createActor } from 'xstate';
import { supervisorMachine, type SupervisorEvent } from '../machines/supervisor-machine.ts';
import { isMirrorPod } from '../policies/pod/pod-kinds.ts';
import { needsReadinessSync } from '../policies/status-sync/probed-status.ts';
import { planHousekeeping } from '../policies/sync/housekeeping.ts';
import { isTerminalPhase, type KillPodOptions } from '../policies/sync/pod-termination.ts';
import type { PodNode } from '../runtime/node/pod-node.ts';
import type { Pleg } from '../runtime/pleg/pleg.ts';
import type { PodRuntime } from '../runtime/pods/pod-runtime.ts';
import { WorkQueue } from '../system/work-queue.ts';
import type { Clock } from '../types/clock.ts';
import type { EventRecorder, PodReference } from '../types/event-recorder.ts';
import type { Pod } from '../types/kubernetes.ts';
import { type Logger, podFields } from '../types/logger.ts';
import type { NodeFacts } from '../types/node-facts.ts';
import { EndedPods, type EndedPodsStore, NO_STORE } from './pods/ended-pods.ts';
import { DesiredPods } from './pods/desired-pods.ts';
import { EffectSlots } from './pods/effect-slots.ts';
import { inTurns } from './pods/in-turns.ts';
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

const ACTOR_ERROR = 'xstate.error.actor.';

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
  readonly #retirement: PodRetirement;
  readonly #revival: PodRevival;
  readonly #orphans: OrphanRemoval;
  readonly #workQueue: WorkQueue;
  #isExiting = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { sources, inspect, clock, pleg, podRuntime, node, logger, statusManager, podObserver } = options;
    this.#actor = createActor(this.#machine(), {
      id: 'supervisor',
      input: { sources },
      ...(inspect && { inspect }),
    });
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
    this.#orphans = new OrphanRemoval({
      node,
      clock,
      removal,
      isKnown: (uid) => this.#isKnown(uid),
      isInRuntime: (uid) => pleg.runtimeHolds(uid) !== 'nothing',
    });
    const { ends } = this;
    ends.subscribe(({ uid }, end) => {
      if (end !== 'Forgotten') return;
      statusManager.forget(uid);
      this.#reportWhenAllGone();
    });
    const [desired, orphans, delivery] = [this.desired, this.#orphans, this.#delivery];
    this.#retirement = new PodRetirement({
      registry,
      desired,
      removal,
      orphans,
      ends,
      create: (pod) => this.#create(pod),
      logger,
    });
    this.#revival = new PodRevival({ registry, slots: this.#slots, desired, delivery, clock, logger });
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
    for (const pod of this.#options.pleg.pods()) if (this.#runs(pod.uid)) this.#starts.adoptName(pod);
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
    const { clock, recorder, logger, inspect } = this.#options;
    const room = new RoomArbiter({
      registry: this.registry,
      rejectionOf: (pod) => node.rejection(pod),
      nodeFacts,
      ...(freshNodeFacts && { freshNodeFacts }),
      preemptionLowerPriorityFirst,
      clock,
      recorder,
      logger,
      parent: this.#actor,
      ...(inspect && { inspect }),
    });
    const askForRuntime = (uid: string) => this.send({ type: 'RUNTIME_AWAITED', uid });
    return new PodStarts({ removal, names: new NameArbiter(), room, askForRuntime });
  }

  #podMachine() {
    const { effects, statusManager, clock, random, syncFrequencyMs, recorder, logger } = this.#options;
    const { wrapGates } = this.#options;
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
      logger,
    });
  }

  #machine(): typeof supervisorMachine {
    const { onStopped } = this.#options;
    return supervisorMachine.provide({
      actions: {
        handlePodAdditions: on<'CONFIG.ADD'>(({ pods, source }) => {
          this.#tell(pods, `Added by source ${source}`);
          this.#add(pods);
        }),
        handlePodUpdates: on<'CONFIG.UPDATE'>(({ pods }) => pods.forEach((pod) => this.#update(pod))),
        dropDesiredPods: on<'CONFIG.REMOVE'>(({ pods }) => pods.forEach((pod) => this.#drop(pod))),
        handlePodRemoves: on<'CONFIG.REMOVE'>(({ pods, source }) => {
          this.#tell(pods, `Removed by source ${source}`);
          for (const pod of pods) this.#remove(pod);
        }),
        handlePodReconcile: on<'CONFIG.RECONCILE'>(({ pods }) => pods.forEach((pod) => this.#reconcile(pod))),
        handlePodLifecycleEvents: on<'PLEG'>(({ uid }) => this.#handleLifecycleEvents(uid)),
        handlePodSyncs: on<'SYNC'>(({ uids }) => uids.forEach((uid) => this.#sync(uid))),
        handleProbeResult: on<'PROBE'>(({ uid }) => this.#handleProbeResult(uid)),
        handlePodCleanups: () => this.#cleanUpPods(),
        handlePodTerminated: on<'POD_TERMINATED'>(({ uid }) => this.#handleTerminated(uid)),
        handlePodFinished: on<'POD_FINISHED'>((event) => this.#handleFinished(event)),
        handlePodError: ({ event }) => {
          const error: unknown = 'error' in event ? event.error : undefined;
          this.#revival.failed(event.type.slice(ACTOR_ERROR.length), error);
        },
        answerRuntimeReady: on<'RUNTIME_AWAITED'>(({ uid }) =>
          this.registry.send(uid, { type: 'RUNTIME_READY' }),
        ),
        answerRuntimeNotReady: ({ context, event }) => {
          if (event.type === 'RUNTIME_AWAITED') this.#tellProblem(event.uid, context.runtimeProblem);
        },
        resumeAllPods: () => this.#resumeAllPods(),
        tellRuntimeProblem: on<'RUNTIME_NOT_READY'>(({ problem }) => {
          for (const { pod, actor } of [...this.registry.entries()])
            if (actor.getSnapshot().hasTag('starting')) this.#tellProblem(pod.uid, problem);
        }),
        killAllPods: () => this.#killAllPods(),
        reportRuntimeState: on<'RUNTIME_NOT_READY' | 'RUNTIME_READY'>((event) => {
          const { logger } = this.#options;
          if (event.type === 'RUNTIME_READY') logger.info({}, 'Container runtime is ready');
          else logger.warn({ problem: event.problem }, 'Container runtime is not ready');
        }),
        reportSourcesReady: () => this.#handleSourcesReady(),
        reportStopped: () => onStopped(),
      },
    });
  }

  #tell(pods: readonly Pod[], message: string): void {
    for (const { metadata } of pods) this.#options.logger.info(podFields(metadata), message);
  }

  // Configuration

  #add(pods: readonly Pod[]): void {
    const byAge = pods.toSorted((a, b) => age(a).localeCompare(age(b)));
    for (const pod of byAge) {
      const { isMirror } = this.desired.set(pod);
      if (isMirror) this.#updateStaticPodOf(pod);
      else this.#create(pod);
    }
  }

  #update(pod: Pod): void {
    const { isMirror } = this.desired.set(pod);
    if (isMirror) this.#updateStaticPodOf(pod);
    else if (this.ended.forget(pod.metadata.uid)) this.#create(pod);
    else this.#delivery.update(pod);
  }

  #drop(pod: Pod): void {
    this.desired.delete(pod);
    this.ended.forget(pod.metadata.uid);
  }

  /** Its status at the API server has changed. As a rule this node has written it, and there is nothing to do. */
  #reconcile(pod: Pod): void {
    this.desired.set(pod);
    if (!isMirrorPod(pod) && needsReadinessSync(pod))
      this.registry.send(pod.metadata.uid, { type: 'SyncPodSync', pod });
  }

  /** No source wants it any more. */
  #remove(pod: Pod): void {
    if (isMirrorPod(pod)) this.#updateStaticPodOf(pod);
    else this.#removeDesired(pod.metadata.uid);
  }

  #updateStaticPodOf(mirrorPod: Pod): void {
    this.#options.onMirrorPod?.();
    const pod = this.desired.staticPodOf(mirrorPod);
    if (pod !== undefined) this.#delivery.update(pod);
  }

  #create(pod: Pod): void {
    this.#delivery.create(pod);
    this.#retirement.retireIfDue(pod.metadata.uid);
  }

  // Routing

  #sync(uid: string): void {
    this.registry.send(uid, { type: 'SyncPodSync' });
  }

  #tellProblem(uid: string, problem = 'it has not been asked yet'): void {
    this.registry.send(uid, { type: 'RUNTIME_NOT_READY', problem });
  }

  /** The runtime is ready, and may have been away: pods that wait for it go on, all others look at what it holds. */
  #resumeAllPods(): void {
    const pods = Array.from(this.registry.entries(), ({ pod }) => pod);
    inTurns(this.#options.clock, pods, ({ uid }) => {
      const snapshot = this.registry.get(uid)?.actor.getSnapshot();
      // It may have been lost again since the first turn; when it is back, all pods are told again.
      if (snapshot?.hasTag('starting') === true) this.send({ type: 'RUNTIME_AWAITED', uid });
      else this.send({ type: 'SYNC', uids: [uid] });
    });
  }

  /** A pod that is ending is not synced any more, but its status still shows whether it is ready. */
  #handleProbeResult(uid: string): void {
    this.#sync(uid);
    const snapshot = this.registry.get(uid)?.actor.getSnapshot();
    if (snapshot === undefined || !snapshot.hasTag('containersTerminating') || snapshot.hasTag('terminated'))
      return;
    this.#options.effects.refreshStatus(snapshot.context);
  }

  #handleLifecycleEvents(uid: string): void {
    if (this.registry.send(uid, { type: 'SyncPodSync' })) return;
    const pod = this.#options.pleg.lastSeen(uid);
    if (pod !== undefined && !this.#runs(uid)) this.#starts.nameFreed(pod);
  }

  #runs(uid: string): boolean {
    return this.#options.pleg.runtimeHolds(uid) === 'running';
  }

  // Ending

  #handleTerminated(uid: string): void {
    const entry = this.registry.get(uid);
    if (entry === undefined) return;
    this.#starts.ended(entry.pod);
    this.ends.tell(entry.pod, 'Terminated');
  }

  #handleFinished({ uid, restartRequested }: EventOf<'POD_FINISHED'>): void {
    const entry = this.registry.get(uid);
    if (entry === undefined) return;
    this.#tellEnd(entry.pod);
    this.ends.tell(entry.pod, 'Finished');
    this.#retirement.finished(uid, restartRequested);
  }

  #tellEnd(pod: PodReference): void {
    const { phase, reason } = this.#options.statusManager.get(pod.uid) ?? {};
    const how = isTerminalPhase(phase) ? [phase, reason && `(${reason})`] : ['stopped'];
    this.#options.logger.info(podFields(pod), `Finished: ${how.filter(Boolean).join(' ')}`);
  }

  /** No source wants it any more. */
  #removeDesired(uid: string): void {
    this.registry.kill(uid);
    this.#retirement.retireIfDue(uid);
  }

  #killAllPods(): void {
    this.#isExiting = true;
    this.desired.clear();
    for (const pod of this.#options.pleg.pods()) {
      if (this.registry.get(pod.uid) === undefined) this.#delivery.killRuntimePod(pod);
    }
    const uids = Array.from(this.registry.entries(), ({ pod }) => pod.uid);
    inTurns(this.#options.clock, uids, (uid) => this.#removeDesired(uid));
    this.#reportWhenAllGone();
  }

  #reportWhenAllGone(): void {
    if (this.#isExiting && this.registry.size === 0) this.send({ type: 'ALL_PODS_GONE' });
  }

  // Housekeeping

  #handleSourcesReady(): void {
    this.#orphans.begin();
    this.send({ type: 'HOUSEKEEPING' });
  }

  #cleanUpPods(): void {
    const { pleg, podRuntime, statusManager, probes } = this.#options;
    const plan = planHousekeeping({
      desired: this.desired,
      known: this.#knownPods(),
      runtimePods: pleg.pods(),
    });
    for (const uid of plan.retire) void this.#retirement.retire(uid);
    // An agent that exits with its pods wants none any more.
    if (!this.#isExiting) this.ended.keepOnly((uid) => this.desired.has(uid));
    const isKnown = (uid: string) => this.#isKnown(uid);
    statusManager.keepOnly(isKnown);
    probes.keepOnly(isKnown);
    for (const uid of plan.kill) this.registry.kill(uid);
    for (const uid of plan.start) {
      const pod = this.desired.get(uid);
      if (pod !== undefined) this.#create(pod);
    }
    for (const pod of plan.killRuntimePods) this.#delivery.killRuntimePod(pod);
    for (const pod of plan.removeRuntimePods) void this.#retirement.removeFromRuntime(pod);
    this.#orphans.turn();
    podRuntime.collectBackOffGarbage();
  }

  #isKnown(uid: string): boolean {
    return this.registry.get(uid) !== undefined || this.desired.has(uid);
  }

  *#knownPods() {
    for (const { pod, actor } of this.registry.entries()) {
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

type EventOf<Type extends SupervisorEvent['type']> = Extract<SupervisorEvent, { type: Type }>;

/** A handler of the events that the chart leads to it. */
function on<Type extends SupervisorEvent['type']>(handle: (event: EventOf<Type>) => void) {
  return ({ event }: { event: SupervisorEvent }): void => handle(event as EventOf<Type>);
}

function age({ metadata }: Pod): string {
  return metadata.creationTimestamp ?? '';
}
