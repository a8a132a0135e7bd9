import type { RuntimeMeasurements } from '../../../types/measurements.ts';
import type { ExecSyncResponse } from '../../../types/cri.ts';
import type { ResizingRuntime, RuntimeService } from './runtime-service.ts';
import type { StreamingRuntime } from './streaming-runtime.ts';

/** A runtime whose calls are measured, by the kubelet's names of them. Without measurements it is the runtime itself. */
export function measuredRuntime(
  runtime: RuntimeService,
  measurements: RuntimeMeasurements | undefined,
): RuntimeService {
  if (measurements === undefined) return runtime;
  const timed = timedBy(measurements);
  const { streaming, resizing } = runtime;
  return {
    ...runtime,
    version: (options) => timed('version', runtime.version(options)),
    status: (options) => timed('status', runtime.status(options)),
    ...measuredSandboxes(runtime, timed, measurements),
    ...measuredContainers(runtime, timed),
    ...measuredImages(runtime, timed),
    ...(runtime.checkpointContainer && {
      checkpointContainer: measuredCheckpoint(runtime, timed),
    }),
    resizing: resizing && measuredResizing(resizing, timed),
    ...(streaming && { streaming: measuredStreaming(streaming, timed) }),
  };
}

type Timed = <T>(operation: string, call: Promise<T>, isSuccess?: (answer: T) => boolean) => Promise<T>;

function timedBy(measurements: RuntimeMeasurements): Timed {
  return async (operation, call, isSuccess) => {
    const end = measurements.runtimeOperation(operation);
    try {
      const answer = await call;
      end(isSuccess?.(answer) === false ? 'failure' : 'success');
      return answer;
    } catch (error) {
      end('failure');
      throw error;
    }
  };
}

function measuredSandboxes(runtime: RuntimeService, timed: Timed, measurements: RuntimeMeasurements) {
  return {
    runPodSandbox: async (config, options) => {
      const end = measurements.sandboxRun(options?.runtimeHandler ?? '');
      try {
        const id = await timed('run_podsandbox', runtime.runPodSandbox(config, options));
        end('success');
        return id;
      } catch (error) {
        end('failure');
        throw error;
      }
    },
    stopPodSandbox: (id, options) => timed('stop_podsandbox', runtime.stopPodSandbox(id, options)),
    removePodSandbox: (id, options) => timed('remove_podsandbox', runtime.removePodSandbox(id, options)),
    podSandboxStatus: (id, options) => timed('podsandbox_status', runtime.podSandboxStatus(id, options)),
    listPodSandbox: (filter, options) => timed('list_podsandbox', runtime.listPodSandbox(filter, options)),
  } satisfies Partial<RuntimeService>;
}

function measuredContainers(runtime: RuntimeService, timed: Timed) {
  return {
    createContainer: (sandboxId, config, sandboxConfig, options) =>
      timed('create_container', runtime.createContainer(sandboxId, config, sandboxConfig, options)),
    startContainer: (id, options) => timed('start_container', runtime.startContainer(id, options)),
    stopContainer: (id, timeoutSeconds, options) =>
      timed('stop_container', runtime.stopContainer(id, timeoutSeconds, options)),
    removeContainer: (id, options) => timed('remove_container', runtime.removeContainer(id, options)),
    listContainers: (filter, options) => timed('list_containers', runtime.listContainers(filter, options)),
    containerStatus: (id, options) => timed('container_status', runtime.containerStatus(id, options)),
    execSync: (id, command, timeoutSeconds, options) =>
      timed('exec_sync', runtime.execSync(id, command, timeoutSeconds, options), hasSucceeded),
    listContainerStats: (filter, options) =>
      timed('list_container_stats', runtime.listContainerStats(filter, options)),
    reopenContainerLog: (id, options) =>
      timed('reopen_container_log', runtime.reopenContainerLog(id, options)),
  } satisfies Partial<RuntimeService>;
}

function measuredImages(runtime: RuntimeService, timed: Timed) {
  return {
    pullImage: (image, options) => timed('pull_image', runtime.pullImage(image, options)),
    imageStatus: (image, options) => timed('image_status', runtime.imageStatus(image, options)),
    listImages: (options) => timed('list_images', runtime.listImages(options)),
    removeImage: (image, options) => timed('remove_image', runtime.removeImage(image, options)),
    imageFsInfo: (options) => timed('image_fs_info', runtime.imageFsInfo(options)),
  } satisfies Partial<RuntimeService>;
}

function measuredResizing(resizing: ResizingRuntime, timed: Timed): ResizingRuntime {
  return {
    updateContainerResources: (id, resources, options) =>
      timed('update_container', resizing.updateContainerResources(id, resources, options)),
    updatePodSandboxResources: (id, resources, options) =>
      timed('update_podsandbox_resources', resizing.updatePodSandboxResources(id, resources, options)),
  };
}

/** Until the runtime has given the streams, or the URL of its own server. */
function measuredStreaming(streaming: StreamingRuntime, timed: Timed): StreamingRuntime {
  return {
    exec: (request, options) => timed('exec', streaming.exec(request, options)),
    attach: (request, options) => timed('attach', streaming.attach(request, options)),
    portForward: (request, options) => timed('port_forward', streaming.portForward(request, options)),
  };
}

function measuredCheckpoint(
  runtime: RuntimeService,
  timed: Timed,
): NonNullable<RuntimeService['checkpointContainer']> {
  return async (request, options) =>
    timed('checkpoint_container', Promise.resolve(runtime.checkpointContainer?.(request, options)));
}

/** As the kubelet counts it, a command that fails is an error of the operation. */
function hasSucceeded({ exitCode }: ExecSyncResponse): boolean {
  return exitCode === 0;
}
