import {
  isCriticalPod,
  isCriticalPriority,
  isMirrorPod,
  isNodeCriticalPod,
  isPreemptable,
  isStaticPod,
} from '../../src/agent/policies/pod/pod-kinds.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Input =
  | { readonly kind: 'pod'; readonly pod: Pod }
  | { readonly kind: 'priority'; readonly priority: number }
  | { readonly kind: 'preemptable'; readonly preemptor: Pod; readonly preemptee: Pod };

export const adapter: VectorAdapter = {
  adapt(input: Input) {
    switch (input.kind) {
      case 'pod':
        return {
          static: isStaticPod(input.pod),
          mirror: isMirrorPod(input.pod),
          critical: isCriticalPod(input.pod),
          nodeCritical: isNodeCriticalPod(input.pod),
        };
      case 'priority':
        return { critical: isCriticalPriority(input.priority) };
      case 'preemptable':
        return { preemptable: isPreemptable(input.preemptor, input.preemptee) };
    }
  },
};
