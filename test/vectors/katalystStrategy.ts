import {
  type Candidate,
  inOrderOfImportance,
  leastImportant,
} from '../../src/agent/policies/eviction-plugins/collected-answers.ts';
import { isEvictable, qosLevel } from '../../src/agent/policies/eviction-plugins/qos-level.ts';
import { errorMessage } from '../../src/types/errors.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Input =
  | { readonly fn: 'qosLevel' | 'validate'; readonly pod: Pod }
  | { readonly fn: 'sort' | 'best'; readonly candidates: readonly Candidate[] };

function level(pod: Pod) {
  try {
    return { level: qosLevel(pod) };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

export const adapter: VectorAdapter = {
  adapt(input: Input) {
    switch (input.fn) {
      case 'qosLevel':
        return level(input.pod);
      case 'validate':
        return { ok: isEvictable(input.pod) };
      case 'sort':
        return { order: inOrderOfImportance(input.candidates).map(({ pod }) => pod.metadata.name) };
      case 'best':
        return { pod: leastImportant(input.candidates)?.pod.metadata.name ?? null };
    }
  },
};
