/**
 * One path of the probe machine, replayed against the production probe manager and its worker: a container on the runtime
 * starts, ends and is replaced, time passes, and the probe's commands are held until their outcome is due.
 */
import { expect } from '@jest/globals';
import { type AnyActorRef, createActor, type InspectionEvent, setup } from 'xstate';
import { ProbeManager } from '../../../src/actors/probes/probe-manager.ts';
import type { probeMachine, ProbeEvent } from '../../../src/machines/probe-machine.ts';
import type { ProbeKind, ProbeOutcome } from '../../../src/policies/probes/probe.ts';
import type { Pod, PodStatus } from '../../../src/types/kubernetes.ts';
import { type HeldCall, SteeredNode } from '../../support/steered-runtime.ts';
import type { Coverage } from '../coverage.ts';
import { type PathNode, SILENT } from '../path-node.ts';
import type { Path, Step } from '../paths.ts';
import { replaying } from '../replaying.ts';
import {
  type Happening,
  type HappeningName,
  HAPPENINGS,
  probedPod,
  type ProbeState,
  UID,
  type World,
} from './probe-environment.ts';
import { ProbeRules } from './probe-rules.ts';
import { ProbedContainer } from './probed-container.ts';

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
    this.#probes = new ProbeManager({
      runtime: this.#node.parts.runtime,
      clock: pathNode.clock,
      random: () => 0,
      recorder: { event: () => undefined },
      logger: SILENT,
      podStatus: () => this.#status,
      podIP: () => '127.0.0.1',
      send: ({ result }) => this.#rules.told(result),
      parent: () => this.#root,
    });
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
