/** Makes a failing simulation small: the fewest operations, and kinds of faults, with which the same invariant is violated. */
import { simulate, type SimulationOptions, type SimulationResult } from '../simulation.ts';

export interface Shrunk {
  readonly options: SimulationOptions;
  readonly result: SimulationResult;
  /** How many simulations it took. */
  readonly runs: number;
}

const MAX_RUNS = 500;
/** A smaller simulation may come to the same violation later, by so much. The rest of a long one is not worth its time. */
const MAX_DELAY_MS = 600_000;

export interface ShrinkMeans {
  readonly run?: typeof simulate;
  /** A simulation has ended: how many there have been, and how many operations are left. */
  readonly onRun?: (runs: number, operations: number) => void;
}

/** `result` is that of `options`, and has a violation. */
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

  /** What has been carried out before the violation: nothing else has had to do with it. */
  get #only(): readonly number[] {
    return this.#result.operations;
  }

  /** Leaves parts of the list out, halves first, then ever smaller ones (delta debugging). */
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

  /** Keeps the smaller simulation when the same invariant is violated in it, be it by another pod. */
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

/** Halves, down to 1 and then to nothing. */
const smaller = (size: number): number => (size === 1 ? 0 : Math.ceil(size / 2));
