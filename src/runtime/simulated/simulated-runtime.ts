import type { Clock } from '../../types/clock.ts';
import type { Image } from '../../types/cri.ts';
import { answerTo, type Random, within } from './chance.ts';
import { EventStreams } from './event-streams.ts';
import { NO_FAULTS, type RuntimeFaults } from './call-faults.ts';
import { SimulatedImages } from './images.ts';
import { CONTAINERD_LATENCIES, type Latencies, type Range } from './latencies.ts';
import { parseProgram, type Program } from './simulated-program.ts';
import { type ConnectionHost, SimulatedConnection } from './simulated-connection.ts';
import type { SimulatedSandbox } from './simulated-sandbox.ts';
import type { CallUnderWay, RuntimeWitness, SandboxTruth } from './witness.ts';
import { World } from './world.ts';

/** The kubelet's runtimeRequestTimeout, as the CRI client has it unless it is told otherwise. */
const REQUEST_TIMEOUT_MS = 120_000;
/** When a sandbox dies that dies by itself. */
const SANDBOX_LIFETIME_MS: Range = [1, 600_000];

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  /** Depends on the seed and the key alone: what happens to one pod does not change with the others. */
  readonly random: Random;
  readonly latencies?: Latencies;
  readonly faults?: RuntimeFaults;
  readonly requestTimeoutMs?: number;
  readonly witness?: RuntimeWitness;
  /** Those that it has from the beginning. */
  readonly images?: readonly string[];
  /** What the words of a command mean. */
  readonly programOf?: (words: readonly string[]) => Program;
}

/**
 * A container runtime in which nothing is real but the rules: what a container does is said by its command
 * (`parseProgram`). It is one node's, and outlives the agents that connect to it; who has it knows the truth.
 */
export class SimulatedRuntime {
  /** What goes wrong from now on. */
  faults: RuntimeFaults;
  /** What goes wrong with single pods, by UID, in place of `faults`. */
  readonly podFaults = new Map<string, RuntimeFaults>();
  /** Whether pods get a network, as the runtime says. */
  networkReady = true;
  readonly #options: SimulatedRuntimeOptions;
  readonly #host: ConnectionHost;
  readonly #world: World;
  readonly #streams: EventStreams;
  readonly #images = new SimulatedImages();
  #connections = 0;
  #down = false;

  constructor(options: SimulatedRuntimeOptions) {
    const { clock, random, latencies = CONTAINERD_LATENCIES, faults = NO_FAULTS, witness = {} } = options;
    const { programOf = parseProgram, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
    this.#options = options;
    this.faults = faults;
    const faultsOf = (uid: string): RuntimeFaults => this.podFaults.get(uid) ?? this.faults;
    for (const image of options.images ?? []) this.#images.pull(image);
    const world = new World({
      ...{ clock, programOf, witness },
      tell: (type, id, sandbox) => this.#streams.tell(type, id, sandbox),
    });
    const pod = (uid: string) => world.pod(uid);
    this.#world = world;
    this.#streams = new EventStreams({ clock, random, latencies, faultsOf, pod, pods: () => world.pods() });
    const isDown = () => this.#down;
    this.#host = {
      ...{ clock, random, latencies, requestTimeoutMs, witness, programOf, faultsOf, world },
      ...{ streams: this.#streams, images: this.#images },
      get down() {
        return isDown();
      },
      leave: (left) => world.leave(left),
      conditions: () => [condition('RuntimeReady', true), condition('NetworkReady', this.networkReady)],
      sandboxRuns: (sandbox) => this.#mayDie(sandbox),
    };
  }

  /** For one agent, as long as it lives. */
  connect(): SimulatedConnection {
    this.#connections += 1;
    return new SimulatedConnection(this.#host, this.#connections);
  }

  /** The UIDs of all pods of which there is a sandbox. */
  uids(): readonly string[] {
    return [...this.#world.pods()].filter(({ sandboxes }) => sandboxes.length > 0).map(({ uid }) => uid);
  }

  /** All that were pulled, and not removed since. */
  images(): readonly Image[] {
    return this.#images.list();
  }

  /** What there is of a pod, oldest first. It is no copy: it goes on changing. */
  sandboxesOf(uid: string): readonly SandboxTruth[] {
    return this.#world.knownPod(uid)?.sandboxes ?? [];
  }

  /** Whether anything of the pod runs: a container, or a sandbox that is ready (I3). */
  isRunning(uid: string): boolean {
    return this.sandboxesOf(uid).some(
      ({ ready, containers }) => ready || containers.some(({ state }) => state === 'CONTAINER_RUNNING'),
    );
  }

  /** The calls about a pod that may still have an effect or be answered. */
  inFlight(uid: string): readonly CallUnderWay[] {
    return [...(this.#world.knownPod(uid)?.calls ?? [])];
  }

  /** Ends a container behind the agent's back. */
  killContainer(id: string, exitCode: number, reason?: string): void {
    this.#world.container(id).end(exitCode, undefined, reason);
  }

  /** Ends a sandbox behind the agent's back; its containers run on unless they are to go with it. */
  killSandbox(id: string, { withContainers = false } = {}): void {
    const sandbox = this.#world.sandbox(id);
    if (withContainers) this.#world.stopPodSandbox(id, undefined);
    else this.#world.endSandbox(sandbox, undefined);
  }

  /** Calls fail with Unavailable, also those under way; events are not told. What runs keeps running. */
  goDown(): void {
    if (this.#down) return;
    this.#down = true;
    this.#streams.breakAll();
    for (const call of this.#world.openCalls()) call.breakOff();
  }

  comeUp(): void {
    if (!this.#down) return;
    this.#down = false;
    this.#streams.mendAll();
  }

  #mayDie(sandbox: SimulatedSandbox): void {
    const { clock, random } = this.#options;
    const { id, uid } = sandbox;
    const probability = () => (this.podFaults.get(uid) ?? this.faults).sandboxDeath ?? 0;
    if (probability() === 0) return;
    const value = random(`${id}/death`);
    if (answerTo('death', value) >= probability()) return;
    const die = () => {
      const isThere = this.sandboxesOf(uid).some((other) => other === sandbox);
      if (isThere && probability() > 0)
        this.killSandbox(id, { withContainers: answerTo('alone', value) < 0.5 });
    };
    clock.setTimeout(die, within(SANDBOX_LIFETIME_MS, answerTo('lifetime', value)));
  }
}

function condition(type: 'RuntimeReady' | 'NetworkReady', status: boolean) {
  const problem = status ? '' : 'NetworkPluginNotReady';
  return {
    type,
    status,
    reason: problem,
    message: status ? '' : 'the simulation has taken the network away',
  };
}
