/** The supervisor actor: the loop's handlers, by the kubelet's names, over the registry of pod actors. */
import { type ActorOptions, type ActorRefFrom, type AnyActorRef, createActor } from 'xstate';
import { supervisorMachine, type SupervisorEvent } from '../machines/supervisor-machine.ts';
import { planHousekeeping } from '../policies/sync/housekeeping.ts';
import { fullName } from '../policies/pod/pod-kinds.ts';
import {
  isTerminalPhase,
  type KillPodOptions,
  RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
} from '../policies/sync/pod-termination.ts';
import type { Pleg } from '../runtime/pleg/pleg.ts';
import type { PodNode } from '../runtime/node/pod-node.ts';
import type { PodRuntime } from '../runtime/pods/pod-runtime.ts';
import type { Clock } from '../types/clock.ts';
import { errorMessage } from '../types/errors.ts';
import type { EventRecorder, PodReference } from '../types/event-recorder.ts';
import type { Pod } from '../types/kubernetes.ts';
import { type Logger, podFields } from '../types/logger.ts';
import type { NodeFacts } from '../types/node-facts.ts';
import type { RuntimePodStatus } from '../types/runtime-pod.ts';
import { EffectSlots } from './pods/effect-slots.ts';
import { KillWaiters } from './pods/kill-waiters.ts';
import { type PodEffects, providePodMachine } from './pods/pod-actor.ts';
import { DesiredPods } from './pods/desired-pods.ts';
import { type PodEntry, PodRegistry, uidOfActor } from './pods/pod-registry.ts';
import { interruptedEnd } from './pods/interrupted-end.ts';
import { OrphanRemoval } from './pods/orphan-removal.ts';
import { PodAdmission } from './start/pod-admission.ts';
import { PodRemoval } from './pods/pod-removal.ts';
import { PodStarts } from './start/pod-starts.ts';
import type { ProbeManager } from './probes/probe-manager.ts';
import type { StatusManager } from './pods/status-manager.ts';
import { WorkQueue } from './pods/work-queue.ts';

/** A pod actor that failed is replaced after this time. */
const REVIVE_DELAY_MS = 1_000;

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
  /** Of victims of preemption that are otherwise equal, lower priority goes first. */
  readonly preemptionLowerPriorityFirst: boolean;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  readonly inspect?: ActorOptions<typeof supervisorMachine>['inspect'];
  readonly onStopped: () => void;
  /** A pod's actor has come that far; `Forgotten`: there is none any more. */
  readonly onPodEnd?: (uid: string, how: 'Terminated' | 'Finished' | 'Forgotten') => void;
}

export class Supervisor {
  readonly registry: PodRegistry;
  readonly #options: SupervisorOptions;
  readonly #actor: ActorRefFrom<typeof supervisorMachine>;
  readonly #slots = new EffectSlots();
  readonly #waiters = new KillWaiters();
  readonly #desired = new DesiredPods();
  readonly #removal: PodRemoval;
  readonly #admission: PodAdmission;
  readonly #starts: PodStarts;
  readonly #orphans: OrphanRemoval;
  readonly #workQueue: WorkQueue;
  #exiting = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { inspect, clock, pleg, podRuntime, node } = options;
    this.#removal = new PodRemoval(pleg, podRuntime, node);
    this.#admission = this.#buildAdmission();
    this.#starts = new PodStarts({
      registry: () => this.registry,
      ...{ removal: this.#removal, admission: this.#admission },
      askAgain: (request) => this.send(request),
    });
    this.#orphans = new OrphanRemoval({
      ...{ node, clock, removal: this.#removal },
      isKnown: (uid) => this.#isKnown(uid) || pleg.runtimeHolds(uid) !== 'nothing',
    });
    this.#workQueue = new WorkQueue(clock, (uids) => this.send({ type: 'SYNC', uids }));
    this.#actor = createActor(this.#machine(), {
      id: 'supervisor',
      input: { sources: options.sources },
      ...(inspect && { inspect }),
    });
    this.registry = new PodRegistry({
      machine: providePodMachine({
        ...options,
        slots: this.#slots,
        workQueue: this.#workQueue,
        waiters: this.#waiters,
        supervisor: this,
      }),
      parent: this.#actor,
      ...(inspect && { inspect }),
      synced: () => this.synced,
    });
  }

  /** The root of the tree of actors. */
  get actor(): AnyActorRef {
    return this.#actor;
  }

  /** Whether every source has been seen. */
  get synced(): boolean {
    return this.#actor.getSnapshot().matches({ Sources: 'Ready' });
  }

  /** Why the runtime is not ready, if so. */
  get runtimeProblem(): string | undefined {
    return this.#actor.getSnapshot().context.runtimeProblem;
  }

  start(): void {
    this.#actor.start();
  }

  /** What runs already holds its name: a static pod of that name that comes now waits for it to end. */
  adopt(): void {
    for (const pod of this.#options.pleg.pods()) {
      if (this.#runs(pod.uid)) this.#starts.adopt(fullName(pod), pod.uid);
    }
  }

  send(event: SupervisorEvent): void {
    this.#actor.send(event);
  }

  /**
   * Ends a pod: the one way for eviction, preemption and shutdown. Resolves when it is Terminated; at once when there
   * is no such pod.
   */
  async killPod(uid: string, options: Omit<KillPodOptions, 'waiter'> = {}): Promise<void> {
    if (this.registry.get(uid) === undefined) return;
    const { waiter, answered } = this.#waiters.add();
    this.registry.send(uid, { type: 'SyncPodKill', options: { ...options, waiter } });
    await answered;
  }

  /** Stops routing and asks the effects in flight to come to rest; resolves when they have. */
  async stop(): Promise<void> {
    this.#workQueue.stop();
    this.#admission.stop();
    await this.#slots.close();
    this.#actor.stop();
  }

  #buildAdmission(): PodAdmission {
    return new PodAdmission({
      ...this.#options,
      registry: () => this.registry,
      askAgain: (request) => this.send(request),
      parent: () => this.#actor,
    });
  }

  #machine(): typeof supervisorMachine {
    const { logger, onStopped } = this.#options;
    return supervisorMachine.provide({
      actions: {
        handlePodAdditions: on<'CONFIG.ADD'>(({ pods, source }) => {
          this.#tell(pods, `Added by source ${source}`);
          this.#add(pods);
        }),
        handlePodUpdates: on<'CONFIG.UPDATE'>(({ pods }) => pods.forEach((pod) => this.#update(pod))),
        dropDesiredPods: on<'CONFIG.REMOVE'>(({ pods }) => pods.forEach((pod) => this.#desired.delete(pod))),
        handlePodRemoves: on<'CONFIG.REMOVE'>(({ pods, source }) => {
          this.#tell(pods, `Removed by source ${source}`);
          for (const { metadata } of pods) this.#removeDesired(metadata.uid);
        }),
        handlePodReconcile: on<'CONFIG.RECONCILE'>(({ pods }) => {
          for (const pod of pods) this.#desired.set(pod);
          for (const { metadata } of pods) this.registry.send(metadata.uid, { type: 'SyncPodSync' });
        }),
        handlePodLifecycleEvents: on<'PLEG'>(({ uid }) => this.#handleLifecycleEvents(uid)),
        handlePodSyncs: on<'SYNC'>(({ uids }) => uids.forEach((uid) => this.#sync(uid))),
        handleProbeResult: on<'PROBE'>(({ uid }) => this.#handleProbeResult(uid)),
        handlePodCleanups: () => this.#cleanUpPods(),
        handlePodTerminated: on<'POD_TERMINATED'>(({ uid }) => this.#handleTerminated(uid)),
        handlePodFinished: on<'POD_FINISHED'>((event) => this.#handleFinished(event)),
        handlePodError: ({ event }) => this.#handlePodError(event),
        decideStart: on<'START_REQUESTED'>((event) => this.#starts.decide(event)),
        holdStart: on<'START_REQUESTED'>((event) => this.#starts.hold(event)),
        decideHeldStarts: () => this.#starts.decideHeld(),
        syncAllPods: () => [...this.registry.entries()].forEach(({ pod }) => this.#sync(pod.uid)),
        killAllPods: () => this.#killAllPods(),
        reportRuntimeState: on<'RUNTIME_NOT_READY' | 'RUNTIME_READY'>((event) => {
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
      const { isMirror } = this.#desired.set(pod);
      if (isMirror) this.#updateStaticPodOf(pod);
      else this.#create(pod);
    }
  }

  #update(pod: Pod): void {
    const { isMirror } = this.#desired.set(pod);
    if (isMirror) this.#updateStaticPodOf(pod);
    else this.#deliver(pod, 'SyncPodUpdate');
  }

  #updateStaticPodOf(mirrorPod: Pod): void {
    const pod = this.#desired.staticPodOf(mirrorPod);
    if (pod !== undefined) this.#deliver(pod, 'SyncPodUpdate');
  }

  #create(pod: Pod): void {
    if (this.registry.get(pod.metadata.uid) === undefined) this.#warnOfUnsupported(pod);
    this.#deliver(pod, 'SyncPodCreate');
  }

  #warnOfUnsupported(pod: Pod): void {
    const fields = this.#options.node.unsupportedFields(pod);
    if (fields.length === 0) return;
    this.#options.logger.warn(
      podFields(pod.metadata),
      `Not supported on this node, without effect: ${fields.join(', ')}`,
    );
  }

  #deliver(pod: Pod, type: 'SyncPodCreate' | 'SyncPodUpdate'): void {
    const { uid } = pod.metadata;
    if (this.registry.get(uid) === undefined) {
      this.#spawn(pod.metadata);
      if (this.#runs(uid)) this.#admission.adopt(pod);
    }
    const mirrorPod = this.#desired.mirrorPodOf(pod);
    this.registry.send(uid, { type, pod, ...(mirrorPod && { mirrorPod }) });
    const entry = this.registry.get(uid);
    if (entry && type === 'SyncPodCreate') this.#retireIfDue(entry);
  }

  #spawn({ uid, name, namespace }: PodReference): PodEntry {
    return this.registry.spawn({ uid, name, namespace }, this.#options.pleg.runtimeHolds(uid));
  }

  #handleTerminated(uid: string): void {
    const entry = this.registry.get(uid);
    // Who takes over its name comes before others that wait for room.
    if (entry !== undefined) this.#starts.ended(entry.fullName, uid);
    this.#admission.ended(uid);
    this.#options.onPodEnd?.(uid, 'Terminated');
  }

  // Routing

  #sync(uid: string): void {
    this.registry.send(uid, { type: 'SyncPodSync' });
  }

  /** A pod that is ending is not synced any more; whether it is ready shows nevertheless. */
  #handleProbeResult(uid: string): void {
    this.#sync(uid);
    const snapshot = this.registry.get(uid)?.actor.getSnapshot();
    if (snapshot === undefined || !snapshot.hasTag('containersTerminating') || snapshot.hasTag('terminated'))
      return;
    this.#options.effects.refreshStatus(snapshot.context);
  }

  #handleLifecycleEvents(uid: string): void {
    if (this.registry.send(uid, { type: 'SyncPodSync' })) return;
    // A pod that only the runtime knew has ended by itself: its name is free.
    const pod = this.#options.pleg.lastSeen(uid);
    if (pod !== undefined && !this.#runs(uid)) this.#starts.ended(fullName(pod), uid);
  }

  #runs(uid: string): boolean {
    return this.#options.pleg.runtimeHolds(uid) === 'running';
  }

  // Ending

  #handleFinished({ uid, restartRequested }: EventOf<'POD_FINISHED'>): void {
    const entry = this.registry.get(uid);
    if (entry) this.#tellEnd(entry);
    this.#options.onPodEnd?.(uid, 'Finished');
    if (entry !== undefined && (restartRequested || !this.#desired.has(uid))) void this.#retire(entry);
  }

  #tellEnd({ pod }: PodEntry): void {
    const { phase, reason } = this.#options.statusManager.get(pod.uid) ?? {};
    const how = isTerminalPhase(phase) ? [phase, reason && `(${reason})`] : ['stopped'];
    const message = `Finished: ${how.filter(Boolean).join(' ')}`;
    this.#options.logger.info(podFields(pod), message);
  }

  /** No source wants it any more. */
  #removeDesired(uid: string): void {
    this.registry.send(uid, { type: 'SyncPodKill' });
    const entry = this.registry.get(uid);
    if (entry !== undefined) this.#retireIfDue(entry);
  }

  /** Finished, and not wanted any more or asked for again: nobody has to wait for housekeeping's next turn. */
  #retireIfDue(entry: PodEntry): void {
    const snapshot = entry.actor.getSnapshot();
    if (!snapshot.hasTag('finished')) return;
    if (snapshot.context.restartRequested || !this.#desired.has(entry.pod.uid)) void this.#retire(entry);
  }

  /** Removes what the runtime keeps of a finished pod, then forgets it; it starts again if it was asked for again. */
  async #retire(entry: PodEntry): Promise<void> {
    const { pod } = entry;
    if (entry.retiring) return;
    entry.retiring = true;
    if (!(await this.#removeFromRuntime(pod))) {
      entry.retiring = false;
      return;
    }
    if (this.registry.get(pod.uid) !== entry) return;
    this.registry.forget(pod.uid);
    this.#options.statusManager.forget(pod.uid);
    this.#options.onPodEnd?.(pod.uid, 'Forgotten');
    const desired = this.#desired.get(pod.uid);
    if (desired !== undefined) this.#create(desired);
    this.#reportWhenAllGone();
  }

  async #removeFromRuntime(pod: PodReference): Promise<boolean> {
    try {
      return await this.#removal.remove(pod);
    } catch (error) {
      const message = `Cannot remove what is left of the pod, will be tried again: ${errorMessage(error)}`;
      this.#options.logger.warn(podFields(pod), message);
      this.#orphans.beginLater();
      return false;
    }
  }

  #killAllPods(): void {
    this.#exiting = true;
    this.#desired.clear();
    for (const pod of this.#options.pleg.pods()) {
      if (this.registry.get(pod.uid) === undefined) this.#killRuntimePod(pod);
    }
    for (const { pod } of [...this.registry.entries()]) this.#removeDesired(pod.uid);
    this.#reportWhenAllGone();
  }

  #reportWhenAllGone(): void {
    if (this.#exiting && this.registry.size === 0) this.send({ type: 'ALL_PODS_GONE' });
  }

  #killRuntimePod(pod: RuntimePodStatus): void {
    this.#spawn(pod);
    const options = { podTerminationGracePeriodSecondsOverride: RUNTIME_ONLY_GRACE_PERIOD_SECONDS };
    this.registry.send(pod.uid, { type: 'SyncPodKill', options });
  }

  // Housekeeping

  #handleSourcesReady(): void {
    this.#orphans.begin();
    this.send({ type: 'HOUSEKEEPING' });
  }

  #cleanUpPods(): void {
    const { pleg, podRuntime, statusManager, probes } = this.#options;
    const plan = planHousekeeping({
      desired: this.#desired,
      known: this.#knownPods(),
      runtimePods: pleg.pods(),
    });
    for (const uid of plan.retire) {
      const entry = this.registry.get(uid);
      if (entry !== undefined) void this.#retire(entry);
    }
    const isKnown = (uid: string) => this.#isKnown(uid);
    statusManager.keepOnly(isKnown);
    probes.keepOnly(isKnown);
    for (const uid of plan.kill) this.registry.send(uid, { type: 'SyncPodKill' });
    for (const uid of plan.start) {
      const pod = this.#desired.get(uid);
      if (pod !== undefined) this.#create(pod);
    }
    for (const pod of plan.killRuntimePods) this.#killRuntimePod(pod);
    for (const pod of plan.removeRuntimePods) void this.#removeFromRuntime(pod);
    this.#orphans.turn();
    podRuntime.collectBackOffGarbage();
  }

  #isKnown(uid: string): boolean {
    return this.registry.get(uid) !== undefined || this.#desired.has(uid);
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

  // Failures

  #handlePodError(event: SupervisorEvent): void {
    const uid = uidOfActor(event.type.slice('xstate.error.actor.'.length));
    const entry = this.registry.get(uid);
    if (entry === undefined) return;
    const error: unknown = 'error' in event ? event.error : undefined;
    this.#options.logger.error(
      { ...podFields(entry.pod), err: error },
      `The pod's actor failed, and is started anew: ${errorMessage(error)}`,
    );
    this.#options.clock.setTimeout(() => void this.#revive(entry), REVIVE_DELAY_MS);
  }

  /** Replaces an actor that failed, once its effect is at rest. What was to end goes on ending (I1). */
  async #revive(entry: PodEntry): Promise<void> {
    const { uid } = entry.pod;
    this.#slots.abort(entry.actor);
    await this.#slots.atRest(entry.actor);
    if (this.registry.get(uid) !== entry) return;
    this.registry.forget(uid);
    this.#spawn(entry.pod);
    const pod = this.#desired.get(uid);
    const { ending, kills } = interruptedEnd(entry);
    if (pod !== undefined && !ending) this.#deliver(pod, 'SyncPodCreate');
    else for (const kill of kills) this.registry.send(uid, kill);
    for (const event of entry.backlog) this.registry.send(uid, event);
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
