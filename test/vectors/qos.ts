import { computePodQOS, podQOS } from '../../src/agent/policies/pod/qos.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

export const adapter: VectorAdapter = {
  adapt({ pod }: { readonly pod: Pod }) {
    return { computed: computePodQOS(pod), effective: podQOS(pod) };
  },
};
