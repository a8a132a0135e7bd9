import type { RuntimeService } from '../../service/runtime-service.ts';
import type { CallContext } from './call-context.ts';
import { notDone } from './call-corrections.ts';
import {
  CHECKPOINT_CONTAINER,
  EXEC_SYNC,
  LIST_CONTAINER_STATS,
  REOPEN_CONTAINER_LOG,
} from '../messages/methods.ts';

type RunningContainerCalls = Pick<RuntimeService, 'execSync' | 'listContainerStats' | 'reopenContainerLog'> &
  Required<Pick<RuntimeService, 'checkpointContainer'>>;

/** The calls for running containers. */
export function runningContainerCalls(
  context: CallContext,
  listContainers: RuntimeService['listContainers'],
): RunningContainerCalls {
  const { states } = context;
  return {
    execSync: (containerId, cmd, timeoutSeconds, options) => {
      const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 + context.timeoutMs : undefined;
      const request = { containerId, cmd, timeout: timeoutSeconds };
      const done = context.call(EXEC_SYNC, request, { ...options, timeoutMs });
      return context.corrected(done, (error) => notDone(error, containerId, states));
    },
    listContainerStats: async (filter = {}, options) => {
      const { state, ...rest } = filter;
      const { stats } = await context.call(LIST_CONTAINER_STATS, { filter: rest }, options);
      if (state === undefined) return stats;
      const ids = new Set((await listContainers(filter, options)).map(({ id }) => id));
      return stats.filter(({ attributes }) => ids.has(attributes.id));
    },
    checkpointContainer: async ({ containerId, location, timeoutSeconds: timeout }, options) => {
      const timeoutMs = timeout > 0 ? timeout * 1000 : context.timeoutMs;
      await context.call(CHECKPOINT_CONTAINER, { containerId, location, timeout }, { ...options, timeoutMs });
    },
    reopenContainerLog: async (containerId, options) => {
      const reopened = context.call(REOPEN_CONTAINER_LOG, { containerId }, options);
      await context.corrected(reopened, (error) => notDone(error, containerId, states));
    },
  };
}
