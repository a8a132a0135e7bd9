import { errorKind } from '../../../../types/errors.ts';
import type { RuntimeService } from '../../service/runtime-service.ts';
import type { CallContext } from './call-context.ts';
import { notRun } from './call-corrections.ts';
import {
  LIST_POD_SANDBOX,
  REMOVE_POD_SANDBOX,
  RUN_POD_SANDBOX,
  STOP_POD_SANDBOX,
} from '../messages/methods.ts';

type SandboxCalls = Pick<
  RuntimeService,
  'runPodSandbox' | 'stopPodSandbox' | 'removePodSandbox' | 'podSandboxStatus' | 'listPodSandbox'
>;

export function sandboxCalls(context: CallContext): SandboxCalls {
  const { index, ownCalls, states } = context;

  /** NotFound is no failure if the sandbox does not run. */
  const end = async (podSandboxId: string, work: Promise<object>): Promise<void> => {
    try {
      await ownCalls.ending(podSandboxId, work);
    } catch (error) {
      if (errorKind(error) !== 'NotFound') throw error;
      const state = await states.sandbox(podSandboxId);
      if (state === 'SANDBOX_READY') throw error;
    }
  };

  return {
    runPodSandbox: (config, { runtimeHandler, signal } = {}) => {
      const options = { timeoutMs: 2 * context.timeoutMs, signal };
      const call = context.call(RUN_POD_SANDBOX, { config, runtimeHandler }, options);
      const run = call.then(({ podSandboxId }) => {
        index.addSandbox(podSandboxId, config.metadata);
        return podSandboxId;
      });
      return context.corrected(ownCalls.creating(run), notRun);
    },
    stopPodSandbox: (podSandboxId, options) =>
      end(podSandboxId, context.call(STOP_POD_SANDBOX, { podSandboxId }, options)),
    removePodSandbox: (podSandboxId, options) =>
      end(podSandboxId, context.call(REMOVE_POD_SANDBOX, { podSandboxId }, options)),
    podSandboxStatus: async (podSandboxId, options) => {
      const { linux, ...status } = await context.podSandboxStatus(podSandboxId, options);
      return { ...status, networkMode: linux?.namespaces?.options?.network };
    },
    listPodSandbox: async (filter, options) => {
      const begun = index.beginList();
      const { items } = await context.call(LIST_POD_SANDBOX, { filter }, options);
      index.endSandboxes(begun, items, isEmpty(filter));
      return items;
    },
  };
}

/** Whether the filter lets everything pass. */
export const isEmpty = (filter: object = {}): boolean =>
  Object.values(filter).every((value) => value === undefined);
