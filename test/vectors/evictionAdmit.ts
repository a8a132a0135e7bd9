import { pressureRejection } from '../../src/agent/policies/admission/admit-pod.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly nodeConditions: readonly string[];
  readonly pod: Pod;
}

export const adapter: VectorAdapter = {
  adapt({ nodeConditions, pod }: Input) {
    const rejection = pressureRejection(nodeConditions, pod);
    return { admit: rejection === undefined, reason: '', message: '', ...rejection };
  },
};
