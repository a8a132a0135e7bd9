/**
 * One path of the supervisor machine, replayed against the production supervisor over pods that run. What streams say is
 * sent; what pods say is brought about by what they are let do.
 */
import { expect } from '@jest/globals';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { NodeAgent } from '../../../src/actors/node-agent.ts';
import type { PodEffects } from '../../../src/actors/pods/pod-actor.ts';
import type { PodActor } from '../../../src/actors/pods/pod-registry.ts';
import type { supervisorMachine } from '../../../src/machines/supervisor-machine.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { InvariantJudge } from '../../support/invariant-judge.ts';
import { type HeldCall, type Method, SteeredNode } from '../../support/steered-runtime.ts';
import type { Coverage } from '../coverage.ts';
import { agentOn, type Ground } from '../ground.ts';
import { type Path, type Step, story } from '../paths.ts';
import {
  type FromPods,
  isFromPods,
  PODS,
  type SupervisorEventName,
  type SupervisorState,
} from './supervisor-environment.ts';
import { SupervisorRules } from './supervisor-rules.ts';

type SupervisorPath = Path<typeof supervisorMachine>;

const { ending, waiting, wanted } = PODS;

/** Until an actor that failed is replaced. */
const REVIVED_MS = 2_000;

export async function replaySupervisor(
  ground: Ground,
  sources: readonly string[],
  path: SupervisorPath,
  coverage: Coverage,
): Promise<void> {
  const replay = new SupervisorReplay(ground, sources, coverage);
  try {
    await replay.prepare();
    for (const step of path) await replay.step(step);
    await replay.finish();
    coverage.replayed(path);
  } catch (error) {
    if (error instanceof Error) error.message = `${sources.join()}: ${story(path)}: ${error.message}`;
    throw error;
  } finally {
    await replay.stop();
    await ground.clear();
  }
}

class SupervisorReplay {
  readonly #ground: Ground;
  readonly #judge: InvariantJudge;
  readonly #node: SteeredNode;
  readonly #agent: NodeAgent;
  readonly #rules: SupervisorRules;
  readonly #stages: readonly HeldCall[];
  #hasStopped = false;
  #endingActor: PodActor | undefined;
  /** The types of what the supervisor has been told since the step began. */
  #received: string[] = [];

  constructor(ground: Ground, sources: readonly string[], coverage: Coverage) {
    this.#ground = ground;
    this.#judge = new InvariantJudge(ground.runtime);
    this.#node = new SteeredNode(ground.open(), this.#judge);
    this.#agent = agentOn(ground, this.#node.parts, {
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

  /** Pods that run, one that waits for the name of another, and the supervisor as it was when it began. */
  async prepare(): Promise<void> {
    const { supervisor, statusManager } = this.#agent;
    this.#agent.start();
    await this.#ground.until('the runtime to be ready', () => supervisor.runtimeProblem === undefined);
    supervisor.send({ type: 'CONFIG.ADD', source: 'file', pods: [ending, wanted, waiting] });
    const runs = ({ metadata }: Pod) => statusManager.get(metadata.uid)?.phase === 'Running';
    await this.#ground.until('the pods to run', () => runs(ending) && runs(wanted));
    this.#endingActor = supervisor.registry.get(ending.metadata.uid)?.actor;
    // What is not wanted any more is ended at once only when every source has been seen.
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
    await this.#ground.until(`${event.type} to reach the supervisor`, () =>
      this.#received.includes(event.type),
    );
    await this.#ground.clock.advance(1);
    expect(facts(this.#state)).toEqual(facts(after));
    await this.#check();
  }

  async #check(): Promise<void> {
    expect(this.#hasStopped).toBe(this.#rules.hasLeft);
    expect(this.#rules.broken()).toEqual([]);
    expect(await this.#judge.look()).toEqual([]);
  }

  /** What waits for the runtime starts once that is ready; what was on its way to its end gets there once it is let (I7). */
  async finish(): Promise<void> {
    this.#rules.told('ready');
    this.#agent.supervisor.send({ type: 'RUNTIME_READY' });
    await this.#ground.clock.advance(1);
    await this.#check();
    this.#node.letAllGo();
    await this.#ground.clock.advance(REVIVED_MS);
    const { registry } = this.#agent.supervisor;
    const isEnding = () =>
      [...registry.entries()].some(
        ({ pod: { uid } }) => registry.isPodTerminationRequested(uid) && !registry.isPodKnownTerminated(uid),
      );
    await this.#ground.until('the pods that end to end', () => !isEnding());
    const dead = [...registry.entries()].filter(({ actor }) => actor.getSnapshot().status !== 'active');
    expect(dead.map(({ pod }) => pod.uid)).toEqual([]);
    if (registry.get(ending.metadata.uid) === undefined)
      expect(this.#endingActor?.getSnapshot().status).toBe('stopped');
    expect(await this.#judge.look()).toEqual([]);
  }

  async stop(): Promise<void> {
    this.#node.letAllGo();
    await this.#agent.stop();
    await this.#node.parts.stop();
  }

  get #state(): SupervisorState {
    return this.#agent.supervisor.actor.getSnapshot() as SupervisorState;
  }

  /** It ends step by step, each when it is let: stopped, cleaned up, forgotten. */
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
        this.#node.letAllGo();
        break;
      case 'podTerminated':
      case 'podFinished':
      case 'actorForgotten': {
        const stages = ['podTerminated', 'podFinished', 'actorForgotten'].indexOf(name) + 1;
        this.#judge.kill(this.#agent, uid, {});
        for (const held of this.#stages.slice(0, stages)) held.letGo();
      }
    }
  }

  #listen(event: InspectionEvent): void {
    if (event.type !== '@xstate.microstep') return;
    if ((event.actorRef as AnyActorRef).id === 'supervisor') this.#received.push(event.event.type);
  }
}

/** The problem's words are those of whoever saw it. */
function facts({ value, context }: SupervisorState): object {
  const { unseenSources, runtimeProblem } = context;
  return { value, unseenSources, isRuntimeReady: runtimeProblem === undefined };
}
