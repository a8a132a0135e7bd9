import { preemptionError } from '../../src/agent/policies/preemption/preemption-message.ts';
import { selectVictims } from '../../src/agent/policies/preemption/victims.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly preemptor: Pod;
  readonly pods: readonly Pod[];
  readonly requirements: readonly { readonly resource: string; readonly quantity: number }[];
}

/** The kubelet puts this before the error of the function that the vectors are about. */
const PREFIX = 'preemption: error finding a set of pods to preempt: ';

export const adapter: VectorAdapter = {
  adapt({ preemptor, pods, requirements }: Input) {
    const missing = requirements.map(({ resource, quantity }) => ({ resource, amount: quantity }));
    const decision = selectVictims({ preemptor, pods, missing, lowerPriorityFirst: false });
    const error = preemptionError(decision);
    if (error !== undefined) return { error: error.replace(PREFIX, '') };
    return { victims: decision.victims.map(({ candidate }) => candidate.name) };
  },
};
