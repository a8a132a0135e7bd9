import type { Container, ContainerFilter } from '../../../types/cri.ts';
import { errorKind } from '../../../types/errors.ts';
import type { CallOptions, RuntimeService } from '../../service/runtime-service.ts';
import type { CallContext } from './call-context.ts';
import { notCreated, notStarted } from './call-corrections.ts';
import { containerStatus } from './container-status.ts';
import * as methods from '../messages/methods.ts';
import { isEmpty } from './sandbox-calls.ts';

type ContainerCalls = Pick<
  RuntimeService,
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'listContainers'
  | 'containerStatus'
>;

export function containerCalls(context: CallContext): ContainerCalls {
  const { index, ownCalls, states } = context;

  /**
   * NotFound is no failure if the container does not run. If a container was removed without containerd's CRI plugin, the
   * plugin shows it as exited until containerd is restarted, and cannot remove it.
   */
  const end = async (id: string, work: Promise<object>) => {
    try {
      await ownCalls.ending(id, work);
    } catch (error) {
      if (errorKind(error) !== 'NotFound') throw error;
      const status = await states.container(id);
      if (status?.state === 'CONTAINER_RUNNING') throw error;
    }
  };

  const listContainers = async (
    filter?: ContainerFilter,
    options?: CallOptions,
  ): Promise<readonly Container[]> => {
    const begun = index.beginList();
    const { containers } = await context.call(methods.LIST_CONTAINERS, { filter }, options);
    index.endContainers(begun, containers, isEmpty(filter));
    return containers;
  };

  /** A status in CRI does not name the sandbox. It is known if the container was created or listed before. */
  const sandboxOf = async (id: string, options?: CallOptions): Promise<string> =>
    index.sandboxOf(id) ?? (await listContainers({ id }, options))[0]?.podSandboxId ?? '';

  return {
    createContainer: (podSandboxId, config, sandboxConfig, options) => {
      const request = { podSandboxId, config, sandboxConfig };
      const created = context.call(methods.CREATE_CONTAINER, request, options).then(({ containerId }) => {
        index.addContainer(containerId, podSandboxId);
        return containerId;
      });
      return context.corrected(ownCalls.creating(created), (error) =>
        notCreated(error, podSandboxId, states),
      );
    },
    startContainer: async (containerId, options) => {
      const begunAt = Date.now();
      const started = context.call(methods.START_CONTAINER, { containerId }, options);
      await context.corrected(started, (error) => notStarted(error, containerId, begunAt, states));
    },
    stopContainer: (containerId, timeoutSeconds, options) => {
      const timeoutMs = timeoutSeconds * 1000 + context.timeoutMs;
      const request = { containerId, timeout: timeoutSeconds };
      const stopped = context.call(methods.STOP_CONTAINER, request, { ...options, timeoutMs });
      return end(containerId, stopped);
    },
    removeContainer: (containerId, options) =>
      end(containerId, context.call(methods.REMOVE_CONTAINER, { containerId }, options)),
    listContainers,
    containerStatus: async (id, options) => {
      const [status, sandboxId] = await Promise.all([
        context.containerStatus(id, options),
        sandboxOf(id, options),
      ]);
      return containerStatus(status, sandboxId);
    },
  };
}
