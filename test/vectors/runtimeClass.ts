import { runtimeHandler } from '../../src/agent/policies/cri/sandbox-config.ts';
import { errorMessage } from '../../src/types/errors.ts';
import type { RuntimeClass } from '../../src/types/kubernetes.ts';
import { testPod } from '../support/pods.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly runtimeClassName: string | null;
  readonly runtimeClasses: readonly RuntimeClass[];
}

export const adapter: VectorAdapter = {
  adapt({ runtimeClassName, runtimeClasses }: Input) {
    const pod = testPod();
    const spec = { ...pod.spec, ...(runtimeClassName !== null && { runtimeClassName }) };
    const handlers = new Map(runtimeClasses.map(({ metadata, handler }) => [metadata?.name ?? '', handler]));
    try {
      return {
        error: null,
        handler: runtimeHandler({ ...pod, spec }, { handlers, areOfCluster: true }) ?? '',
      };
    } catch (error) {
      return { error: errorMessage(error), handler: '' };
    }
  },
};
