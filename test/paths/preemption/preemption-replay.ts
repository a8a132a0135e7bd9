/**
 * One path of the preemption machine, replayed against the production agent: pods are added, end, hang and are deleted, and
 * the size of the node changes. All events of the actor come from the agent.
 */
import { expect } from '@jest/globals';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { NodeAgent } from '../../../src/agent/actors/node-agent.ts';
import type { PodSnapshot } from '../../../src/agent/actors/pods/pod-registry.ts';
import type { PreemptionActor } from '../../../src/agent/actors/start/preemptions.ts';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import type { preemptionMachine, PreemptionEvent } from '../../../src/agent/machines/preemption-machine.ts';
import { POD_UID_LABEL } from '../../../src/agent/policies/cri/cri-labels.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { Logger } from '../../../src/types/logger.ts';
import { InvariantJudge } from '../../support/invariant-judge.ts';
import { type HeldCall, SteeredNode } from '../../support/steered-runtime.ts';
import type { Coverage } from '../coverage.ts';
import { agentOn, type PathNode } from '../path-node.ts';
import type { Path } from '../paths.ts';
import { replaying } from '../replaying.ts';
import {
  CPUS,
  GRACE_SECONDS,
  isOutcome,
  type Look,
  NODE_CPUS,
  type Outcome,
  PODS,
  PreemptionNode,
  type PreemptionState,
  preemptorIn,
  type SentName,
  type Situation,
  uidOf,
  victimsOf,
} from './preemption-environment.ts';
import { PreemptionRules } from './preemption-rules.ts';

type PreemptionPath = Path<typeof preemptionMachine>;

const LONG_GRACE_SECONDS = 4 * GRACE_SECONDS;
/** Longer than any wait for the end of a pod. */
const PATIENCE_MS = 40_000;

export async function replayPreemption(
  pathNode: PathNode,
  situation: Situation,
  path: PreemptionPath,
  coverage: Coverage,
): Promise<void> {
  if (path.some(({ name }) => name === 'stillShort')) await leaveBehind(pathNode);
  const replay = new PreemptionReplay(pathNode, situation, path, coverage);
  const steps = async () => {
    await replay.prepare();
    for (const index of path.keys()) await replay.step(index);
    await replay.finish();
  };
  const end = async () => {
    await replay.stop();
    await pathNode.clear();
  };
  await replaying({ path, coverage, of: JSON.stringify(situation), steps, end });
}

/** An earlier agent leaves a running pod. This agent knows it only after its source adds it. */
async function leaveBehind(pathNode: PathNode): Promise<void> {
  const parts = pathNode.open();
  const agent = agentOn(pathNode, parts);
  agent.start();
  await pathNode.until('the runtime to be ready', () => agent.supervisor.runtimeProblem === undefined);
  agent.supervisor.send({ type: 'CONFIG.ADD', source: 'file', pods: [PODS.late] });
  await pathNode.until('the pod to run', () => agent.statusManager.get(uidOf('late'))?.phase === 'Running');
  await agent.stop();
  await parts.stop();
}

class PreemptionReplay {
  readonly #pathNode: PathNode;
  readonly #path: PreemptionPath;
  readonly #situation: Situation;
  readonly #preemptor: Pod;
  readonly #judge: InvariantJudge;
  readonly #rules = new PreemptionRules();
  readonly #node: SteeredNode;
  readonly #agent: NodeAgent;
  readonly #facts = new PreemptionNode(() => this.#heldCpus());
  /** Stops that hang until they are released, by UID. */
  readonly #stops = new Map<string, HeldCall>();
  /** The events that the actor has received, and its state after each. */
  readonly #taken: { readonly event: PreemptionEvent; readonly state: PreemptionState }[] = [];
  #actor: PreemptionActor | undefined;
  #cpusWhenAdmitted = NODE_CPUS;
  #more = 0;
  /** UIDs of pods whose stops have been released. */
  readonly #ended = new Set<string>();

  constructor(pathNode: PathNode, situation: Situation, path: PreemptionPath, coverage: Coverage) {
    this.#pathNode = pathNode;
    this.#path = path;
    this.#situation = situation;
    this.#preemptor = preemptorIn(situation);
    this.#judge = new InvariantJudge(pathNode.runtime);
    this.#node = new SteeredNode(pathNode.open(), this.#judge);
    this.#agent = agentOn(pathNode, this.#node.parts, {
      nodeFacts: this.#facts.facts,
      recorder: {
        event: ({ uid }, _, reason) => this.#rules.recorded(uid, reason),
        nodeEvent: () => undefined,
      },
      logger: this.#logger(),
      wrapEffects: this.#judge.wrapEffects,
      inspect: (event) => {
        this.#judge.inspect(event);
        coverage.inspect(event);
        this.#listen(event);
      },
    });
  }

  /** The rules read decisions from the log. */
  #logger(): Logger {
    const none = () => undefined;
    const write = (fields: object, message: string) => {
      if (message.startsWith('Preemption: ') && 'uid' in fields) this.#rules.decisionTold(String(fields.uid));
    };
    return { trace: none, debug: none, info: write, warn: write, error: none };
  }

  /** Fills the node with pods that end only when their stops are released. */
  async prepare(): Promise<void> {
    const { supervisor } = this.#agent;
    this.#agent.start();
    await this.#pathNode.until('the runtime to be ready', () => supervisor.runtimeProblem === undefined);
    for (const pod of [PODS.first, PODS.second, PODS.third]) {
      this.#add(pod);
      await this.#untilRuns(pod);
    }
    for (const { metadata } of [PODS.first, PODS.second, PODS.third]) {
      const { uid } = metadata;
      const isStop = (method?: string) => method === 'stopContainer' || method === 'stopPodSandbox';
      this.#stops.set(
        uid,
        this.#node.hold((call) => call.uid === uid && isStop(call.method)),
      );
    }
    if (this.#situation.second === 'ending') this.#delete(PODS.second);
    await this.#pathNode.clock.advance(1);
  }

  async step(index: number): Promise<void> {
    const { name, event, after } = this.#path[index]!;
    if (!isOutcome(name)) await this.#bringAbout(name as SentName, index);
    await this.#pathNode.until(`${event.type} to reach the actor`, () => this.#taken.length > index);
    const taken = this.#taken[index]!;
    expect(essence(taken.event)).toEqual(essence(event));
    expect(facts(taken.state)).toEqual(facts(after));
    const next = this.#path[index + 1];
    if (next !== undefined && isOutcome(next.name)) return;
    await this.#rest();
    if (after.matches('Idle') || after.matches('Evicting')) expect(this.#taken.length).toBe(index + 1);
  }

  /** Checks that ending pods end, that the preemptor runs if it is wanted and there is room, and that no wait is left. */
  async finish(): Promise<void> {
    const { registry } = this.#agent.supervisor;
    this.#facts.restore();
    this.#node.proceedAll();
    const isEnding = ({ uid }: { readonly uid: string }) =>
      registry.isPodTerminationRequested(uid) && !registry.isPodKnownTerminated(uid);
    await this.#pathNode.until(
      'what ends to end',
      () => ![...registry.entries()].some(({ pod }) => isEnding(pod)),
    );
    await this.#pathNode.clock.advance(1);
    if (this.#isWanted()) {
      const preemptor = registry.get(uidOf('preemptor'))?.actor.getSnapshot();
      if (preemptor?.hasTag('starting') === true) await this.#freeSomething();
      await this.#untilRuns(this.#preemptor);
    }
    const steps = this.#taken.length;
    await this.#pathNode.clock.advance(PATIENCE_MS);
    expect(this.#taken.length).toBe(steps);
    if (this.#actor) expect(this.#actor.getSnapshot()).toMatchObject({ status: 'stopped', value: 'Idle' });
    await this.#check();
  }

  async stop(): Promise<void> {
    this.#node.proceedAll();
    await this.#agent.stop();
    await this.#node.parts.stop();
  }

  async #bringAbout(name: SentName, index: number): Promise<void> {
    await this.#prepareLooks(name, index);
    switch (name) {
      case 'preempt':
        if (index === 0) this.#add(this.#preemptor);
        else await this.#freeSomething();
        return;
      case 'gone':
        this.#delete(this.#preemptor);
        return;
      case 'firstEnded':
        return this.#end(PODS.first);
      case 'secondEnded':
        return this.#end(PODS.second);
      case 'thirdEnded':
        return this.#end(PODS.third);
      default:
        await this.#outlast(index);
    }
  }

  /** The actor reads the size of the node once for each outcome. The pod's request for room reads it once before. */
  async #prepareLooks(name: SentName, index: number): Promise<void> {
    const rest = this.#path.slice(index + 1);
    const end = rest.findIndex((step) => !isOutcome(step.name));
    const outcomes = rest.slice(0, end === -1 ? rest.length : end).map((step) => step.name as Outcome);
    const looks: readonly Look[] = outcomes.filter((outcome) => outcome !== 'rejected');
    const heldCpus = this.#heldCpus() - (name.endsWith('Ended') ? CPUS.first : 0);
    const wouldFit = heldCpus + CPUS.preemptor <= NODE_CPUS;
    if (looks.includes('stillShort') && name !== 'preempt' && wouldFit) await this.#bringLate();
    this.#facts.expect(name === 'preempt' ? ['short', ...looks] : looks);
  }

  /** Adds a pod that runs already, so its room cannot be refused. */
  async #bringLate(): Promise<void> {
    if (this.#agent.supervisor.registry.get(uidOf('late')) !== undefined) return;
    this.#add(PODS.late);
    await this.#untilRuns(PODS.late);
  }

  /** The pod ends by its kill, by itself, or after a deletion, in turn. */
  async #end(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    const way = this.#ended.size % 3;
    this.#ended.add(uid);
    if (way === 1) await this.#exit(uid);
    if (way === 2) this.#delete(pod);
    this.#stops.get(uid)?.proceed();
  }

  async #exit(uid: string): Promise<void> {
    const running = await this.#pathNode.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    const container = running.find(({ labels }) => labels[POD_UID_LABEL] === uid);
    if (container !== undefined) await this.#pathNode.exit(container.id, 0);
  }

  /** Lets time pass until the actor does not wait for the end of a pod any more. */
  async #outlast(index: number): Promise<void> {
    const { clock } = this.#pathNode;
    const deadline = clock.now() + PATIENCE_MS;
    while (this.#taken.length <= index && clock.now() < deadline) await clock.advance(1_000);
  }

  async #freeSomething(): Promise<void> {
    const bystander = this.#next(PODS.bystander);
    this.#add(bystander);
    await this.#untilRuns(bystander);
    this.#delete(bystander);
  }

  async #rest(): Promise<void> {
    await this.#pathNode.clock.advance(1);
    if (this.#actor?.getSnapshot().matches('Evicting') === true) await this.#intrude();
    await this.#check();
  }

  /** Checks that promised room is not given to another pod. */
  async #intrude(): Promise<void> {
    const { statusManager } = this.#agent;
    const intruder = this.#next(PODS.intruder);
    const { uid } = intruder.metadata;
    this.#add(intruder);
    const phase = () => statusManager.get(uid)?.phase ?? 'Pending';
    await this.#pathNode.until('the intruder to be looked at', () => phase() !== 'Pending');
    expect(statusManager.get(uid)).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
  }

  /** Another pod like this one, with its own name and UID. */
  #next({ metadata, spec }: Pod): Pod {
    this.#more += 1;
    const name = `${metadata.name}-${this.#more}`;
    return { metadata: { ...metadata, name, uid: `uid-of-${name}` }, spec };
  }

  async #check(): Promise<void> {
    const { registry } = this.#agent.supervisor;
    const running = await this.#pathNode.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    const uids = running.map(({ labels }) => labels[POD_UID_LABEL] ?? '');
    const known = uids.filter((uid) => registry.get(uid) !== undefined);
    expect(this.#rules.broken(known, this.#cpusWhenAdmitted)).toEqual([]);
    expect(await this.#judge.check()).toEqual([]);
  }

  /** Whether the preemptor should run. */
  #isWanted(): boolean {
    if (this.#taken.length === 0) return false;
    const phase = this.#agent.statusManager.get(uidOf('preemptor'))?.phase;
    return phase !== 'Failed' && this.#path.at(-1)?.name !== 'gone';
  }

  #heldCpus(): number {
    const { registry } = this.#agent.supervisor;
    const holds = ({ metadata: { uid } }: Pod) => registry.get(uid) !== undefined && !this.#ended.has(uid);
    const { first, second, third, late } = PODS;
    return [first, second, third, late].filter(holds).reduce((sum) => sum + CPUS.first, 0);
  }

  #add(pod: Pod): void {
    this.#agent.supervisor.send({ type: 'CONFIG.ADD', source: 'file', pods: [this.#paced(pod)] });
  }

  #delete(pod: Pod): void {
    const { metadata, spec } = this.#paced(pod);
    const deleted = { metadata: { ...metadata, deletionTimestamp: '2030-01-01T00:00:00Z' }, spec };
    this.#agent.supervisor.send({ type: 'CONFIG.UPDATE', source: 'file', pods: [deleted] });
  }

  /** If two pods are awaited at once, the pod with the later event in the path has the longer grace period. */
  #paced({ metadata, spec }: Pod): Pod {
    const soonest = this.#path.find(({ event }) => 'uid' in event)?.event;
    const isSoonest = soonest !== undefined && 'uid' in soonest && soonest.uid === metadata.uid;
    const hasTime = !isSoonest && metadata.uid !== uidOf('third');
    const terminationGracePeriodSeconds = hasTime ? LONG_GRACE_SECONDS : GRACE_SECONDS;
    return { metadata, spec: { ...spec, terminationGracePeriodSeconds } };
  }

  async #untilRuns({ metadata: { uid, name } }: Pod): Promise<void> {
    const runs = () => this.#agent.statusManager.get(uid)?.phase === 'Running';
    await this.#pathNode.until(`${name} to run`, runs);
  }

  #listen(event: InspectionEvent): void {
    if (event.type !== '@xstate.microstep' || event.event.type.startsWith('xstate.')) return;
    const actor = event.actorRef as AnyActorRef;
    if (actor.id.startsWith('preemption ')) {
      const state = event.snapshot as PreemptionState;
      const taken = { event: event.event as PreemptionEvent, state };
      this.#actor = actor as PreemptionActor;
      this.#taken.push(taken);
      this.#rules.took(taken.event, state);
      return;
    }
    const { context } = event.snapshot as PodSnapshot;
    if ('runtimeHolds' in context) {
      const { uid } = context;
      const told = event.event as PodEvent;
      if (uid === uidOf('preemptor') && told.type === 'ADMITTED') this.#cpusWhenAdmitted = this.#facts.cpus;
      this.#rules.podTold(uid, told);
    }
  }
}

/** The compared part of an event. Texts and figures are tested with the policies. */
function essence(event: PreemptionEvent): object {
  const { type } = event;
  if (type === 'VICTIMS_SELECTED') return { type, awaited: event.awaited.toSorted() };
  if ('rejection' in event) return { type, reason: event.rejection.reason };
  return 'uid' in event ? { type, uid: event.uid } : { type };
}

function facts({ value, context }: PreemptionState): object {
  const { preemptor, awaited, unendable, hasWaited, decision, rejection } = context;
  const victims = victimsOf(decision).toSorted();
  const isMet = decision?.unmet.length === 0;
  return {
    value,
    uid: preemptor.uid,
    awaited: awaited.toSorted(),
    unendable,
    hasWaited,
    victims,
    isMet,
    reason: rejection?.reason,
  };
}
