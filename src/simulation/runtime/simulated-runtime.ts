import type { Clock } from '../../types/clock.ts';
import type { Image } from '../../types/cri.ts';
import { answerTo, CONTAINERD_LATENCIES, type Latencies, type Random, type Range, within } from './chance.ts';
import { EventStreams } from './event-streams.ts';
import { NO_FAULTS, type RuntimeFaults } from './call-faults.ts';
import { SimulatedImages, World } from './world.ts';
import { parseProgram, type Program } from './simulated-program.ts';
import { type ConnectionHost, SimulatedConnection } from './simulated-connection.ts';
import type { SimulatedSandbox } from './simulated-sandbox.ts';
import type { CallUnderWay, RuntimeWitness, SandboxTruth } from './witness.ts';

/** The kubelet's runtimeRequestTimeout, as the CRI client has it unless it is told otherwise. */
const REQUEST_TIMEOUT_MS = 120_000;
/** How long a sandbox lives if it dies by itself. */
const SANDBOX_LIFETIME_MS: Range = [1, 600_000];
const IMAGE_BYTES = 50_000_000;

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  /** Depends on the seed and the key alone, so that what happens to one pod does not depend on the others. */
  readonly random: Random;
  readonly latencies?: Latencies;
  readonly faults?: RuntimeFaults;
  readonly requestTimeoutMs?: number;
  readonly witness?: RuntimeWitness;
  /** The images that are present from the start. */
  readonly images?: readonly string[];
  /** How large an image is. */
  readonly imageBytes?: (image: string) => number;
  /** What a container or command does, by the words of its command line. */
  readonly programOf?: (words: readonly string[]) => Program;
}

/**
 * A container runtime without real processes: a container does what its command says (`parseProgram`). It belongs to
 * one node, and outlives the agents that connect to it. Its owner can read the true state at any time.
 */
export class SimulatedRuntime {
  /** The faults from now on. */
  faults: RuntimeFaults;
  /** Faults of single pods, by UID, in place of `faults`. */
  readonly podFaults = new Map<string, RuntimeFaults>();
  /** What the runtime reports as NetworkReady. */
  networkReady = true;
  readonly #options: SimulatedRuntimeOptions;
  readonly #host: ConnectionHost;
  readonly #world: World;
  readonly #streams: EventStreams;
  readonly #images: SimulatedImages;
  #connections = 0;
  #down = false;

  constructor(options: SimulatedRuntimeOptions) {
    const { clock, random, latencies = CONTAINERD_LATENCIES, faults = NO_FAULTS, witness = {} } = options;
    const { programOf = parseProgram, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
    const { imageBytes = () => IMAGE_BYTES } = options;
    this.#options = options;
    this.faults = faults;
    const faultsOf = (uid: string): RuntimeFaults => this.podFaults.get(uid) ?? this.faults;
    this.#images = new SimulatedImages(imageBytes);
    for (const image of options.images ?? []) this.#images.pull(image);
    const world = new World({
      clock,
      programOf,
      witness,
      tell: (type, id, sandbox) => this.#streams.tell(type, id, sandbox),
    });
    const pod = (uid: string) => world.pod(uid);
    this.#world = world;
    this.#streams = new EventStreams({ clock, random, latencies, faultsOf, pod, pods: () => world.pods() });
    const isDown = () => this.#down;
    this.#host = {
      clock,
      random,
      latencies,
      requestTimeoutMs,
      witness,
      programOf,
      faultsOf,
      world,
      streams: this.#streams,
      images: this.#images,
      get down() {
        return isDown();
      },
      forgetIfEmpty: (idle) => world.forgetIfEmpty(idle),
      conditions: () => [condition('RuntimeReady', true), condition('NetworkReady', this.networkReady)],
      sandboxRuns: (sandbox) => this.#mayDie(sandbox),
    };
  }

  /** A connection for one agent. */
  connect(): SimulatedConnection {
    this.#connections += 1;
    return new SimulatedConnection(this.#host, this.#connections);
  }

  /** The UIDs of all pods that have a sandbox. */
  uids(): readonly string[] {
    return [...this.#world.pods()].filter(({ sandboxes }) => sandboxes.length > 0).map(({ uid }) => uid);
  }

  /** The images that are present. */
  images(): readonly Image[] {
    return this.#images.list();
  }

  /** The sandboxes of a pod, oldest first. This is no copy: it goes on changing. */
  sandboxesOf(uid: string): readonly SandboxTruth[] {
    return this.#world.knownPod(uid)?.sandboxes ?? [];
  }

  /** Whether anything of the pod runs: a container, or a sandbox that is ready (I3). */
  isRunning(uid: string): boolean {
    return this.sandboxesOf(uid).some(
      ({ ready, containers }) => ready || containers.some(({ state }) => state === 'CONTAINER_RUNNING'),
    );
  }

  /** The calls about a pod that can still have an effect or be answered. */
  inFlight(uid: string): readonly CallUnderWay[] {
    return [...(this.#world.knownPod(uid)?.calls ?? [])];
  }

  /** Ends a container behind the agent's back. */
  killContainer(id: string, exitCode: number, reason?: string): void {
    this.#world.container(id).end(exitCode, undefined, reason);
  }

  /** Ends a sandbox behind the agent's back. Its containers run on unless `withContainers`. */
  killSandbox(id: string, { withContainers = false } = {}): void {
    const sandbox = this.#world.sandbox(id);
    if (withContainers) this.#world.stopPodSandbox(id, undefined);
    else this.#world.endSandbox(sandbox, undefined);
  }

  /** Calls fail with Unavailable, also those under way; no events are sent. Containers keep running. */
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
      const isPresent = this.sandboxesOf(uid).some((other) => other === sandbox);
      if (isPresent && probability() > 0)
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
