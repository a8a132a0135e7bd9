/** The life of one agent on a simulated node, from its start until it is stopped or killed. */
import { map, Observable, Subject, takeUntil } from 'rxjs';
import type { InspectedEventEvent, InspectionEvent, SnapshotFrom } from 'xstate';
import type { EvictionParts } from '../../actors/eviction/eviction-figures.ts';
import { NodeAgent } from '../../actors/node-agent.ts';
import type { PodEffects } from '../../actors/pods/pod-actor.ts';
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';
import type { EvictionEvent, evictionMachine } from '../../machines/eviction-machine.ts';
import type { PodContext, PodEvent } from '../../machines/pod-machine.ts';
import type { PreemptionContext, PreemptionEvent } from '../../machines/preemption-machine.ts';
import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import type { Eviction } from '../../policies/eviction/pass.ts';
import { PRESSURE_CONDITIONS } from '../../policies/eviction/signals.ts';
import { isEnding } from '../../policies/sync/pod-termination.ts';
import type { NodeParts } from '../../runtime/node/pod-node.ts';
import { type NodeFaults, type SimulatedDisk, simulatedNode } from './simulated-node.ts';
import type { SimulatedConnection } from '../../runtime/simulated/simulated-connection.ts';
import type { SimulatedRuntime } from '../../runtime/simulated/simulated-runtime.ts';
import type { CallUnderWay } from '../../runtime/simulated/witness.ts';
import { channelEvent, podConfig } from '../../sources/pod-config.ts';
import type { Clock } from '../../types/clock.ts';
import type { PodStatus } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { EvictionTruth, EvictionView } from '../judges/eviction-judge.ts';
import { type EffectName, LifeJudge, type Violation } from '../judges/judge.ts';
import type { Kill } from '../plan/plan.ts';
import { goesOnForever } from '../plan/pod-specs.ts';
import { isEndingState, stateName } from '../judges/pod-states.ts';
import { evictionConfiguration, type EvictionRules } from '../resources/eviction-rules.ts';
import type { SimulatedResources } from '../resources/simulated-resources.ts';
import { SimulatedStats, type StatsFaults } from '../resources/simulated-stats.ts';
import { RoomJudge } from '../judges/room-judge.ts';
import { seededRandom } from '../plan/seeded-random.ts';
import { SimulatedReclaimer } from './simulated-reclaimer.ts';
import type { SimulatedSources } from './simulated-sources.ts';
import { MortalClock } from './virtual-clock.ts';

/** How long a stopped agent waits for its effects in flight (the daemon's). */
const REST_MS = 2_000;
const SYNC_FREQUENCY_MS = 60_000;
const MAX_CONTAINER_RESTART_PERIOD_MS = 300_000;
const MAX_LATENESS_MS = 60_000;

export interface LifeOptions {
  readonly node: number;
  /** Counts the lives of a node. */
  readonly ordinal: number;
  readonly clock: Clock;
  readonly runtime: SimulatedRuntime;
  readonly disk: SimulatedDisk;
  readonly sources: SimulatedSources;
  readonly nodeFacts: () => NodeFacts;
  readonly random: (key: string) => number;
  readonly faults: () => NodeFaults & StatsFaults;
  /** Where it is left out, the agent evicts nobody. */
  readonly eviction?: { readonly resources: SimulatedResources; readonly rules: EvictionRules } | undefined;
  readonly nameOf: (uid: string) => string | undefined;
  readonly tell: (uid: string, name: string, what: string) => void;
  readonly onViolation: (violation: Violation) => void;
  /** A pod has come to its end, as far as its actor is concerned. */
  readonly onFinished: (uid: string) => void;
}

export class Life {
  readonly agent: NodeAgent;
  readonly judge: LifeJudge;
  readonly room: RoomJudge;
  readonly connection: SimulatedConnection;
  /** Unix ms. */
  readonly beganAt: number;
  readonly #options: LifeOptions;
  readonly #clock: MortalClock;
  /** Kills that have not been answered: they die with the agent. */
  unanswered = 0;
  /** UIDs of the pods that were killed: this agent does not start them again. */
  readonly killed = new Set<string>();
  readonly #stats: SimulatedStats | undefined;
  readonly #reclaimer: SimulatedReclaimer | undefined;
  readonly #death = new Subject<undefined>();
  #alive = true;

  constructor(options: LifeOptions) {
    this.#options = options;
    const { node, runtime, clock, random, ordinal, nodeFacts } = options;
    this.#clock = new MortalClock(clock);
    this.beganAt = clock.now();
    this.connection = runtime.connect();
    const { onViolation } = options;
    this.judge = new LifeJudge({ node, truth: runtime, onViolation }, this.connection.id);
    this.room = new RoomJudge({
      ...{ node, nodeFacts, onViolation, now: () => clock.now() },
      isRunning: (uid) => runtime.isRunning(uid),
      found: runtime.uids().filter((uid) => runtime.isRunning(uid)),
      eviction: this.#evictionTruth(),
    });
    this.#stats = this.#buildStats();
    this.#reclaimer = this.#buildReclaimer();
    const eviction = this.#eviction();
    const chance = seededRandom(random(`life/${String(ordinal)}`) * 2 ** 32);
    this.agent = new NodeAgent({
      parts: this.#parts(),
      sources: ['file', 'api'],
      configuration: this.#configuration(),
      clock: this.#clock,
      random: () => chance.next(),
      hostIPs: ['192.0.2.1'],
      syncFrequencyMs: SYNC_FREQUENCY_MS,
      nodeFacts,
      preemptionLowerPriorityFirst: true,
      ...(eviction && { eviction }),
      maxContainerRestartPeriodMs: MAX_CONTAINER_RESTART_PERIOD_MS,
      maximumDeadContainersPerContainer: 1,
      startsAtOnce: 16,
      recorder: {
        event: ({ uid, name }, type, reason) => this.#tell(uid, name, `event ${type} ${reason}`),
        nodeEvent: () => undefined,
      },
      logger: this.#logger(),
      inspect: (event) => this.#inspect(event),
      wrapEffects: (effects) => this.#watched(effects),
    });
    this.agent.start();
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Asks for the pod's end, as eviction and preemption do; false where there is no such pod. */
  kill(uid: string, { graceSeconds, reason }: Kill): boolean {
    const { actor } = this.agent.supervisor.registry.get(uid) ?? {};
    if (actor === undefined) return false;
    this.killed.add(uid);
    this.unanswered += 1;
    const options = {
      podTerminationGracePeriodSecondsOverride: graceSeconds,
      ...(reason !== undefined && { podStatus: { phase: 'Failed', reason } as const }),
      ...(reason === 'Evicted' && { evict: true }),
    };
    void this.agent.supervisor.killPod(uid, options).then(() => {
      this.unanswered -= 1;
      if (!this.#alive || actor.getSnapshot().matches('Terminated')) return;
      this.#violated('I7', uid, `a kill is answered in ${stateName(actor.getSnapshot())}`);
    });
    return true;
  }

  /** SIGKILL: from now on nothing that it has begun has any effect but what is with the runtime already. */
  die(): void {
    this.#alive = false;
    this.#clock.die();
    this.#stats?.close();
    this.#death.next(undefined);
    this.connection.cut();
    this.#reclaimer?.connection.cut();
  }

  /** SIGTERM, without taking its pods along. */
  async stop(): Promise<void> {
    await this.agent.shutDown(false);
    const { promise: timeUp, resolve } = Promise.withResolvers<undefined>();
    this.#clock.setTimeout(() => resolve(undefined), REST_MS);
    await Promise.race([this.agent.stop(), timeUp]);
    if (this.#alive) this.die();
  }

  #parts(): NodeParts {
    const { disk, random, faults, clock } = this.#options;
    const runtime = this.connection;
    const reclaimer = this.#reclaimer;
    const node = simulatedNode({
      ...{ runtime, disk, random, faults, now: () => clock.now() },
      onRelease: (uid) => this.#alive && this.judge.released(uid),
      isAlive: () => this.#alive,
    });
    return {
      ...{ runtime, node, ...(reclaimer && { reclaimer }) },
      start: (view) => reclaimer?.start(view),
      stop: () => Promise.resolve(),
    };
  }

  #eviction(): EvictionParts | undefined {
    const stats = this.#stats;
    const { eviction } = this.#options;
    if (eviction === undefined || stats === undefined) return undefined;
    return { configuration: evictionConfiguration(eviction.rules), stats: () => Promise.resolve(stats) };
  }

  #buildStats(): SimulatedStats | undefined {
    const { eviction, random, faults, nameOf, ordinal } = this.#options;
    if (eviction === undefined) return undefined;
    return new SimulatedStats({
      ...{ resources: eviction.resources, clock: this.#clock, faults, nameOf },
      random: (key) => random(`life/${String(ordinal)}/${key}`),
      onMeasure: () => this.room.evictions?.measures() ?? (() => undefined),
    });
  }

  #evictionTruth(): EvictionTruth | undefined {
    const { eviction, runtime } = this.#options;
    if (eviction === undefined) return undefined;
    const { rules, resources } = eviction;
    return { rules, runtime, storageOf: (uid) => resources.storage?.ofPod(uid) };
  }

  /** By a connection of its own: what it does beside the pods' effects is told from what they do. */
  #buildReclaimer(): SimulatedReclaimer | undefined {
    const { eviction, runtime } = this.#options;
    if (eviction?.resources.storage === undefined) return undefined;
    return new SimulatedReclaimer({
      ...{ runtime: runtime.connect(), clock: this.#clock, logger: this.#logger() },
      onReclaim: (what) => this.room.evictions?.reclaims(what) ?? (() => undefined),
    });
  }

  /** A call to the runtime has begun. */
  callBegan(call: CallUnderWay): void {
    this.judge.callBegan(call);
    if (call.connection === this.#reclaimer?.connection.id) this.room.evictions?.removes(call);
  }

  #configuration(): Observable<SupervisorEvent> {
    const { clock, sources, node } = this.#options;
    const { file, api } = sources.lists;
    const onProblem = ({ message }: { message: string }) =>
      this.#options.onViolation({ invariant: 'defect', node, what: `a source has a problem: ${message}` });
    return podConfig({ file, api: this.#late(api) }, { now: () => clock.now(), onProblem }).pipe(
      map(channelEvent),
      takeUntil(this.#death),
    );
  }

  /** An API server is not always there when an agent starts. */
  #late<T>(list: Observable<T>): Observable<T> {
    const { random, ordinal } = this.#options;
    const delayMs = Math.max(0, random(`life/${String(ordinal)}/api`) - 0.5) * MAX_LATENESS_MS;
    return new Observable((subscriber) => {
      const timer = this.#clock.setTimeout(() => subscriber.add(list.subscribe(subscriber)), delayMs);
      return () => this.#clock.clearTimeout(timer);
    });
  }

  /** Something of the pod has been started, or ended, by a call that nobody waits for any more. */
  landedLate(uid: string): void {
    this.judge.landedLate(uid);
    this.room.landedLate(uid);
  }

  #inspect(event: InspectionEvent): void {
    if (!this.#alive) return;
    if (event.type === '@xstate.event') {
      this.#inspectPreemption(event);
      this.#inspectEviction(event);
    }
    if (event.type !== '@xstate.snapshot') return;
    if (isEviction(event)) {
      const view = viewOf(event.snapshot as EvictionSnapshot);
      this.room.evictions?.shows(event.event as EvictionEvent, view);
    }
    const snapshot = event.snapshot as unknown as PodSnapshot;
    if (!isPod(snapshot)) return;
    const { uid, fullName } = snapshot.context;
    const state = stateName(snapshot);
    const [name = ''] = fullName.split('_');
    this.#tell(uid, name, `${event.event.type} -> ${state}`);
    this.room.sees(event.actorRef, snapshot, event.event as PodEvent);
    const isNew = this.judge.sees(event.actorRef, snapshot, event.event as PodEvent);
    if (isNew && isEndingState(state)) this.#checkGivenUp(uid, name);
    if (isNew && state === 'Terminated.Finished') this.#finished(uid, event.event as PodEvent);
  }

  #inspectPreemption({ actorRef, event }: InspectedEventEvent): void {
    const { context } = actorRef.getSnapshot() as { context?: Partial<PreemptionContext> };
    if (context?.preemptor === undefined || event.type.startsWith('xstate.')) return;
    const { uid, name } = context.preemptor;
    this.#tell(uid, name, `preemption: ${toldOf(event as PreemptionEvent)}`);
    this.room.hears(uid, event as PreemptionEvent);
  }

  #inspectEviction(inspected: InspectedEventEvent): void {
    if (!isEviction(inspected) || inspected.event.type.startsWith('xstate.')) return;
    const event = inspected.event as EvictionEvent;
    for (const { pod, signal } of chosenBy(event))
      this.#tell(pod.uid, pod.name, `eviction: is chosen to go for ${signal}`);
    this.room.evictions?.hears(event, viewOf(inspected.actorRef.getSnapshot() as EvictionSnapshot));
  }

  #watched(effects: PodEffects): PodEffects {
    const watched = (name: EffectName) => async (context: PodContext, signal: AbortSignal) => {
      const ended = this.#alive ? this.judge.effectBegins(name, context, signal) : undefined;
      try {
        return await effects[name](context, signal);
      } finally {
        ended?.();
      }
    };
    return {
      syncPod: watched('syncPod'),
      stopPod: watched('stopPod'),
      cleanUpPod: watched('cleanUpPod'),
      refreshStatus: (context) => effects.refreshStatus(context),
    };
  }

  /** Nothing ends a pod that is wanted, and would go on for ever (lifecycle 3). */
  #checkGivenUp(uid: string, name: string): void {
    const { sources } = this.#options;
    const pod = sources.get(name);
    if (pod?.metadata.uid !== uid || this.killed.has(uid) || sources.wasGivenUp(uid)) return;
    if (this.room.hasReasonToEnd(uid)) return;
    if (isEnding(pod) || !goesOnForever(pod)) return;
    this.#violated('rule 3', uid, 'is ended, though nobody has asked for that');
  }

  /** A pod that has come to its end has been cleaned up after, and says why it has ended (lifecycle 5, 8). */
  #finished(uid: string, { type }: PodEvent): void {
    const { disk, onFinished } = this.#options;
    // One that never started is finished at once; what a dead agent mounted for it goes with its folder.
    if (disk.get(uid)?.mounted === true && !type.startsWith('SyncPod'))
      this.#violated('rule 8', uid, 'is finished, and its volumes are mounted');
    const status = this.agent.statusManager.get(uid);
    const wanted = this.judge.ordersOf(uid)?.status;
    if (status !== undefined && status.phase === wanted?.phase && status.reason !== wanted?.reason)
      this.#violated('rule 5', uid, `ends as ${String(status.reason)}, not as ${String(wanted?.reason)}`);
    this.#checkRejected(uid, status);
    onFinished(uid);
  }

  #checkRejected(uid: string, { phase, reason }: PodStatus = {}): void {
    const { rejection } = this.room.tenant(uid) ?? {};
    if (rejection === undefined || (phase === 'Failed' && reason === rejection)) return;
    this.#violated('admission', uid, `ends as ${String(phase)} ${String(reason)}, not as ${rejection}`);
  }

  /** An error in the log is a defect: the agent says so where something went otherwise than its charts foresee. */
  #logger(): Logger {
    const nothing = () => undefined;
    const { node, onViolation } = this.#options;
    return {
      ...{ trace: nothing, debug: nothing, info: nothing, warn: nothing },
      error: (fields, what) => {
        const uid = 'uid' in fields ? { uid: String(fields.uid) } : {};
        // What guards an invariant in the agent itself says which.
        const [, invariant = 'defect'] = /\((I\d+)\)$/.exec(what) ?? [];
        if (this.#alive) onViolation({ invariant, node, what, ...uid });
      },
    };
  }

  #violated(invariant: string, uid: string, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, uid, what });
  }

  #tell(uid: string, name: string, what: string): void {
    if (this.#alive) this.#options.tell(uid, name, what);
  }
}

/** In one line, with the UIDs of those that it is about. */
function toldOf(event: PreemptionEvent): string {
  if (event.type === 'VICTIMS_SELECTED') {
    const victims = event.decision.victims.map(({ candidate }) => candidate.uid);
    return `${event.type} ${victims.join()}; awaited: ${event.awaited.join()}`;
  }
  return 'uid' in event ? `${event.type} ${event.uid}` : event.type;
}

type EvictionSnapshot = SnapshotFrom<typeof evictionMachine>;

function chosenBy(event: EvictionEvent): readonly Eviction[] {
  if (event.type === 'EVALUATED') return event.evaluation.overLimit;
  return event.type === 'RANKED' && event.choice.eviction !== undefined ? [event.choice.eviction] : [];
}

function isEviction({ actorRef }: InspectionEvent): boolean {
  return 'id' in actorRef && actorRef.id === 'eviction';
}

function viewOf(snapshot: EvictionSnapshot): EvictionView {
  const conditions = PRESSURE_CONDITIONS.filter((condition) => snapshot.hasTag(condition));
  return { pass: snapshot.value.Pass, conditions };
}

function isPod(snapshot: PodSnapshot): boolean {
  return 'runtimeHolds' in snapshot.context;
}
