import { computePodQOS, podQOS } from '../../../src/policies/qos.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../vectors.ts';

export const adapter: VectorAdapter = {
  adapt({ pod }: { readonly pod: Pod }) {
    return { computed: computePodQOS(pod), effective: podQOS(pod) };
  },
};
