/** Sees everything that happens in the simulated runtime: writes it down, and checks that no container and no static pod runs twice. */
import type {
  CallUnderWay,
  CommandTruth,
  ContainerTruth,
  RuntimeWitness,
  SandboxTruth,
} from '../runtime/witness.ts';
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { ContentJudge } from '../judges/contents/content-judge.ts';
import type { HookJudge } from '../judges/hook-judge.ts';
import { isRead, secondInstance } from '../judges/pod-states.ts';
import type { AgentRun } from './agent-run.ts';
import type { HostContext } from './host-context.ts';
import type { NodeEquipment } from './node-equipment.ts';

export interface RuntimeObserverParts {
  readonly runtime: () => SimulatedRuntime;
  /** Undefined while no agent runs. */
  readonly agentRun: () => AgentRun | undefined;
  /** Gets the containers for whose start an agent waited. */
  readonly contents: Pick<ContentJudge, 'started'>;
  readonly hooks: Pick<HookJudge, 'commandEnded'>;
  readonly onCall: (call: CallUnderWay) => void;
  readonly equipment: Pick<NodeEquipment, 'started'>;
  /** A container or a sandbox has started or ended. */
  readonly onChange: () => void;
}

export class RuntimeObserver implements RuntimeWitness {
  readonly #context: HostContext;
  readonly #parts: RuntimeObserverParts;

  constructor(context: HostContext, parts: RuntimeObserverParts) {
    this.#context = context;
    this.#parts = parts;
  }

  callBegan(call: CallUnderWay): void {
    this.#parts.agentRun()?.callBegan(call);
    this.#parts.onCall(call);
  }

  callEnded(call: CallUnderWay, answer: string): void {
    const { tally, tell } = this.#context;
    tally.calls += 1;
    const { uid, name, target, landed } = call;
    const outcome = answer === 'done' && !landed ? 'not done, though the runtime says so' : answer;
    if (outcome !== 'done') {
      tally.failures += 1;
      this.#parts.agentRun()?.judges.lifecycle.disturbed(uid);
    }
    if (uid === '') return;
    tell(`${name}${target && ` ${target}`}: ${outcome}`, { uid }, outcome === 'done' && isRead(name));
  }

  callLanded({ uid, name, target }: CallUnderWay): void {
    this.#parts.agentRun()?.landedLate(uid);
    this.#context.tell(`${name} ${target}: carried out late`, { uid });
  }

  containerStarted(container: ContainerTruth): void {
    const { tally, tell } = this.#context;
    const { onChange, runtime } = this.#parts;
    const { uid, id, metadata } = container;
    tally.starts += 1;
    onChange();
    tell(`container ${metadata.name} ${id} runs`, { uid });
    const other = secondInstance(runtime(), container);
    if (other !== undefined) this.#violated('I10', uid, `${metadata.name} runs twice: ${other.id} and ${id}`);
    if (!this.#isOfEarlierAgent(id, uid)) this.#checkStaticName(uid);
    const isAwaited = !this.#isUnawaited(id, uid);
    this.#parts.equipment.started(container, isAwaited);
    if (isAwaited) this.#parts.contents.started(container);
  }

  containerEnded({ uid, id, metadata, exitCode }: ContainerTruth): void {
    this.#parts.onChange();
    this.#context.tell(`container ${metadata.name} ${id} has ended with ${String(exitCode)}`, { uid });
  }

  commandEnded(command: CommandTruth): void {
    this.#parts.hooks.commandEnded(command);
  }

  sandboxStarted({ uid, id }: SandboxTruth): void {
    this.#parts.onChange();
    this.#context.tell(`sandbox ${id} is ready`, { uid });
  }

  sandboxEnded({ uid, id }: SandboxTruth): void {
    this.#parts.onChange();
    this.#context.tell(`sandbox ${id} is not ready any more`, { uid });
  }

  /** I6, by what really runs: it also holds for pods that an earlier agent has left running. */
  #checkStaticName(uid: string): void {
    const { pods } = this.#context;
    const { runtime, agentRun } = this.#parts;
    const run = agentRun();
    const name = pods.nameOf(uid);
    if (run === undefined || name === undefined || !pods.isOfManifest(uid)) return;
    for (const other of runtime().uids()) {
      if (other === uid || pods.nameOf(other) !== name || !pods.isOfManifest(other)) continue;
      if (!this.#hasRunSince(other, run.judges.startedAt) || run.judges.lifecycle.hasEnded(other)) continue;
      this.#violated('I6', uid, `starts while ${other} of the same name runs`);
    }
  }

  /** Whether an earlier agent asked for the start of the container. That does not count against this agent. */
  #isOfEarlierAgent(id: string, uid: string): boolean {
    const { connection } = this.#parts.agentRun() ?? {};
    return this.#parts
      .runtime()
      .inFlight(uid)
      .some((call) => call.target === id && call.abandoned && call.connection !== connection?.id);
  }

  /** The pod may be gone by now. */
  #isUnawaited(id: string, uid: string): boolean {
    const calls = this.#parts.runtime().inFlight(uid);
    return calls.some(({ target, abandoned }) => target === id && abandoned);
  }

  /** Whether something of the pod has run since before that time. The agent cannot know what abandoned calls start later. */
  #hasRunSince(uid: string, time: number): boolean {
    return this.#parts
      .runtime()
      .sandboxesOf(uid)
      .some(
        ({ ready, createdAt, containers }) =>
          (ready && createdAt < time) ||
          containers.some(({ state, startedAt }) => state === 'CONTAINER_RUNNING' && startedAt < time),
      );
  }

  #violated(invariant: string, uid: string, what: string): void {
    this.#context.violated({ invariant, uid, what });
  }
}
