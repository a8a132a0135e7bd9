/**
 * One path of the eviction machine, replayed against the production agent: the node is measured as the path says, pods end,
 * hang and are removed. All events of the actor come from the agent.
 */
import { expect } from '@jest/globals';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { NodeAgent } from '../../../src/agent/actors/node-agent.ts';
import type { PodSnapshot } from '../../../src/agent/actors/pods/pod-registry.ts';
import type { EvictionEvent, evictionMachine } from '../../../src/agent/machines/eviction-machine.ts';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import { POD_UID_LABEL } from '../../../src/agent/policies/cri/cri-labels.ts';
import { PRESSURE_CONDITIONS } from '../../../src/agent/policies/eviction/signals.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { InvariantJudge } from '../../support/invariant-judge.ts';
import { type HeldCall, SteeredNode } from '../../support/steered-runtime.ts';
import type { Coverage } from '../coverage.ts';
import {
  type Answer,
  type EvictionEventName,
  type EvictionSnapshot,
  type Figures,
  isSent,
  isTimeFree,
  leftOn,
  passOf,
  podOf,
  type Role,
  roleOf,
  type SentName,
  settingsOf,
  type Situation,
  statsOfPod,
  TRANSITION_PERIOD_MS,
} from './eviction-environment.ts';
import { essence, EvictionRules, facts, isEqual, isSame } from './eviction-rules.ts';
import { FIGURES, HeldFigures, type Measured, OVER_LIMIT, SAME_WITHOUT_FIGURES } from './eviction-figures.ts';
import { agentOn, type PathNode } from '../path-node.ts';
import type { Path } from '../paths.ts';
import { replaying } from '../replaying.ts';

type EvictionPath = Path<typeof evictionMachine>;

/** Longer than any wait of the machine. */
const PATIENCE_MS = 40_000;
const MONITORING_PERIOD_MS = 10_000;

export async function replayEviction(
  pathNode: PathNode,
  situation: Situation,
  path: EvictionPath,
  coverage: Coverage,
): Promise<void> {
  const replay = new EvictionReplay(pathNode, situation, path, coverage);
  const steps = async () => {
    await replay.prepare();
    for (const index of path.keys()) await replay.step(index);
    await replay.finish();
  };
  const end = async () => {
    await replay.stop();
    await pathNode.clear();
  };
  await replaying({ path, coverage, of: situation.resource, steps, end });
}

/** An event that the actor received, and its state after that. */
interface Taken {
  readonly event: EvictionEvent;
  readonly state: EvictionSnapshot;
  readonly hasEffect: boolean;
}

class EvictionReplay {
  readonly #pathNode: PathNode;
  readonly #situation: Situation;
  readonly #path: EvictionPath;
  readonly #judge: InvariantJudge;
  readonly #rules = new EvictionRules(() => this.#ending());
  readonly #figures: HeldFigures;
  readonly #node: SteeredNode;
  readonly #agent: NodeAgent;
  /** Stops and clean-ups that hang until they are released, by UID. */
  readonly #stops = new Map<string, HeldCall>();
  readonly #cleanups = new Map<string, HeldCall>();
  #taken: readonly Taken[] = [];
  #latest: EvictionSnapshot | undefined;
  /** The number of ended pods of each role. */
  readonly #used = new Map<Role, number>();

  constructor(pathNode: PathNode, situation: Situation, path: EvictionPath, coverage: Coverage) {
    this.#pathNode = pathNode;
    this.#situation = situation;
    this.#path = path;
    this.#latest = path[0]?.before;
    this.#figures = new HeldFigures(() => pathNode.clock.now());
    this.#judge = new InvariantJudge(pathNode.runtime);
    this.#node = new SteeredNode(pathNode.open(), this.#judge);
    const reclaimer = {
      deleteDeadContainers: () => Promise.reject(new Error('one of them stays')),
      deleteUnusedImages: () => Promise.resolve(),
    };
    this.#agent = agentOn(
      pathNode,
      { ...this.#node.parts, reclaimer },
      {
        eviction: { configuration: settingsOf(situation), stats: () => Promise.resolve(this.#figures) },
        recorder: {
          event: ({ uid }, _, reason) => this.#rules.recorded(uid, reason),
          nodeEvent: () => undefined,
        },
        wrapEffects: this.#judge.wrapEffects,
        inspect: (event) => {
          this.#judge.inspect(event);
          coverage.inspect(event);
          this.#listen(event);
        },
      },
    );
  }

  /** Starts all pods of the path before a resource is short, because pods are not admitted under pressure. */
  async prepare(): Promise<void> {
    const { supervisor } = this.#agent;
    this.#agent.start();
    await this.#pathNode.until('the runtime to be ready', () => supervisor.runtimeProblem === undefined);
    supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
    const pods = this.#podsOfPath();
    supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods });
    for (const { metadata } of pods)
      await this.#pathNode.until(`${metadata.name} to run`, () => this.#runs(metadata.uid));
    for (const { metadata } of pods) this.#holdEndOf(metadata.uid);
  }

  async step(index: number): Promise<void> {
    const { name, event, after } = this.#path[index]!;
    if (isSent(name)) await this.#bringAbout(name, index);
    else await this.#answer(name as Answer, index);
    const isMeant = (taken: Taken) => isSame(taken.event, event);
    await this.#pathNode.until(`${event.type} to reach the actor`, () => this.#taken.some(isMeant));
    const position = this.#taken.findIndex(isMeant);
    const unforeseen = this.#taken.slice(0, position).filter(({ hasEffect }) => hasEffect);
    expect(unforeseen.map((taken) => essence(taken.event))).toEqual([]);
    expect(facts(this.#taken[position]!.state)).toEqual(facts(after));
    this.#taken = this.#taken.slice(position + 1);
    await this.#check(index);
  }

  /** Checks that, if nothing is short any more, pods that are ending end, and no other pod is evicted. */
  async finish(): Promise<void> {
    const { clock } = this.#pathNode;
    this.#figures.always(() => this.#measure('plenty'));
    this.#node.proceedAll();
    await this.#pathNode.until('what ends to end', () => this.#ending().length === 0);
    const hasPressure = this.#agent.nodeFacts().conditions.length > 0;
    await clock.advance(2 * MONITORING_PERIOD_MS + (hasPressure ? TRANSITION_PERIOD_MS : 0));
    expect(this.#agent.nodeFacts().conditions).toEqual([]);
    await this.#pathNode.until('the pass to be over', () => this.#latest?.value.Pass === 'Observing');
    for (const role of ['critical', 'static', 'modest', 'first', 'second'] as const)
      expect([role, this.#isEnded(role) || this.#runs(this.#current(role))]).toEqual([role, true]);
    expect(this.#rules.broken()).toEqual([]);
    expect(await this.#judge.check()).toEqual([]);
  }

  async stop(): Promise<void> {
    this.#node.proceedAll();
    await this.#agent.stop();
    await this.#node.parts.stop();
  }

  // The steps of the path

  async #bringAbout(name: SentName, index: number): Promise<void> {
    switch (name) {
      case 'memoryShort':
        return this.#memoryShort();
      case 'memoryEnough': {
        this.#figures.cross(false);
        return;
      }
      case 'memoryStalled': {
        this.#figures.stall('memory');
        return;
      }
      case 'ioStalled': {
        this.#figures.stall('io');
        return;
      }
      case 'firstEnded':
        return this.#end('first', index);
      case 'secondEnded':
        return this.#end('second', index);
      case 'strangerEnded':
        this.#endStranger();
        return;
      case 'cleanedUp':
        return this.#cleanUp(index);
      case 'firstGone':
        this.#remove('first');
        return;
      case 'secondGone':
        this.#remove('second');
        return;
      default:
        return this.#outlast(index);
    }
  }

  /** In ReclaimingNode, memory becomes short during the measurement after the removal. */
  async #memoryShort(): Promise<void> {
    if (this.#latest?.value.Pass === 'ReclaimingNode') {
      await this.#pathNode.until('the node to be measured', () => this.#figures.isAsked);
      this.#figures.forget();
    }
    this.#figures.cross(true);
  }

  #endStranger(): void {
    const isLeaving = this.#ending().includes(this.#current('leaving'));
    if (!isLeaving) this.#delete('stranger');
    this.#letEnd(isLeaving ? 'leaving' : 'stranger');
  }

  /** The pod ends by its kill, by itself, or after a deletion, in turn. */
  async #end(role: Role, index: number): Promise<void> {
    const way = index % 3;
    if (way === 1) await this.#exit(this.#current(role));
    if (way === 2) this.#delete(role);
    this.#letEnd(role);
  }

  async #exit(uid: string): Promise<void> {
    const running = await this.#pathNode.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    const container = running.find(({ labels }) => labels[POD_UID_LABEL] === uid);
    if (container !== undefined) await this.#pathNode.exit(container.id, 0);
  }

  /** The clean-up ends, or takes too long, in turn. */
  async #cleanUp(index: number): Promise<void> {
    const { before } = this.#path[index]!;
    const next = this.#path[index + 1]?.name;
    const mayTakeLong = isTimeFree(before) && (next === undefined || !isSent(next));
    if (index % 2 === 1 && mayTakeLong) return this.#outlast(index);
    for (const uid of this.#latest!.context.ended) {
      expect(this.#taken.filter(({ hasEffect }) => hasEffect)).toEqual([]);
      this.#cleanups.get(uid)?.proceed();
      await this.#pathNode.until(`${uid} to be cleaned up after`, () => this.#isFinished(uid));
    }
  }

  /** The source removes the pod, and it ends. */
  #remove(role: Role): void {
    const uid = this.#current(role);
    this.#cleanups.get(uid)?.proceed();
    const pods = [this.#podOf(uid)];
    this.#agent.supervisor.send({ type: 'CONFIG.REMOVE', source: 'api', pods });
    this.#letEnd(role);
  }

  /** Lets time pass until the event of the path has come. */
  async #outlast(index: number): Promise<void> {
    const { clock } = this.#pathNode;
    const { event } = this.#path[index]!;
    const deadline = clock.now() + PATIENCE_MS;
    while (!this.#taken.some((taken) => isSame(taken.event, event)) && clock.now() < deadline)
      await clock.step();
  }

  async #answer(name: Answer, index: number): Promise<void> {
    const { event } = this.#path[index]!;
    await this.#pathNode.until('the node to be measured', () => this.#figures.isAsked);
    const isOver = event.type === 'EVALUATED' && event.evaluation.conditions.length === 0;
    if (isOver && this.#agent.nodeFacts().conditions.length > 0)
      await this.#pathNode.clock.advance(TRANSITION_PERIOD_MS);
    if (name === 'nobodyRanked') this.#delete('leaving');
    const figures = FIGURES[name];
    const hasFailed = figures === undefined || (index % 2 === 1 && SAME_WITHOUT_FIGURES.has(name));
    if (hasFailed) this.#figures.fail();
    else this.#figures.answer(this.#measure(figures, OVER_LIMIT[name]));
  }

  // The state of the node

  #measure(figures: Figures, overLimit: readonly Role[] = []): Measured {
    const entries = [...this.#agent.supervisor.registry.entries()];
    const pods = entries.map(({ pod: { uid } }) => {
      const isCurrent = uid === this.#current(roleOf(uid));
      return statsOfPod(uid, {
        isIdle: !isCurrent,
        isOverLimit: isCurrent && overLimit.includes(roleOf(uid)),
      });
    });
    return { left: leftOn(this.#situation, figures), pods };
  }

  #podsOfPath(): readonly Pod[] {
    const times = (...names: EvictionEventName[]) =>
      this.#path.filter(({ name }) => names.includes(name as EvictionEventName)).length;
    const counts: Readonly<Record<Role, number>> = {
      critical: 1,
      static: 1,
      modest: 1,
      first: times('firstEnded', 'firstGone') + 1,
      second: times('secondEnded', 'secondGone') + 1,
      stranger: times('strangerEnded'),
      leaving: times('nobodyRanked'),
    };
    return Object.entries(counts).flatMap(([role, count]) =>
      Array.from({ length: count }, (_, index) => podOf(role as Role, index + 1)),
    );
  }

  #podOf(uid: string): Pod {
    return podOf(roleOf(uid), Number(uid.split('-').at(-1)));
  }

  /** The pod of the role that has not ended yet. */
  #current(role: Role): string {
    return `${role}-${(this.#used.get(role) ?? 0) + 1}`;
  }

  #holdEndOf(uid: string): void {
    const isStop = (method?: string) => method === 'stopContainer' || method === 'stopPodSandbox';
    this.#stops.set(
      uid,
      this.#node.hold((call) => call.uid === uid && isStop(call.method)),
    );
    this.#cleanups.set(
      uid,
      this.#node.hold((call) => call.uid === uid && call.method === 'release'),
    );
  }

  #letEnd(role: Role): void {
    this.#stops.get(this.#current(role))?.proceed();
    this.#used.set(role, (this.#used.get(role) ?? 0) + 1);
  }

  #delete(role: Role): void {
    const { metadata, spec } = this.#podOf(this.#current(role));
    const deleted = { metadata: { ...metadata, deletionTimestamp: '2030-01-01T00:00:00Z' }, spec };
    this.#agent.supervisor.send({ type: 'CONFIG.UPDATE', source: 'api', pods: [deleted] });
  }

  #runs(uid: string): boolean {
    return this.#agent.statusManager.get(uid)?.phase === 'Running';
  }

  /** The latest pod of the role has ended. */
  #isEnded(role: Role): boolean {
    return this.#agent.supervisor.registry.isPodKnownTerminated(this.#current(role));
  }

  #isFinished(uid: string): boolean {
    const { registry } = this.#agent.supervisor;
    return registry.get(uid)?.actor.getSnapshot().hasTag('finished') ?? true;
  }

  #ending(): readonly string[] {
    const { registry } = this.#agent.supervisor;
    return [...registry.entries()]
      .map(({ pod }) => pod.uid)
      .filter((uid) => registry.isPodTerminationRequested(uid) && !registry.isPodKnownTerminated(uid));
  }

  async #check(index: number): Promise<void> {
    const { after } = this.#path[index]!;
    const next = this.#path[index + 1];
    if (next !== undefined) {
      const unforeseen = this.#taken.filter(
        ({ event, hasEffect }) => hasEffect && !isSame(event, next.event),
      );
      expect(unforeseen.map(({ event }) => essence(event))).toEqual([]);
    }
    const conditions = PRESSURE_CONDITIONS.filter((condition) => after.hasTag(condition));
    expect(this.#agent.nodeFacts().conditions).toEqual(conditions);
    expect(this.#rules.broken()).toEqual([]);
    expect(await this.#judge.check()).toEqual([]);
  }

  #listen(event: InspectionEvent): void {
    if (event.type !== '@xstate.snapshot' || event.event.type.startsWith('xstate.init')) return;
    if ((event.actorRef as AnyActorRef).id === 'eviction') {
      const state = event.snapshot as EvictionSnapshot;
      // When the patience is over, the chart tells itself that all is cleaned up.
      const isOutlasted = event.event.type.startsWith('xstate.after.cleanupPatience');
      const told = (isOutlasted ? { type: 'CLEANED_UP' } : event.event) as EvictionEvent;
      const hasEffect = this.#latest === undefined || !isEqual(facts(this.#latest), facts(state));
      this.#taken = [...this.#taken, { event: told, state, hasEffect }];
      if (this.#latest !== undefined && beginsPass(this.#latest, told, state)) this.#rules.passBegins();
      this.#latest = state;
      this.#rules.took(told);
      return;
    }
    const { context } = event.snapshot as PodSnapshot;
    if ('runtimeHolds' in context) this.#rules.podTold(context.uid, event.event as PodEvent);
  }
}

/** The next pass can begin with the event that ends the last one. */
function beginsPass(before: EvictionSnapshot, { type }: EvictionEvent, after: EvictionSnapshot): boolean {
  if (passOf(after) !== 'Evaluating') return false;
  return passOf(before) !== 'Evaluating' || type === 'EVALUATED' || type === 'OBSERVATION_FAILED';
}
