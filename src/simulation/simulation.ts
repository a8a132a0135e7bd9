/** A whole simulation: nodes under one virtual clock, what befalls them, and what is asked of them at the end. */
import { History } from './history.ts';
import { Host } from './host.ts';
import type { Fault } from './faults.ts';
import type { Violation } from './judge.ts';
import { drawnNodeFacts } from './node-facts.ts';
import { drawnNodeResources } from './resources/node-resources.ts';
import { type Operation, plan, type PlanOptions } from './plan.ts';
import { type Complaint, unrest, leftovers } from './rest.ts';
import { keyedRandom } from './seeded-random.ts';
import { newTally, type Tally } from './tally.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface SimulationOptions extends PlanOptions {
  readonly faults: readonly Fault[];
  /** Numbers of the operations that are carried out; all where it is left out. */
  readonly only?: readonly number[];
  /** Gets every line of the history as it comes. */
  readonly onLine?: (line: string) => void;
}

export interface SimulationResult {
  /** The first violation of an invariant, if there was one: the simulation ends there. */
  readonly violation?: Violation;
  /** What is known of the pod of the violation, line by line. */
  readonly story: readonly string[];
  readonly tally: Tally;
  /** SHA-256 of the history. */
  readonly digest: string;
  readonly lines: number;
  /** Numbers of the operations that were carried out before it ended. */
  readonly operations: readonly number[];
}

const STEP_MS = 5_000;
/** Once nothing goes wrong any more, every pod comes to rest within this: longer than all back-offs and deadlines. */
const PATIENCE_MS = 30 * 60_000;

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
  readonly #operations: readonly Operation[];
  readonly #endMs: number;
  readonly #done: number[] = [];
  #violation: Violation | undefined;

  constructor({ seed, faults, only, onLine, ...rest }: SimulationOptions) {
    const began = this.#clock.now();
    this.#history = new History(() => this.#clock.now() - began, onLine);
    const kept = only && new Set(only);
    this.#operations = plan({ seed, ...rest }).filter(({ number }) => kept?.has(number) ?? true);
    this.#endMs = Math.round(rest.hours * 3_600_000);
    const random = keyedRandom(seed);
    this.#hosts = Array.from({ length: rest.nodes }, (_, index) => {
      const ofNode = (key: string) => random(`${String(index + 1)}/${key}`);
      return new Host({
        nodeFacts: (life) => drawnNodeFacts(rest.pods, ofNode, life),
        resources: drawnNodeResources(rest.pods, ofNode),
        node: index + 1,
        clock: this.#clock,
        random: ofNode,
        faults: new Set(faults),
        history: this.#history,
        tally: this.#tally,
        onViolation: (violation) => this.#violated(violation),
      });
    });
  }

  async run(): Promise<void> {
    for (const operation of this.#operations) {
      this.#clock.setTimeout(() => this.#apply(operation), operation.atMs);
    }
    await this.#advance(this.#endMs);
    await this.#until(unrest, 'I7', (host) => host.calm());
    await this.#until(leftovers, 'I10', (host) => host.sources.clear());
  }

  result(): SimulationResult {
    const violation = this.#violation;
    return {
      ...(violation && { violation }),
      story: violation ? this.#history.of(violation) : [],
      tally: this.#tally,
      digest: this.#history.digest(),
      lines: this.#history.length,
      operations: this.#done,
    };
  }

  #apply(operation: Operation): void {
    if (this.#violation !== undefined) return;
    this.#done.push(operation.number);
    this.#hosts[operation.node - 1]?.apply(operation);
  }

  /** Ends early where something was violated. */
  async #advance(delayMs: number): Promise<void> {
    for (let left = delayMs; left > 0 && this.#violation === undefined; left -= STEP_MS) {
      await this.#clock.advance(Math.min(left, STEP_MS));
    }
  }

  /** Waits, after a beginning, until nobody has anything to complain of. */
  async #until(
    complain: (host: Host) => Complaint | undefined,
    invariant: string,
    begin: (host: Host) => void,
  ): Promise<void> {
    if (this.#violation === undefined) this.#hosts.forEach(begin);
    for (let waitedMs = 0; this.#violation === undefined; waitedMs += STEP_MS) {
      const complaints = this.#hosts.map((host) => ({ node: host.node, ...complain(host) }));
      const [first] = complaints.filter(({ what }) => what !== undefined);
      if (first === undefined) return;
      if (waitedMs >= PATIENCE_MS) this.#violated({ invariant, what: '', ...first });
      await this.#advance(STEP_MS);
    }
  }

  #violated(violation: Violation): void {
    if (this.#violation !== undefined) return;
    this.#violation = violation;
    this.#history.add(violation, `VIOLATED ${violation.invariant}: ${violation.what}`);
  }
}
