/**
 * One path of the probe machine, replayed against the production probe manager and its worker: a container on the runtime
 * starts, ends and is replaced, time passes, and the probe's commands are held until their outcome is due.
 */
import { expect } from '@jest/globals';
import { type AnyActorRef, createActor, type InspectionEvent, setup } from 'xstate';
import { ProbeManager } from '../../../src/agent/actors/probes/probe-manager.ts';
import type { ProbeEvent, probeMachine } from '../../../src/agent/machines/probe-machine.ts';
import type { ProbeKind, ProbeOutcome } from '../../../src/agent/policies/probes/probe.ts';
import type { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Pod, PodStatus } from '../../../src/types/kubernetes.ts';
import { type Call, type CallObserver, type HeldCall, SteeredNode } from '../../support/steered-runtime.ts';
import type { Coverage } from '../coverage.ts';
import type { PathNode } from '../path-node.ts';
import type { Path, Step } from '../paths.ts';
import { replaying } from '../replaying.ts';
import {
  type Happening,
  type HappeningName,
  HAPPENINGS,
  INITIAL_DELAY_MS,
  probedPod,
  type ProbeState,
  UID,
  type World,
} from './probe-environment.ts';
import { ProbedContainer } from './probed-container.ts';
import { LOCAL_PODS } from '../../support/local-pods.ts';
import { testContext } from '../../support/test-context.ts';

type ProbePath = Path<typeof probeMachine>;

/** How often a command that cannot be run is tried. */
const TRIES = 3;

export async function replayProbe(
  pathNode: PathNode,
  kind: ProbeKind,
  path: ProbePath,
  coverage: Coverage,
): Promise<void> {
  const replay = new ProbeReplay(pathNode, kind, coverage);
  const steps = async () => {
    await replay.prepare();
    for (const step of path) await replay.step(step);
    await replay.stop();
  };
  const end = async () => {
    await replay.end();
    await pathNode.clear();
  };
  await replaying({ path, coverage, of: kind, steps, end });
}

class ProbeReplay {
  readonly #pathNode: PathNode;
  readonly #pod: Pod;
  readonly #container: ProbedContainer;
  readonly #rules: ProbeRules;
  readonly #node: SteeredNode;
  readonly #root: AnyActorRef;
  readonly #probes: ProbeManager;
  /** The status that the probe worker reads. */
  #status: PodStatus | undefined;
  #held: HeldCall | undefined;
  #received: ProbeEvent[] = [];
  #actor: AnyActorRef | undefined;

  constructor(pathNode: PathNode, kind: ProbeKind, coverage: Coverage) {
    this.#pathNode = pathNode;
    this.#pod = probedPod(kind);
    this.#container = new ProbedContainer(pathNode, this.#pod);
    this.#rules = new ProbeRules(kind, pathNode.clock, this.#container);
    this.#node = new SteeredNode(pathNode.open(), this.#rules);
    this.#root = createActor(setup({}).createMachine({}), {
      inspect: (event) => {
        coverage.inspect(event);
        this.#listen(event);
      },
    }).start();
    this.#probes = new ProbeManager(testContext({ clock: pathNode.clock, parent: this.#root }), {
      runtime: this.#node.parts.runtime,
      ...LOCAL_PODS,
      statusManager: { get: () => this.#status },
    });
    this.#probes.news.subscribe(({ result }) => this.#rules.told(result));
  }

  async prepare(): Promise<void> {
    await this.#container.prepare();
    this.#probes.addPod(this.#pod);
  }

  async step({ name, event, after }: Step<typeof probeMachine>): Promise<void> {
    const before = this.#state;
    this.#received = [];
    this.#rules.stepBegins();
    await this.#bringAbout(HAPPENINGS[name as HappeningName]);
    await this.#pathNode.until(`${event.type} to reach the probe`, () => this.#received.length > 0);
    await this.#pathNode.clock.advance(0);
    expect(this.#received.map(essence)).toEqual([essence(event)]);
    const { value, context } = this.#state;
    const record = { ...context.record, containerId: this.#container.nameOf(context.record.containerId) };
    expect({ value, record }).toEqual({ value: after.value, record: after.context.record });
    expect(this.#rules.broken(before, this.#state)).toEqual([]);
  }

  /** After the probes have stopped, no timer is armed and no command runs. */
  async stop(): Promise<void> {
    this.#probes.stop();
    await this.end();
    await this.#pathNode.until('the run in flight to end', () => !this.#rules.hasRun);
    expect(this.#pathNode.clock.armed).toBe(0);
  }

  async end(): Promise<void> {
    this.#probes.stop();
    this.#node.proceedAll();
    await this.#node.parts.stop();
  }

  get #state(): ProbeState {
    return this.#actor!.getSnapshot() as ProbeState;
  }

  async #bringAbout(happening: Happening): Promise<void> {
    switch (happening.type) {
      case 'STATUS':
        if (!happening.isUnknown) await this.#show(happening.world);
        this.#probes.podStatusChanged(UID);
        return;
      case 'DUE':
        await this.#untilDue(happening);
        return;
      case 'PROBED':
        await this.#endRun(happening.outcome);
        return;
      case 'AT_REST':
        await this.#show(happening.world);
        this.#held?.proceed();
        return;
      case 'STOP':
        this.#probes.removePod(UID);
    }
  }

  async #show(world: World | undefined): Promise<void> {
    if (world !== undefined) await this.#container.become(world);
    this.#rules.shows(world);
    this.#status = await this.#container.status(this.#probes, this.#status);
  }

  /** Lets the probe's timer run out. A young container starts just before that, another one long before. */
  async #untilDue({ world, isYoung }: Happening & { type: 'DUE' }): Promise<void> {
    const { clock } = this.#pathNode;
    this.#held = this.#node.hold(({ method }) => method === 'execSync');
    if (isYoung) await clock.advance((clock.nextInMs ?? 0) - 1);
    await this.#show(world);
    await clock.advance(clock.nextInMs ?? 0);
  }

  async #endRun(outcome: ProbeOutcome): Promise<void> {
    const held = this.#held!;
    await this.#pathNode.until('the command to be run', () => held.hasArrived);
    await this.#pathNode.setHealthy(outcome === 'Success');
    if (outcome === 'Error') {
      for (let tries = 1; tries < TRIES; tries += 1) this.#node.fail(({ method }) => method === 'execSync');
      held.fail();
    } else held.proceed();
  }

  #listen(event: InspectionEvent): void {
    if (event.type !== '@xstate.microstep' || event.actorRef === this.#root) return;
    this.#actor = event.actorRef as AnyActorRef;
    if (!event.event.type.startsWith('xstate.')) this.#received.push(event.event as ProbeEvent);
  }
}

/** The parts of an event that are compared: its type, and the outcome of a run. */
function essence(event: ProbeEvent): object {
  return event.type === 'PROBED' ? { type: event.type, outcome: event.outcome } : { type: event.type };
}

/** A pod's status has whole seconds. */
const STATUS_RESOLUTION_MS = 999;

/** What a probe has to do, by what it was shown and not by its machine: the replay checks that it does it. */
class ProbeRules implements CallObserver {
  readonly #kind: ProbeKind;
  readonly #clock: VirtualClock;
  readonly #container: ProbedContainer;
  readonly #runs = new Set<Call>();
  readonly #broken: string[] = [];
  /** Instances whose final result is known: they are not probed any more. */
  readonly #settled = new Set<string>();
  #shown: World | undefined;
  #told: string[] = [];
  #deadline: number | undefined;

  constructor(kind: ProbeKind, clock: VirtualClock, container: ProbedContainer) {
    this.#kind = kind;
    this.#clock = clock;
    this.#container = container;
  }

  get hasRun(): boolean {
    return this.#runs.size > 0;
  }

  begun(call: Call): void {
    if (call.method !== 'execSync') return;
    const id = String(call.args[0]);
    if (!this.#container.isRunning(id)) this.#broken.push('a command is run, and the container does not run');
    if (this.#container.ageMs(id) < INITIAL_DELAY_MS - STATUS_RESOLUTION_MS)
      this.#broken.push('a command is run before the initial delay is over');
    if (this.#settled.has(id)) this.#broken.push('a container is probed whose final result is known');
    this.#runs.add(call);
  }

  ended(call: Call): void {
    this.#runs.delete(call);
  }

  told(result: string): void {
    this.#told.push(result);
  }

  /** Called before the probe receives the event of the step. */
  stepBegins(): void {
    this.#told = [];
    this.#deadline = this.#nextAt();
  }

  /** The probe has read this, or reads it next. */
  shows(world: World | undefined): void {
    this.#shown = world;
  }

  broken(before: ProbeState | undefined, { value, context }: ProbeState): readonly string[] {
    const { containerId = '', result } = context.record;
    const isNewOutcome = before?.value === 'Probing' && value !== 'Draining' && value !== 'Stopped';
    const expected = isNewOutcome && result !== before.context.record.result ? [result] : [];
    if (
      expected.includes('Failure')
        ? this.#kind !== 'readiness'
        : expected.length > 0 && this.#kind === 'startup'
    )
      this.#settled.add(containerId);
    const wants = this.#shown?.state === 'running' && !this.#settled.has(containerId);
    const isAtWork = value === 'Waiting' || value === 'Probing';
    const isSame = before?.value === 'Waiting' && before.context.record.containerId === containerId;
    const found = {
      'the timer is armed and should not be, or the other way round':
        this.#clock.armed !== (value === 'Waiting' ? 1 : 0),
      'while probing there is not exactly one run': this.#runs.size !== 1 && value === 'Probing',
      'a run goes on in Waiting or Idle': this.hasRun && (value === 'Waiting' || value === 'Idle'),
      'a run has not been aborted':
        value !== 'Probing' && [...this.#runs].some(({ signal }) => !signal?.aborted),
      'a container that should be probed is not': wants && value === 'Idle',
      'a container is probed that should not be': !wants && isAtWork,
      'the timer was armed again for the same instance':
        isSame && value === 'Waiting' && this.#nextAt() !== this.#deadline,
      'a changed result is not reported exactly once':
        JSON.stringify(this.#told) !== JSON.stringify(expected),
    };
    return [...this.#broken, ...Object.keys(found).filter((what) => found[what as keyof typeof found])];
  }

  #nextAt(): number | undefined {
    const { nextInMs } = this.#clock;
    return nextInMs === undefined ? undefined : this.#clock.now() + nextInMs;
  }
}
