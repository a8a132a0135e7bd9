import { podPhase } from '../../src/agent/policies/status/phase.ts';
import type { ContainerStatus, Pod, PodSpec } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  /** Some pods have no metadata, some no containers. */
  readonly pod: { readonly metadata?: Pod['metadata']; readonly spec: Partial<PodSpec> };
  readonly statuses?: readonly ContainerStatus[];
  readonly podIsTerminal: boolean;
  readonly podHasInitialized: boolean;
}

export const adapter: VectorAdapter = {
  adapt({ pod, statuses = [], podIsTerminal, podHasInitialized }: Input) {
    const metadata = { name: 'pod', namespace: 'ns', uid: 'uid', ...pod.metadata };
    const whole: Pod = { metadata, spec: { containers: [], ...pod.spec } };
    return { phase: podPhase(whole, statuses, podIsTerminal, podHasInitialized) };
  },
};
