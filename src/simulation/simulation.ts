/** A whole simulation: nodes under one virtual clock, the operations of a plan, and the final checks. */
import { History, type Violation } from './history.ts';
import { Host } from './node/host.ts';
import type { Fault } from './plan/fault-kinds.ts';
import { drawnNodeFacts } from './node/simulated-node-facts.ts';
import { drawnNodeResources } from './resources/node-resources.ts';
import { type Operation, plan, type PlanOptions } from './plan/plan.ts';
import { findLeftover, findUnsettled, type Finding } from './judges/final-check.ts';
import { keyedRandom } from './plan/seeded-random.ts';
import { newTally, type Tally } from './tally.ts';
import { drawnCsi } from './drivers/csi-plan.ts';
import { drawnDra } from './drivers/dra-plan.ts';
import type { DriverKind } from './drivers/driver-kinds.ts';
import { drawnDevices } from './devices/devices-plan.ts';
import { drawnPlacement } from './placement/placement-plan.ts';
import { drawnPlugins } from './plugins/plugins-plan.ts';
import { VirtualClock } from './node/virtual-clock.ts';
import type { TransitionListener } from '../types/transition.ts';

export interface SimulationOptions extends PlanOptions {
  readonly faults: readonly Fault[];
  /** Numbers of the operations to carry out. Default: all. */
  readonly only?: readonly number[];
  /** The kinds of drivers that nodes may have. Default: none. */
  readonly drivers?: readonly DriverKind[];
  /** Receives each line of the history at once. */
  readonly onLine?: (line: string) => void;
  /** Gets every transition of every agent: `ordinal` 1 is the first agent of the node. */
  readonly listen?: (node: number, ordinal: number) => TransitionListener;
  /** If operations go on until this simulated time, the simulation ends then, without the final checks. */
  readonly untilMs?: number;
  /** Called every few simulated seconds, with the simulated time that has passed. */
  readonly onProgress?: (elapsedMs: number) => void;
}

export interface SimulationResult {
  /** The first violation of an invariant, if any. It ends the simulation. */
  readonly violation?: Violation;
  /** The lines of the history about the pod of the violation. */
  readonly story: readonly string[];
  readonly tally: Tally;
  /** SHA-256 of the history. */
  readonly digest: string;
  readonly lines: number;
  /** Simulated time. */
  readonly elapsedMs: number;
  /** Numbers of the operations that were carried out before it ended. */
  readonly operations: readonly number[];
}

const STEP_MS = 5_000;
/** After the last fault, every pod settles within this time. It is longer than all back-offs and deadlines. */
const SETTLING_LIMIT_MS = 30 * 60_000;

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const simulation = new Simulation(options);
  await simulation.run();
  return simulation.result();
}

class Simulation {
  readonly #clock = new VirtualClock();
  readonly #tally = newTally();
  readonly #history: History;
  readonly #hosts: readonly Host[];
  readonly #operations: Iterator<Operation, undefined>;
  readonly #only: ReadonlySet<number> | undefined;
  readonly #began: number;
  readonly #endMs: number;
  readonly #untilMs: number;
  readonly #onProgress: SimulationOptions['onProgress'];
  /** Number of the last operation that was carried out. */
  #done = 0;
  #violation: Violation | undefined;

  constructor(options: SimulationOptions) {
    const {
      seed,
      nodes,
      pods,
      hours,
      faults,
      drivers = [],
      only,
      onLine,
      onProgress,
      untilMs,
      listen,
    } = options;
    this.#began = this.#clock.now();
    this.#history = new History(() => this.#elapsedMs, onLine);
    this.#onProgress = onProgress;
    this.#only = only && new Set(only);
    this.#operations = plan({ seed, nodes, pods, hours });
    this.#endMs = Math.round(hours * 3_600_000);
    this.#untilMs = untilMs ?? Infinity;
    const random = keyedRandom(seed);
    this.#hosts = Array.from({ length: nodes }, (_, index) => {
      const ofNode = (key: string) => random(`${String(index + 1)}/${key}`);
      return new Host({
        nodeFacts: (ordinal) => drawnNodeFacts(pods, ofNode, ordinal),
        resources: drawnNodeResources(pods, ofNode),
        plugins: drawnPlugins(ofNode),
        devices: drawnDevices(ofNode),
        placement: drawnPlacement(ofNode),
        drivers: {
          csi: drivers.includes('csi') ? drawnCsi(ofNode) : undefined,
          dra: drivers.includes('dra') ? drawnDra(ofNode) : undefined,
        },
        node: index + 1,
        clock: this.#clock,
        random: ofNode,
        faults: new Set(faults),
        history: this.#history,
        tally: this.#tally,
        ...(listen && { listen: (ordinal) => listen(index + 1, ordinal) }),
        onViolation: (violation) => this.#violated(violation),
      });
    });
  }

  async run(): Promise<void> {
    this.#armNext();
    await this.#advance(Math.min(this.#endMs, this.#untilMs));
    if (this.#untilMs <= this.#endMs) return;
    await this.#check(findUnsettled, 'I7', (host) => host.stopFaults());
    await this.#check(findLeftover, 'I10', (host) => host.sources.clear());
  }

  result(): SimulationResult {
    const violation = this.#violation;
    return {
      violation,
      story: violation ? this.#history.of(violation) : [],
      tally: this.#tally,
      digest: this.#history.digest(),
      lines: this.#history.length,
      elapsedMs: this.#elapsedMs,
      operations: this.#operationsDone,
    };
  }

  get #elapsedMs(): number {
    return this.#clock.now() - this.#began;
  }

  get #operationsDone(): readonly number[] {
    const only = this.#only;
    if (only === undefined) return Array.from({ length: this.#done }, (_, index) => index + 1);
    return [...only].filter((number) => number > 0 && number <= this.#done).sort((a, b) => a - b);
  }

  /** Arms the next operation. Only one is armed at a time. */
  #armNext(): void {
    const operation = this.#nextOperation();
    if (operation === undefined) return;
    this.#clock.beforeTimersAt(this.#began + operation.atMs, () => {
      this.#apply(operation);
      this.#armNext();
    });
  }

  #nextOperation(): Operation | undefined {
    for (;;) {
      const { value } = this.#operations.next();
      if (value === undefined || this.#only?.has(value.number) !== false) return value;
    }
  }

  #apply(operation: Operation): void {
    if (this.#violation !== undefined) return;
    this.#done = operation.number;
    this.#hosts[operation.node - 1]?.apply(operation);
  }

  /** Ends early if an invariant is violated. */
  async #advance(delayMs: number): Promise<void> {
    for (let left = delayMs; left > 0 && this.#violation === undefined; left -= STEP_MS) {
      await this.#clock.advance(Math.min(left, STEP_MS));
      this.#onProgress?.(this.#elapsedMs);
    }
  }

  /** Prepares each node, then waits until the check finds nothing on any of them. */
  async #check(
    find: (host: Host) => Finding | undefined,
    invariant: string,
    prepare: (host: Host) => void,
  ): Promise<void> {
    if (this.#violation === undefined) this.#hosts.forEach(prepare);
    for (let waitedMs = 0; this.#violation === undefined; waitedMs += STEP_MS) {
      const findings = this.#hosts.map((host) => ({ node: host.node, ...find(host) }));
      const [first] = findings.filter(({ what }) => what !== undefined);
      if (first === undefined) return;
      if (waitedMs >= SETTLING_LIMIT_MS) this.#violated({ invariant, what: '', ...first });
      await this.#advance(STEP_MS);
    }
  }

  #violated(violation: Violation): void {
    if (this.#violation !== undefined) return;
    this.#violation = violation;
    this.#history.add(violation, `VIOLATED ${violation.invariant}: ${violation.what}`);
  }
}
