/** How many processes the pods of a simulated node have. */
import type { ContainerTruth } from '../runtime/witness.ts';
import { drawnGrowth, type Growth, type KeyedRandom } from './growth.ts';
import { type RunningTruth, runningUse, total } from './node-use.ts';

const SYSTEM_PROCESSES = 100;
const MAX_AT_START = 40;
/** Some pods fork without end. */
const FORKS = { growing: 0.2, maxPerMs: 1 / 1000 };

export interface SimulatedProcessesOptions {
  /** No process has a higher ID. */
  readonly max: number;
  readonly now: () => number;
  readonly random: KeyedRandom;
  readonly runtime: RunningTruth;
}

export class SimulatedProcesses {
  readonly #options: SimulatedProcessesOptions;

  constructor(options: SimulatedProcessesOptions) {
    this.#options = options;
  }

  get max(): number {
    return this.#options.max;
  }

  /** `countOf`: by UID, of pods with something running. */
  now(): { readonly left: number; readonly countOf: ReadonlyMap<string, number> } {
    const { max, now, runtime } = this.#options;
    const container = (truth: ContainerTruth) => this.#growthOf(truth);
    const countOf = runningUse(runtime, now(), { sandbox: 1, container });
    return { left: Math.max(0, max - SYSTEM_PROCESSES - total(countOf)), countOf };
  }

  #growthOf({ uid, metadata: { name } }: ContainerTruth): Growth {
    const { random } = this.#options;
    const key = `processes/${uid}/${name}`;
    const atStart = 1 + Math.floor(MAX_AT_START * random(key));
    return drawnGrowth(random, key, { atStart, ...FORKS });
  }
}
