/**
 * One path of the pod machine, replayed against the production actor. Events of sources and kills are sent as in production.
 * Effects end as the path says, because the replay decides how their calls end.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import type { InspectionEvent } from 'xstate';
import type { NodeAgent } from '../../../src/agent/actors/node-agent.ts';
import type { PodEffects } from '../../../src/agent/actors/pods/pod-actor.ts';
import type { PodActor } from '../../../src/agent/actors/pods/pod-registry.ts';
import type { StartGates } from '../../../src/agent/actors/start/pod-starts.ts';
import { stateName } from '../../../src/agent/actors/transitions.ts';
import type {
  PodContext,
  PodEvent,
  podMachine,
  RuntimeHolds,
} from '../../../src/agent/machines/pod-machine.ts';
import { isStaticPod } from '../../../src/agent/policies/pod/pod-kinds.ts';
import { isEnding } from '../../../src/agent/policies/termination/pod-termination.ts';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';
import { InvariantJudge } from '../../support/invariant-judge.ts';
import { SteeredNode } from '../../support/steered-runtime.ts';
import type { Coverage } from '../coverage.ts';
import { agentOn, type PathNode } from '../path-node.ts';
import type { Path, Step } from '../paths.ts';
import { replaying } from '../replaying.ts';
import { isAnswer, isOutcome, type Outcome, POD, type PodState, UID } from './pod-environment.ts';
import { type Fate, MOMENT_MS, PodSteering } from './pod-steering.ts';

type PodStep = Step<typeof podMachine>;
type PodPath = Path<typeof podMachine>;

/** Longer than any back-off after a failure in a path. */
const BACK_OFF_MS = 20_000;

export async function replayPod(
  pathNode: PathNode,
  holds: RuntimeHolds,
  path: PodPath,
  coverage: Coverage,
): Promise<void> {
  if (holds !== 'nothing') await leaveBehind(pathNode, holds);
  const replay = new PodReplay(pathNode, path, coverage);
  const end = async () => {
    await replay.stop();
    await pathNode.clear();
  };
  await replaying({ path, coverage, of: holds, steps: () => replay.run(), end });
}

/** An earlier agent has left two containers. One or both have failed since. */
async function leaveBehind(pathNode: PathNode, holds: 'ended' | 'running'): Promise<void> {
  const parts = pathNode.open();
  const agent = agentOn(pathNode, parts);
  agent.start();
  await pathNode.until('the runtime to be ready', () => agent.supervisor.runtimeProblem === undefined);
  agent.supervisor.send({ type: 'CONFIG.ADD', source: 'file', pods: [POD] });
  await pathNode.until('the pod to run', () => agent.statusManager.get(UID)?.phase === 'Running');
  await agent.stop();
  await parts.stop();
  const [main, second] = await pathNode.runtime.listContainers();
  await pathNode.exit(second!.id, 1);
  if (holds === 'running') return;
  await pathNode.exit(main!.id, 1);
  for (const { id } of await pathNode.runtime.listPodSandbox()) await pathNode.runtime.stopPodSandbox(id);
}

class PodReplay {
  readonly #pathNode: PathNode;
  readonly #path: PodPath;
  readonly #judge: InvariantJudge;
  readonly #rules = new PodRules();
  readonly #node: SteeredNode;
  readonly #steering: PodSteering;
  readonly #agent: NodeAgent;
  /** All events that the actor has received since the step began. */
  #received: PodEvent[] = [];
  #actor: PodActor | undefined;
  /** Answers the last request of the pod before its start. */
  #answer: ((event: PodEvent) => void) | undefined;

  constructor(pathNode: PathNode, path: PodPath, coverage: Coverage) {
    this.#pathNode = pathNode;
    this.#path = path;
    this.#judge = new InvariantJudge(pathNode.runtime);
    this.#node = new SteeredNode(pathNode.open(), this.#judge);
    this.#steering = new PodSteering(pathNode, this.#node);
    this.#agent = agentOn(pathNode, this.#node.parts, {
      inspect: (event) => {
        this.#judge.inspect(event);
        coverage.inspect(event);
        this.#listen(event);
      },
      wrapGates: () => this.#heldGates(),
      wrapEffects: (effects) => this.#ruled(this.#steering.steered(this.#judge.wrapEffects(effects))),
    });
  }

  async run(): Promise<void> {
    const { supervisor } = this.#agent;
    this.#agent.start();
    await this.#pathNode.until('the runtime to be ready', () => supervisor.runtimeProblem === undefined);
    supervisor.send({ type: 'RUNTIME_NOT_READY', problem: 'the path has not come to the start' });
    // Without this, an unwanted finished pod would be forgotten.
    this.#node.hold(({ method }) => method === 'remove');
    for (const [index, step] of this.#path.entries()) await this.#replay(step, index);
    await this.#finish();
  }

  async stop(): Promise<void> {
    this.#steering.proceedAll();
    await this.#agent.stop();
    await this.#node.parts.stop();
  }

  async #replay(step: PodStep, index: number): Promise<void> {
    const { event } = step;
    this.#steering.fate = this.#fateAfter(index);
    this.#received = [];
    await this.#bringAbout(step);
    const hasCome = () => this.#received.length > 0;
    await this.#pathNode.until(`${event.type} to reach the actor`, hasCome);
    await this.#pathNode.clock.advance(MOMENT_MS);
    await this.#steering.untilHeld();
    same(this.#received.map(essence), [essence(event)]);
    same(facts(this.#state), facts(step.after));
    await this.#check();
  }

  get #state(): PodState {
    return this.#actor!.getSnapshot();
  }

  async #check(): Promise<void> {
    same(this.#rules.broken(this.#state), []);
    same(await this.#judge.check(), []);
  }

  /** How the effect ends that this step may start. */
  #fateAfter(index: number): Fate {
    const end = this.#path.slice(index + 1).find(({ name }) => isOutcome(name));
    if (end === undefined) return { outcome: undefined, aborted: false };
    const at = stateName(end.before.value);
    const aborted = at === 'Syncing.Draining' || at === 'Terminating.Shortening';
    return { outcome: end.name as Outcome, aborted };
  }

  async #bringAbout({ name, event }: PodStep): Promise<void> {
    const { supervisor } = this.#agent;
    if (isOutcome(name)) await this.#steering.end(name);
    else if (name === 'killOrphan') supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
    else if (event.type === 'RUNTIME_READY' || event.type === 'RUNTIME_NOT_READY') supervisor.send(event);
    else if (isAnswer(name)) this.#answer?.(event);
    else if (event.type === 'SyncPodCreate')
      supervisor.send({ type: 'CONFIG.ADD', source: 'file', pods: [event.pod] });
    else if (event.type === 'SyncPodUpdate')
      supervisor.send({ type: 'CONFIG.UPDATE', source: 'file', pods: [event.pod] });
    else if (event.type === 'SyncPodKill' && !this.#state.hasTag('terminated'))
      this.#judge.kill(this.#agent, UID, event.options ?? {});
    else supervisor.registry.send(UID, event);
  }

  /** I7: a pod that is ending ends when its calls proceed. Rule 9: a pod that was created again starts again. */
  async #finish(): Promise<void> {
    const { supervisor } = this.#agent;
    this.#steering.proceedAll();
    if (!this.#state.hasTag('terminationRequested')) return;
    supervisor.send({ type: 'RUNTIME_READY' });
    const isFinished = () => this.#state.hasTag('finished');
    const waits = () => stateName(this.#state.value).endsWith('.BackingOff');
    await this.#pathNode.until('the pod to end', () => isFinished() || waits());
    if (waits()) await this.#pathNode.clock.advance(BACK_OFF_MS);
    await this.#pathNode.until('the pod to end', isFinished);
    const isWanted = this.#path.some(
      ({ event, before }) => event.type === 'SyncPodCreate' && before.hasTag('terminationRequested'),
    );
    const isBack = () => ![undefined, this.#actor].includes(supervisor.registry.get(UID)?.actor);
    if (isWanted) await this.#pathNode.until('the next incarnation', isBack);
    await settled();
    // A pod that only the runtime knew may be wanted now.
    if (this.#path[0]?.name !== 'killOrphan') expect(isBack()).toBe(isWanted);
    await this.#check();
  }

  #listen(event: InspectionEvent): void {
    if (event.type !== '@xstate.microstep') return;
    const actor = event.actorRef as PodActor;
    if (!actor.id.endsWith(UID)) return;
    this.#actor ??= actor;
    const received = event.event as PodEvent;
    if (actor !== this.#actor || received.type.startsWith('xstate.')) return;
    this.#received.push(received);
    this.#rules.told(received, this.#state);
  }

  /** Answers the requests of the pod before its start when the path says so. */
  #heldGates(): StartGates {
    const hold = (_: PodContext, answer: (event: PodEvent) => void) => {
      this.#answer = answer;
    };
    return {
      awaitRuntime: () => undefined,
      awaitRemoval: hold,
      requestName: hold,
      requestRoom: hold,
      makeRoom: hold,
    };
  }

  #ruled(effects: PodEffects): PodEffects {
    return {
      ...effects,
      syncPod: (context, signal) =>
        this.#rules.syncBegins() ? effects.syncPod(context, signal) : untilAborted(signal),
      stopPod: (context, signal) => {
        this.#rules.stopBegins(context);
        return effects.stopPod(context, signal);
      },
    };
  }
}

/** Used for a sync without a reason: it does nothing, so that it cannot lead to endless syncs. */
async function untilAborted(signal: AbortSignal): Promise<PodEvent> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  return { type: 'AT_REST' };
}

/** Calls `expect` only for different values, because it takes longer than all other work of a step. */
function same(received: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(received, expected)) expect(received).toEqual(expected);
}

/** The compared part of an event: the type of an event from a source or a kill, and of other events everything that the machine reads. */
function essence(event: PodEvent): object {
  if (event.type.startsWith('SyncPod')) return { type: event.type };
  if (!('status' in event)) return event;
  const { status, ...read } = event;
  return status === undefined ? event : read;
}

/** The compared part of a state. */
function facts(state: PodState): object {
  return { state: stateName(state.value), ...state.context };
}

const REASONS_TO_SYNC: ReadonlySet<string> = new Set([
  ...['SyncPodCreate', 'SyncPodUpdate', 'SyncPodSync', 'ADMITTED'],
]);

/**
 * Rules of docs/lifecycle.md that every path must keep. They are checked without the machine, by the events that the pod's
 * actor gets and by the effects that begin.
 */
class PodRules {
  readonly #broken: string[] = [];
  /** The event since the begin of the last sync that asks for another sync. */
  #reasonToSync: string | undefined;
  #mustEnd = false;
  #evicted = false;
  #statusOverride: PodContext['statusOverride'];
  /** The grace period of the last stop. */
  #stopSeconds: number | undefined;

  /** The actor is in `state` and gets an event. */
  told(event: PodEvent, state: PodState): void {
    if (REASONS_TO_SYNC.has(event.type) || ('again' in event && event.again)) this.#reasonToSync = event.type;
    if ('pod' in event && event.pod && isEnding(event.pod)) this.#mustEnd = true;
    if (event.type === 'SYNC_DONE' && event.terminal) this.#mustEnd = true;
    if (event.type === 'REJECTED' && !waitsForRoom(event, state)) this.#mustEnd = true;
    if (event.type !== 'SyncPodKill') return;
    this.#mustEnd = true;
    if (state.matches('Terminated')) return;
    this.#evicted ||= event.options?.evict === true;
    this.#statusOverride = event.options?.podStatus ?? this.#statusOverride;
  }

  /** Whether an event has asked for this sync. */
  syncBegins(): boolean {
    const isAskedFor = this.#reasonToSync !== undefined;
    if (!isAskedFor) this.#broken.push('2: nothing has asked for this sync');
    this.#reasonToSync = undefined;
    return isAskedFor;
  }

  stopBegins({ gracePeriodSeconds }: PodContext): void {
    this.#stopSeconds = gracePeriodSeconds;
  }

  /** The broken rules, with their numbers. */
  broken(state: PodState): readonly string[] {
    const { evicted, statusOverride, gracePeriodSeconds } = state.context;
    const at = stateName(state.value);
    const rests = at === 'Syncing.Settled' || at === 'Syncing.BackingOff';
    const stops = at === 'Terminating.Stopping' || at === 'Terminating.BackingOff';
    const found = {
      [`2: ${String(this.#reasonToSync)} is left lying`]: rests && this.#reasonToSync !== undefined,
      '2: an eviction is forgotten': evicted !== this.#evicted,
      '3: the pod does not end': this.#mustEnd && !state.hasTag('terminationRequested'),
      '4: a shorter grace period waits': stops && this.#stopSeconds !== gracePeriodSeconds,
      '5: the last status is not the final one': statusOverride !== this.#statusOverride,
    };
    return [...this.#broken, ...Object.keys(found).filter((what) => found[what])];
  }
}

/** A static pod that lacks only room waits and does not end. */
function waitsForRoom({ lack }: { readonly lack?: object }, { context }: PodState): boolean {
  return lack !== undefined && context.pod !== undefined && isStaticPod(context.pod);
}
