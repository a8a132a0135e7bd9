import { errorKind, errorMessage } from '../../../../types/errors.ts';
import type { ResizingRuntime } from '../../service/runtime-service.ts';
import { UPDATE_CONTAINER_RESOURCES, UPDATE_POD_SANDBOX_RESOURCES } from '../messages/methods.ts';
import type { CallContext } from './call-context.ts';
import { notDone } from './call-corrections.ts';

export function resizingCalls(context: CallContext): ResizingRuntime {
  return {
    updateContainerResources: async (containerId, linux, options) => {
      const updated = context.call(UPDATE_CONTAINER_RESOURCES, { containerId, linux }, options);
      await context.corrected(updated, (error) => notDone(error, containerId, context.states));
    },
    updatePodSandboxResources: async (podSandboxId, resources, options) => {
      const request = { podSandboxId, ...resources };
      await context.call(UPDATE_POD_SANDBOX_RESOURCES, request, options).catch((error: unknown) => {
        if (!isUnimplemented(error)) throw error;
      });
    },
  };
}

/** containerd 2.2 answers Unknown with these words in place of Unimplemented. */
function isUnimplemented(error: unknown): boolean {
  return errorKind(error) === 'Unimplemented' || errorMessage(error).includes('not implemented');
}
