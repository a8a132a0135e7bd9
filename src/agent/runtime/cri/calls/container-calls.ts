import { TERMINATION_MESSAGE_PATH_ANNOTATION } from '../../../policies/cri/cri-labels.ts';
import type { Container, ContainerFilter, ContainerStatus } from '../../../../types/cri.ts';
import { errorKind, errorMessage } from '../../../../types/errors.ts';
import { terminationMessage } from '../../pods/termination-message.ts';
import type { CallOptions, ResizingRuntime, RuntimeService } from '../../service/runtime-service.ts';
import type { WireContainerStatus } from '../messages/container-messages.ts';
import * as methods from '../messages/methods.ts';
import {
  CHECKPOINT_CONTAINER,
  EXEC_SYNC,
  LIST_CONTAINER_STATS,
  REOPEN_CONTAINER_LOG,
  UPDATE_CONTAINER_RESOURCES,
  UPDATE_POD_SANDBOX_RESOURCES,
} from '../messages/methods.ts';
import type { CallContext } from './call-context.ts';
import { notCreated, notDone, notStarted } from './call-corrections.ts';
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
      const request = { containerId, timeout: Math.min(timeoutSeconds, GO_SECONDS_MAX) };
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

/** The longest time of a runtime in Go. With a longer one, containerd kills the container at once. */
const GO_SECONDS_MAX = 9_223_372_036;

/** containerd's message if the client of StartContainer went away before the process was started. */
const START_GIVEN_UP = /^failed to create containerd task: .*context canceled/;

/** A container's status with its termination message, which is read from files of this machine. */
function containerStatus(status: WireContainerStatus, podSandboxId: string): ContainerStatus {
  if (status.state !== 'CONTAINER_EXITED') return { ...status, podSandboxId };
  if (START_GIVEN_UP.test(status.message)) return { ...unstarted(status), podSandboxId };
  const path = status.annotations[TERMINATION_MESSAGE_PATH_ANNOTATION];
  const own = terminationMessage(status, {
    message: status.mounts?.find(({ containerPath }) => containerPath === path)?.hostPath,
    // Each container has a new file.
    writtenSinceMs: 0,
    log: status.logPath === '' ? undefined : status.logPath,
  });
  const message = [status.message, own].filter((part) => part !== '').join(': ');
  return { ...status, podSandboxId, message };
}

/** The agent died during the start: the container has never run, although the runtime calls it exited. */
function unstarted(status: WireContainerStatus): WireContainerStatus {
  return { ...status, state: 'CONTAINER_CREATED', finishedAt: 0, exitCode: 0, reason: '', message: '' };
}

type RunningContainerCalls = Pick<RuntimeService, 'execSync' | 'listContainerStats' | 'reopenContainerLog'> &
  Required<Pick<RuntimeService, 'checkpointContainer'>>;

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
