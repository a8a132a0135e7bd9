/** Reduces a failing simulation to few operations and faults with which the same invariant is still violated. */
import { simulate, type SimulationOptions, type SimulationResult } from '../simulation.ts';

export interface Shrunk {
  readonly options: SimulationOptions;
  readonly result: SimulationResult;
  /** How many simulations were run. */
  readonly runs: number;
}

const MAX_RUNS = 500;
/** A smaller simulation may reach the violation later by this much. It is not simulated any further. */
const MAX_DELAY_MS = 600_000;

export interface ShrinkMeans {
  readonly run?: typeof simulate;
  /** Called after each simulation: how many were run, and how many operations are left. */
  readonly onRun?: (runs: number, operations: number) => void;
}

/** `result`: of a simulation with these options. It has a violation. */
export async function shrink(
  options: SimulationOptions,
  result: SimulationResult,
  means: ShrinkMeans = {},
): Promise<Shrunk> {
  return new Shrinking(options, result, means).shrink();
}

class Shrinking {
  #options: SimulationOptions;
  #result: SimulationResult;
  readonly #invariant: string | undefined;
  readonly #run: typeof simulate;
  readonly #onRun: ShrinkMeans['onRun'];
  readonly #untilMs: number;
  #runs = 0;

  constructor(options: SimulationOptions, result: SimulationResult, { run, onRun }: ShrinkMeans) {
    this.#options = options;
    this.#result = result;
    this.#invariant = result.violation?.invariant;
    this.#run = run ?? simulate;
    this.#onRun = onRun;
    this.#untilMs = result.elapsedMs + MAX_DELAY_MS;
  }

  async shrink(): Promise<Shrunk> {
    await this.#withFewerOperations();
    await this.#withFewerFaults();
    await this.#withFewerOperations();
    return { options: { ...this.#options, only: this.#only }, result: this.#result, runs: this.#runs };
  }

  /** The operations that were carried out before the violation. The others cannot have caused it. */
  get #only(): readonly number[] {
    return this.#result.operations;
  }

  /** Leaves out parts of the list: halves first, then smaller and smaller parts (delta debugging). */
  async #withFewerOperations(): Promise<void> {
    for (let size = Math.ceil(this.#only.length / 2); size >= 1; size = smaller(size)) {
      let from = 0;
      while (from < this.#only.length && this.#runs < MAX_RUNS) {
        const only = this.#only.toSpliced(from, size);
        if (!(await this.#stillFails({ only }))) from += size;
      }
    }
  }

  async #withFewerFaults(): Promise<void> {
    for (const fault of this.#options.faults) {
      const faults = this.#options.faults.filter((other) => other !== fault);
      if (this.#runs < MAX_RUNS) await this.#stillFails({ faults });
    }
  }

  /** Keeps the smaller simulation if the same invariant is violated in it, even by another pod. */
  async #stillFails(less: Partial<SimulationOptions>): Promise<boolean> {
    this.#runs += 1;
    const options = { ...this.#options, only: this.#only, ...less };
    const result = await this.#run({ ...options, untilMs: this.#untilMs });
    const fails = result.violation?.invariant === this.#invariant;
    if (fails) {
      this.#options = options;
      this.#result = result;
    }
    this.#onRun?.(this.#runs, this.#only.length);
    return fails;
  }
}

/** Half the size, down to 1, and then 0. */
const smaller = (size: number): number => (size === 1 ? 0 : Math.ceil(size / 2));
