/** Sees everything that happens in the simulated runtime: writes it down, and checks that no container and no static pod runs twice. */
import type {
  CallUnderWay,
  CommandTruth,
  ContainerTruth,
  RuntimeWitness,
  SandboxTruth,
} from '../runtime/witness.ts';
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { Violation } from '../history.ts';
import type { ContentJudge } from '../judges/contents/content-judge.ts';
import type { HookJudge } from '../judges/hook-judge.ts';
import { isRead, secondInstance } from '../judges/pod-states.ts';
import type { Tally } from '../tally.ts';
import type { AgentRun } from './agent-run.ts';
import type { CreatedPods } from './created-pods.ts';
import type { NodeEquipment } from './node-equipment.ts';

export interface RuntimeObserverOptions {
  readonly node: number;
  readonly runtime: () => SimulatedRuntime;
  /** Undefined while no agent runs. */
  readonly agentRun: () => AgentRun | undefined;
  readonly pods: CreatedPods;
  /** Gets the containers for whose start an agent waited. */
  readonly contents: Pick<ContentJudge, 'started'>;
  readonly hooks: Pick<HookJudge, 'commandEnded'>;
  readonly tally: Tally;
  /** Adds a line about the pod to the history. */
  readonly tell: (uid: string, what: string, isMinor?: boolean) => void;
  readonly onCall: (call: CallUnderWay) => void;
  readonly equipment: Pick<NodeEquipment, 'started'>;
  /** A container or a sandbox has started or ended. */
  readonly onChange: () => void;
  readonly onViolation: (violation: Violation) => void;
}

export class RuntimeObserver implements RuntimeWitness {
  readonly #options: RuntimeObserverOptions;

  constructor(options: RuntimeObserverOptions) {
    this.#options = options;
  }

  callBegan(call: CallUnderWay): void {
    this.#options.agentRun()?.callBegan(call);
    this.#options.onCall(call);
  }

  callEnded(call: CallUnderWay, answer: string): void {
    const { tally, agentRun, tell } = this.#options;
    tally.calls += 1;
    const { uid, name, target, landed } = call;
    const outcome = answer === 'done' && !landed ? 'not done, though the runtime says so' : answer;
    if (outcome !== 'done') {
      tally.failures += 1;
      agentRun()?.judges.lifecycle.disturbed(uid);
    }
    if (uid === '') return;
    tell(uid, `${name}${target && ` ${target}`}: ${outcome}`, outcome === 'done' && isRead(name));
  }

  callLanded({ uid, name, target }: CallUnderWay): void {
    this.#options.agentRun()?.landedLate(uid);
    this.#options.tell(uid, `${name} ${target}: carried out late`);
  }

  containerStarted(container: ContainerTruth): void {
    const { tally, onChange, tell, runtime } = this.#options;
    const { uid, id, metadata } = container;
    tally.starts += 1;
    onChange();
    tell(uid, `container ${metadata.name} ${id} runs`);
    const other = secondInstance(runtime(), container);
    if (other !== undefined) this.#violated('I10', uid, `${metadata.name} runs twice: ${other.id} and ${id}`);
    if (!this.#isOfEarlierAgent(id, uid)) this.#checkStaticName(uid);
    const isAwaited = !this.#isUnawaited(id, uid);
    this.#options.equipment.started(container, isAwaited);
    if (isAwaited) this.#options.contents.started(container);
  }

  containerEnded({ uid, id, metadata, exitCode }: ContainerTruth): void {
    this.#options.onChange();
    this.#options.tell(uid, `container ${metadata.name} ${id} has ended with ${String(exitCode)}`);
  }

  commandEnded(command: CommandTruth): void {
    this.#options.hooks.commandEnded(command);
  }

  sandboxStarted({ uid, id }: SandboxTruth): void {
    this.#options.onChange();
    this.#options.tell(uid, `sandbox ${id} is ready`);
  }

  sandboxEnded({ uid, id }: SandboxTruth): void {
    this.#options.onChange();
    this.#options.tell(uid, `sandbox ${id} is not ready any more`);
  }

  /** I6, by what really runs: it also holds for pods that an earlier agent has left running. */
  #checkStaticName(uid: string): void {
    const { pods, runtime } = this.#options;
    const run = this.#options.agentRun();
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
    const { connection } = this.#options.agentRun() ?? {};
    return this.#options
      .runtime()
      .inFlight(uid)
      .some((call) => call.target === id && call.abandoned && call.connection !== connection?.id);
  }

  /** The pod may be gone by now. */
  #isUnawaited(id: string, uid: string): boolean {
    const calls = this.#options.runtime().inFlight(uid);
    return calls.some(({ target, abandoned }) => target === id && abandoned);
  }

  /** Whether something of the pod has run since before that time. The agent cannot know what abandoned calls start later. */
  #hasRunSince(uid: string, time: number): boolean {
    return this.#options
      .runtime()
      .sandboxesOf(uid)
      .some(
        ({ ready, createdAt, containers }) =>
          (ready && createdAt < time) ||
          containers.some(({ state, startedAt }) => state === 'CONTAINER_RUNNING' && startedAt < time),
      );
  }

  #violated(invariant: string, uid: string, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, uid, what });
  }
}
