/** The size of the node at each read in a preemption: it leads to the outcome that the path has for this read. */
import type { NodeFacts } from '../../../src/types/node-facts.ts';
import { nodeOf } from '../../support/admission.ts';
import { CPUS, NODE_CPUS, type Outcome } from './preemption-environment.ts';

/** The outcome of a read. `short` is that of the first read, after which the preemption begins. */
export type Look = Outcome | 'short';

/** Fewer than the preemptor alone needs. */
const FAR_TOO_FEW_CPUS = 1;

export class PreemptionNode {
  readonly #heldCpus: () => number;
  #looks: readonly Look[] = [];
  #latest = nodeOf({ cpu: String(NODE_CPUS) });

  /** `heldCpus`: the CPUs that all pods except the preemptor hold. */
  constructor(heldCpus: () => number) {
    this.#heldCpus = heldCpus;
  }

  /** The number of CPUs at the last read. */
  get cpus(): number {
    return Number(this.#latest.allocatable.cpu);
  }

  /** Sets the outcomes of the next reads. After them, the node does not change. */
  expect(looks: readonly Look[]): void {
    this.#looks = looks;
  }

  /** Gives the node its first size again. */
  restore(): void {
    this.#looks = [];
    this.#latest = nodeOf({ cpu: String(NODE_CPUS) });
  }

  readonly facts = (): NodeFacts => {
    const [look, ...later] = this.#looks;
    if (look === undefined) return this.#latest;
    this.#looks = later;
    const node = nodeOf({ cpu: String(this.#cpusFor(look, later[0])) });
    this.#latest = look === 'refused' ? { ...node, labels: { zone: 'b' } } : node;
    return this.#latest;
  };

  /** Between two reads, the node changes only if the path needs it. */
  #cpusFor(look: Look, next: Look | undefined): number {
    const enough = this.#heldCpus() + CPUS.preemptor;
    switch (look) {
      case 'short':
      case 'stillShort':
        if (next === 'noVictims' || next === 'thirdAwaited') return this.#cpusFor(next, undefined);
        return Math.min(NODE_CPUS, enough - 1);
      case 'thirdAwaited':
        return enough - CPUS.third;
      case 'noVictims':
        return FAR_TOO_FEW_CPUS;
      case 'nobodyAwaited':
      case 'admitted':
        return Math.max(NODE_CPUS, enough);
      default:
        return NODE_CPUS;
    }
  }
}
