/** The methods of CRI that are used. */
import {
  checkpointContainerRequest,
  containerId,
  createContainerRequest,
  execSyncRequest,
  execSyncResponse,
  listContainersRequest,
  listContainersResponse,
  listContainerStatsRequest,
  listContainerStatsResponse,
  containerEventResponse,
  containerStatusResponse,
  stopContainerRequest,
  updateContainerResourcesRequest,
} from './container-messages.ts';
import {
  empty,
  imageFsInfoResponse,
  imageRequest,
  imageStatusResponse,
  listImagesResponse,
  pullImageRequest,
  pullImageResponse,
  runtimeConfigResponse,
  statusRequest,
  statusResponse,
  versionResponse,
} from './image-messages.ts';
import type { Method } from '../../../../system/grpc/method.ts';
import type { MessageType } from '../../../../system/protobuf.ts';
import {
  listPodSandboxRequest,
  listPodSandboxResponse,
  podSandboxId,
  podSandboxStatusResponse,
  runPodSandboxRequest,
  updatePodSandboxResourcesRequest,
} from './sandbox-messages.ts';
import { attachRequest, execRequest, portForwardRequest, streamingResponse } from './streaming-messages.ts';

const runtime = <Q, A>(name: string, request: MessageType<Q>, response: MessageType<A>): Method<Q, A> => ({
  name,
  path: `/runtime.v1.RuntimeService/${name}`,
  request,
  response,
});
const image = <Q, A>(name: string, request: MessageType<Q>, response: MessageType<A>): Method<Q, A> => ({
  name,
  path: `/runtime.v1.ImageService/${name}`,
  request,
  response,
});

export const VERSION = runtime('Version', empty, versionResponse);
export const STATUS = runtime('Status', statusRequest, statusResponse);
export const RUNTIME_CONFIG = runtime('RuntimeConfig', empty, runtimeConfigResponse);
export const RUN_POD_SANDBOX = runtime('RunPodSandbox', runPodSandboxRequest, podSandboxId);
export const STOP_POD_SANDBOX = runtime('StopPodSandbox', podSandboxId, empty);
export const REMOVE_POD_SANDBOX = runtime('RemovePodSandbox', podSandboxId, empty);
export const POD_SANDBOX_STATUS = runtime('PodSandboxStatus', podSandboxId, podSandboxStatusResponse);
export const LIST_POD_SANDBOX = runtime('ListPodSandbox', listPodSandboxRequest, listPodSandboxResponse);
export const CREATE_CONTAINER = runtime('CreateContainer', createContainerRequest, containerId);
export const START_CONTAINER = runtime('StartContainer', containerId, empty);
export const STOP_CONTAINER = runtime('StopContainer', stopContainerRequest, empty);
export const REMOVE_CONTAINER = runtime('RemoveContainer', containerId, empty);
export const LIST_CONTAINERS = runtime('ListContainers', listContainersRequest, listContainersResponse);
export const CONTAINER_STATUS = runtime('ContainerStatus', containerId, containerStatusResponse);
export const REOPEN_CONTAINER_LOG = runtime('ReopenContainerLog', containerId, empty);
export const CHECKPOINT_CONTAINER = runtime('CheckpointContainer', checkpointContainerRequest, empty);
export const UPDATE_CONTAINER_RESOURCES = runtime(
  'UpdateContainerResources',
  updateContainerResourcesRequest,
  empty,
);
export const UPDATE_POD_SANDBOX_RESOURCES = runtime(
  'UpdatePodSandboxResources',
  updatePodSandboxResourcesRequest,
  empty,
);
export const EXEC_SYNC = runtime('ExecSync', execSyncRequest, execSyncResponse);
export const EXEC = runtime('Exec', execRequest, streamingResponse);
export const ATTACH = runtime('Attach', attachRequest, streamingResponse);
export const PORT_FORWARD = runtime('PortForward', portForwardRequest, streamingResponse);
export const LIST_CONTAINER_STATS = runtime(
  'ListContainerStats',
  listContainerStatsRequest,
  listContainerStatsResponse,
);
export const GET_CONTAINER_EVENTS = runtime('GetContainerEvents', empty, containerEventResponse);

export const PULL_IMAGE = image('PullImage', pullImageRequest, pullImageResponse);
export const IMAGE_STATUS = image('ImageStatus', imageRequest, imageStatusResponse);
export const LIST_IMAGES = image('ListImages', empty, listImagesResponse);
export const REMOVE_IMAGE = image('RemoveImage', imageRequest, empty);
export const IMAGE_FS_INFO = image('ImageFsInfo', empty, imageFsInfoResponse);
