/** What the node of a preemption is found to have, at each look: as much as leads to what a path says comes of the look. */
import type { NodeFacts } from '../../../src/types/node-facts.ts';
import { nodeOf } from '../../support/admission.ts';
import { CPUS, NODE_CPUS, type Outcome } from './preemption-environment.ts';

/** `short`: the first look, after which room begins to be made. */
export type Look = Outcome | 'short';

/** Less than the preemptor alone needs. */
const FAR_TOO_FEW_CPUS = 1;

export class PreemptionNode {
  readonly #heldCpus: () => number;
  #looks: readonly Look[] = [];
  #latest = nodeOf({ cpu: String(NODE_CPUS) });

  /** `heldCpus`: by all but the preemptor. */
  constructor(heldCpus: () => number) {
    this.#heldCpus = heldCpus;
  }

  /** How many CPUs it was last found to have. */
  get cpus(): number {
    return Number(this.#latest.allocatable.cpu);
  }

  /** What is to come of the next looks. After these, the node stays as it is. */
  expect(looks: readonly Look[]): void {
    this.#looks = looks;
  }

  /** It is as it was in the beginning. */
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

  /** Between two looks the node changes only where the path cannot do without that. */
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
