/**
 * One path of the supervisor machine, replayed against the production supervisor and running pods. Events of streams are sent.
 * Events of pods are brought about: the replay lets the held calls of a pod proceed.
 */
import { expect } from '@jest/globals';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { NodeAgent } from '../../../src/agent/actors/node-agent.ts';
import type { PodEffects } from '../../../src/agent/actors/pods/pod-actor.ts';
import type { PodActor, PodRegistry } from '../../../src/agent/actors/pods/pod-registry.ts';
import type { supervisorMachine } from '../../../src/agent/machines/supervisor-machine.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { InvariantJudge } from '../../support/invariant-judge.ts';
import { type HeldCall, type Method, SteeredNode } from '../../support/steered-runtime.ts';
import type { Coverage } from '../coverage.ts';
import { agentOn, type PathNode } from '../path-node.ts';
import type { Path, Step } from '../paths.ts';
import { replaying } from '../replaying.ts';
import {
  type FromPods,
  isFromPods,
  PODS,
  type SupervisorEventName,
  type SupervisorState,
} from './supervisor-environment.ts';

type SupervisorPath = Path<typeof supervisorMachine>;

const { ending, waiting, wanted, added } = PODS;

/** Longer than it takes to replace a failed actor. */
const REVIVED_MS = 2_000;

export async function replaySupervisor(
  pathNode: PathNode,
  sources: readonly string[],
  path: SupervisorPath,
  coverage: Coverage,
): Promise<void> {
  const replay = new SupervisorReplay(pathNode, sources, coverage);
  const steps = async () => {
    await replay.prepare();
    for (const step of path) await replay.step(step);
    await replay.finish();
  };
  const end = async () => {
    await replay.stop();
    await pathNode.clear();
  };
  await replaying({ path, coverage, of: sources.join(), steps, end });
}

class SupervisorReplay {
  readonly #pathNode: PathNode;
  readonly #judge: InvariantJudge;
  readonly #node: SteeredNode;
  readonly #agent: NodeAgent;
  readonly #rules: SupervisorRules;
  readonly #stages: readonly HeldCall[];
  #hasStopped = false;
  #endingActor: PodActor | undefined;
  /** The types of the events that the supervisor has received in this step. */
  #received: string[] = [];

  constructor(pathNode: PathNode, sources: readonly string[], coverage: Coverage) {
    this.#pathNode = pathNode;
    this.#judge = new InvariantJudge(pathNode.runtime);
    this.#node = new SteeredNode(pathNode.open(), this.#judge);
    this.#agent = agentOn(pathNode, this.#node.parts, {
      sources,
      wrapEffects: (effects) => this.#counted(this.#judge.wrapEffects(effects)),
      inspect: (event) => {
        this.#judge.inspect(event);
        coverage.inspect(event);
        this.#listen(event);
      },
    });
    this.#rules = new SupervisorRules(this.#agent.supervisor.registry, sources);
    for (const pod of [waiting, wanted]) this.#holdEnd(pod);
    this.#stages = this.#holdEnd(ending);
  }

  /** Two pods run, and one waits for the name of another. The supervisor is in its first state. */
  async prepare(): Promise<void> {
    const { supervisor, statusManager } = this.#agent;
    this.#agent.start();
    await this.#pathNode.until('the runtime to be ready', () => supervisor.runtimeProblem === undefined);
    supervisor.send({ type: 'CONFIG.ADD', source: 'file', pods: [ending, wanted, waiting] });
    const runs = ({ metadata }: Pod) => statusManager.get(metadata.uid)?.phase === 'Running';
    await this.#pathNode.until('the pods to run', () => runs(ending) && runs(wanted));
    this.#endingActor = supervisor.registry.get(ending.metadata.uid)?.actor;
    // The removed pod is ended only after every source has been seen.
    supervisor.send({ type: 'CONFIG.REMOVE', source: 'file', pods: [ending] });
    supervisor.send({ type: 'RUNTIME_NOT_READY', problem: 'the path has not begun' });
  }

  async step({ name, event, after }: Step<typeof supervisorMachine>): Promise<void> {
    this.#received = [];
    this.#rules.told(name as SupervisorEventName);
    if (isFromPods(name)) this.#letPods(name);
    else if (event.type === 'SHUTDOWN')
      void this.#agent.shutDown(event.exitWithPods).then(() => (this.#hasStopped = true));
    else this.#agent.supervisor.send(event);
    await this.#pathNode.until(`${event.type} to reach the supervisor`, () =>
      this.#received.includes(event.type),
    );
    await this.#pathNode.clock.advance(1);
    expect(facts(this.#state)).toEqual(facts(after));
    await this.#check();
  }

  async #check(): Promise<void> {
    expect(this.#hasStopped).toBe(this.#rules.hasLeft);
    expect(this.#rules.broken()).toEqual([]);
    expect(await this.#judge.check()).toEqual([]);
  }

  /** When the runtime is ready, waiting pods start. When all held calls proceed, ending pods end (I7). */
  async finish(): Promise<void> {
    this.#rules.told('ready');
    this.#agent.supervisor.send({ type: 'RUNTIME_READY' });
    await this.#pathNode.clock.advance(1);
    await this.#check();
    this.#node.proceedAll();
    await this.#pathNode.clock.advance(REVIVED_MS);
    const { registry } = this.#agent.supervisor;
    const isEnding = () =>
      [...registry.entries()].some(
        ({ pod: { uid } }) => registry.isPodTerminationRequested(uid) && !registry.isPodKnownTerminated(uid),
      );
    await this.#pathNode.until('the pods that end to end', () => !isEnding());
    const dead = [...registry.entries()].filter(({ actor }) => actor.getSnapshot().status !== 'active');
    expect(dead.map(({ pod }) => pod.uid)).toEqual([]);
    if (registry.get(ending.metadata.uid) === undefined)
      expect(this.#endingActor?.getSnapshot().status).toBe('stopped');
    expect(await this.#judge.check()).toEqual([]);
  }

  async stop(): Promise<void> {
    this.#node.proceedAll();
    await this.#agent.stop();
    await this.#node.parts.stop();
  }

  get #state(): SupervisorState {
    return this.#agent.supervisor.actor.getSnapshot() as SupervisorState;
  }

  /** Holds the calls by which the pod is stopped, cleaned up and forgotten: one stage each. */
  #holdEnd({ metadata: { uid } }: Pod): readonly HeldCall[] {
    const stages: readonly Method[][] = [['stopContainer', 'stopPodSandbox'], ['release'], ['remove']];
    return stages.map((methods) =>
      this.#node.hold((call) => call.uid === uid && methods.includes(call.method)),
    );
  }

  #counted(effects: PodEffects): PodEffects {
    return {
      ...effects,
      syncPod: (context, signal) => {
        this.#rules.syncBegins(context.uid);
        return effects.syncPod(context, signal);
      },
    };
  }

  #letPods(name: FromPods): void {
    const { registry } = this.#agent.supervisor;
    const { uid } = ending.metadata;
    switch (name) {
      case 'runtimeAwaited':
        this.#agent.supervisor.send({ type: 'RUNTIME_AWAITED', uid: waiting.metadata.uid });
        break;
      case 'podFailed':
        this.#judge.failureIsMeant(wanted.metadata.uid);
        registry.send(wanted.metadata.uid, { type: 'SyncPodUpdate', pod: {} as Pod });
        break;
      case 'allPodsGone':
        this.#node.proceedAll();
        break;
      case 'podTerminated':
      case 'podFinished':
      case 'actorForgotten': {
        const stages = ['podTerminated', 'podFinished', 'actorForgotten'].indexOf(name) + 1;
        this.#judge.kill(this.#agent, uid, {});
        for (const held of this.#stages.slice(0, stages)) held.proceed();
      }
    }
  }

  #listen(event: InspectionEvent): void {
    if (event.type !== '@xstate.microstep') return;
    if ((event.actorRef as AnyActorRef).id === 'supervisor') this.#received.push(event.event.type);
  }
}

/** The parts of a state that are compared: not the text of a runtime problem, which differs by its cause. */
function facts({ value, context }: SupervisorState): object {
  const { unseenSources, runtimeProblem } = context;
  return { value, unseenSources, isRuntimeReady: runtimeProblem === undefined };
}

const ALL = Object.values(PODS);

/** What the supervisor has to do with its pods, by its events and not by its machine: the replay checks that the pods do it. */
class SupervisorRules {
  readonly #registry: PodRegistry;
  readonly #unseen: Set<string>;
  /** Pods that no source wants any more. */
  readonly #unwanted = new Set<Pod>([ending]);
  /** The pods that have to end. No other pods may end. */
  readonly #ending = new Set<Pod>();
  /** The pods that have to be started: wanted, with the runtime ready since then. */
  readonly #starting = new Set<Pod>([ending, wanted]);
  readonly #syncs = new Map<string, number>();
  #syncsOfWanted = 0;
  #wantedIsToSync = false;
  #hasFailed = false;
  #isReady = false;
  #isLeaving = false;
  /** The agent has stopped, and waits for none of its pods. */
  hasLeft = false;

  constructor(registry: PodRegistry, sources: readonly string[]) {
    this.#registry = registry;
    this.#unseen = new Set(sources);
    this.#endUnwanted();
  }

  syncBegins(uid: string): void {
    this.#syncs.set(uid, this.#syncsOf(uid) + 1);
  }

  /** Called before the supervisor receives the event. */
  told(name: SupervisorEventName): void {
    this.#syncsOfWanted = this.#syncsOf(wanted.metadata.uid);
    this.#wantedIsToSync = this.#syncsWanted(name);
    if (name === 'fileSeen') this.#unseen.delete('file');
    if (name === 'httpSeen') this.#unseen.delete('http');
    if (name === 'podFailed') this.#hasFailed = true;
    if (name === 'ready' || name === 'notReady') this.#isReady = name === 'ready';
    if (name === 'podTerminated' || name === 'podFinished' || name === 'actorForgotten')
      this.#ending.add(ending);
    if (!this.#isLeaving) this.#beforeLeaving(name);
    if (name === 'leave' || name === 'leaveWithPods') this.#isLeaving = true;
    if (name === 'leave' || name === 'allPodsGone') this.hasLeft = true;
    this.#endUnwanted();
  }

  /** The rules that are broken, after the event and all that followed from it. */
  broken(): readonly string[] {
    if (this.#isReady) for (const pod of [waiting, added]) if (this.#mayStart(pod)) this.#starting.add(pod);
    const synced = this.#syncsOf(wanted.metadata.uid) > this.#syncsOfWanted;
    const lives = this.#isKnown(wanted) && !this.#ending.has(wanted) && !this.#hasFailed;
    return [
      ...ALL.filter((pod) => this.#isKnown(pod)).flatMap((pod) => this.#brokenBy(pod)),
      ...(lives && synced !== this.#wantedIsToSync ? [`the wanted pod is synced: ${synced}`] : []),
    ];
  }

  /** Events that count only until the agent leaves. */
  #beforeLeaving(name: SupervisorEventName): void {
    if (name === 'remove') this.#unwanted.add(wanted);
    if (name === 'delete') this.#ending.add(wanted);
    if (name !== 'leaveWithPods') return;
    for (const pod of ALL) this.#ending.add(pod);
  }

  #syncsWanted(name: SupervisorEventName): boolean {
    if (name === 'ready') return !this.#isReady;
    if (name === 'sync') return this.#isReady;
    if (name === 'update' || name === 'reconcile') return !this.#isLeaving;
    return name === 'pleg' || name === 'probe';
  }

  /** Pods that are not wanted are ended only after every source has been seen. */
  #endUnwanted(): void {
    if (this.#unseen.size === 0) for (const pod of this.#unwanted) this.#ending.add(pod);
  }

  /** The waiting pod gets its name when the other pod is Terminated. */
  #mayStart(pod: Pod): boolean {
    if (!this.#isKnown(pod) || this.#ending.has(pod)) return false;
    const { uid } = ending.metadata;
    return pod === added || this.#registry.get(uid) === undefined || this.#registry.isPodKnownTerminated(uid);
  }

  #brokenBy(pod: Pod): readonly string[] {
    const { uid } = pod.metadata;
    const ends = this.#registry.isPodTerminationRequested(uid);
    const hasStarted = this.#syncsOf(uid) > 0;
    return [
      ...(ends === this.#ending.has(pod) ? [] : [`${uid} ends: ${ends}`]),
      ...(ends || hasStarted === this.#starting.has(pod) ? [] : [`${uid} has started: ${hasStarted}`]),
    ];
  }

  #isKnown({ metadata }: Pod): boolean {
    return this.#registry.get(metadata.uid) !== undefined;
  }

  #syncsOf(uid: string): number {
    return this.#syncs.get(uid) ?? 0;
  }
}
