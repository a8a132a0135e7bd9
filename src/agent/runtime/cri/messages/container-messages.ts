/** Messages of runtime.v1 about containers: field numbers as in `api.proto` of k8s.io/cri-api. */
import type {
  Container,
  ContainerConfig,
  ContainerEventType,
  ContainerFilter,
  ContainerMetadata,
  ContainerStats,
  ContainerStatus,
  Device,
  ExecSyncResponse,
  KeyValue,
  LinuxContainerResources,
  LinuxContainerSecurityContext,
  LinuxContainerUser,
  Mount,
  PodSandboxConfig,
} from '../../../../types/cri.ts';
import { OUTPUT_BYTES_MAX } from '../../../../system/run-command.ts';
import { filesystemUsage, imageSpec } from './image-messages.ts';
import {
  bool,
  bytesUpTo,
  enumeration,
  field,
  int,
  list,
  map,
  message,
  string,
  wrapped,
} from '../../../../system/protobuf.ts';
import {
  idMapping,
  linuxContainerResources,
  namespaceOption,
  podSandboxConfig,
  podSandboxStatus,
  securityProfile,
  selinuxOption,
  supplementalGroupsPolicy,
  type WirePodSandboxStatus,
} from './sandbox-messages.ts';

const containerMetadata = message<ContainerMetadata>({ name: field(1, string), attempt: field(2, int) });

const mount = message<Mount>({
  containerPath: field(1, string),
  hostPath: field(2, string),
  readonly: field(3, bool),
  selinuxRelabel: field(4, bool),
  propagation: field(
    5,
    enumeration(['PROPAGATION_PRIVATE', 'PROPAGATION_HOST_TO_CONTAINER', 'PROPAGATION_BIDIRECTIONAL']),
  ),
  uidMappings: list(6, idMapping),
  gidMappings: list(7, idMapping),
  recursiveReadOnly: field(8, bool),
  image: field(9, imageSpec),
  imageSubPath: field(10, string),
});

const linuxContainerSecurityContext = message<LinuxContainerSecurityContext>({
  capabilities: field(
    1,
    message<NonNullable<LinuxContainerSecurityContext['capabilities']>>({
      addCapabilities: list(1, string),
      dropCapabilities: list(2, string),
    }),
  ),
  privileged: field(2, bool),
  namespaceOptions: field(3, namespaceOption),
  selinuxOptions: field(4, selinuxOption),
  runAsUser: field(5, wrapped(int)),
  runAsGroup: field(12, wrapped(int)),
  runAsUsername: field(6, string),
  readonlyRootfs: field(7, bool),
  supplementalGroups: list(8, int),
  supplementalGroupsPolicy: field(17, supplementalGroupsPolicy),
  noNewPrivs: field(11, bool),
  maskedPaths: list(13, string),
  readonlyPaths: list(14, string),
  seccomp: field(15, securityProfile),
  apparmor: field(16, securityProfile),
  apparmorProfile: field(9, string),
});

/** Without the stop signal: the image's counts. */
const containerConfig = message<Omit<ContainerConfig, 'stopSignal'>>({
  metadata: field(1, containerMetadata),
  image: field(2, imageSpec),
  command: list(3, string),
  args: list(4, string),
  workingDir: field(5, string),
  envs: list(6, message<KeyValue>({ key: field(1, string), value: field(2, string) })),
  mounts: list(7, mount),
  devices: list(
    8,
    message<Device>({
      containerPath: field(1, string),
      hostPath: field(2, string),
      permissions: field(3, string),
    }),
  ),
  labels: map(9),
  annotations: map(10),
  logPath: field(11, string),
  stdin: field(12, bool),
  stdinOnce: field(13, bool),
  tty: field(14, bool),
  linux: field(
    15,
    message<NonNullable<ContainerConfig['linux']>>({
      resources: field(1, linuxContainerResources),
      securityContext: field(2, linuxContainerSecurityContext),
    }),
  ),
  cdiDevices: list(17, message<{ name: string }>({ name: field(1, string) })),
});

const containerState = enumeration([
  'CONTAINER_CREATED',
  'CONTAINER_RUNNING',
  'CONTAINER_EXITED',
  'CONTAINER_UNKNOWN',
]);

export const containerId = message<{ containerId: string }>({ containerId: field(1, string) });

export const createContainerRequest = message<{
  podSandboxId: string;
  config: ContainerConfig;
  sandboxConfig: PodSandboxConfig;
}>({
  podSandboxId: field(1, string),
  config: field(2, containerConfig),
  sandboxConfig: field(3, podSandboxConfig),
});

export const stopContainerRequest = message<{ containerId: string; timeout: number }>({
  containerId: field(1, string),
  timeout: field(2, int),
});

export const updateContainerResourcesRequest = message<{
  containerId: string;
  linux: LinuxContainerResources;
}>({
  containerId: field(1, string),
  linux: field(2, linuxContainerResources),
});

export const listContainersRequest = message<{ filter?: ContainerFilter }>({
  filter: field(
    1,
    message<ContainerFilter>({
      id: field(1, string),
      state: field(2, wrapped(containerState)),
      podSandboxId: field(3, string),
      labelSelector: map(4),
    }),
  ),
});

export const listContainersResponse = message<{ containers: readonly Container[] }>({
  containers: list(
    1,
    message<Container>({
      id: field(1, string),
      podSandboxId: field(2, string),
      metadata: field(3, containerMetadata),
      image: field(4, wrapped(string, '')),
      imageRef: field(5, string),
      state: field(6, containerState),
      createdAt: field(7, int),
      labels: map(8),
      annotations: map(9),
      imageId: field(10, string),
    }),
  ),
});

const linuxContainerUser = message<LinuxContainerUser>({
  uid: field(1, int),
  gid: field(2, int),
  supplementalGroups: list(3, int),
});

/** A status in CRI does not name the container's sandbox. */
export type WireContainerStatus = Omit<ContainerStatus, 'podSandboxId'>;

export const containerStatusResponse = message<{ status?: WireContainerStatus }>({
  status: field(
    1,
    message<WireContainerStatus>({
      id: field(1, string),
      metadata: field(2, containerMetadata),
      state: field(3, containerState),
      createdAt: field(4, int),
      startedAt: field(5, int),
      finishedAt: field(6, int),
      exitCode: field(7, int),
      image: field(8, wrapped(string, '')),
      imageRef: field(9, string),
      reason: field(10, string),
      message: field(11, string),
      labels: map(12),
      annotations: map(13),
      mounts: list(14, mount),
      logPath: field(15, string),
      imageId: field(17, string),
      resources: field(
        16,
        message<NonNullable<WireContainerStatus['resources']>>({ linux: field(1, linuxContainerResources) }),
      ),
      user: field(18, wrapped(linuxContainerUser)),
    }),
  ),
});

export const checkpointContainerRequest = message<{
  containerId: string;
  location: string;
  timeout: number;
}>({
  containerId: field(1, string),
  location: field(2, string),
  timeout: field(3, int),
});

export const execSyncRequest = message<{ containerId: string; cmd: readonly string[]; timeout: number }>({
  containerId: field(1, string),
  cmd: list(2, string),
  timeout: field(3, int),
});

export const execSyncResponse = message<ExecSyncResponse>({
  stdout: field(1, bytesUpTo(OUTPUT_BYTES_MAX)),
  stderr: field(2, bytesUpTo(OUTPUT_BYTES_MAX)),
  exitCode: field(3, int),
});

export type ContainerStatsFilter = Omit<ContainerFilter, 'state'>;

export const listContainerStatsRequest = message<{ filter?: ContainerStatsFilter }>({
  filter: field(
    1,
    message<ContainerStatsFilter>({
      id: field(1, string),
      podSandboxId: field(2, string),
      labelSelector: map(3),
    }),
  ),
});

type WireContainerStats = Omit<ContainerStats, 'processCount'>;

export const listContainerStatsResponse = message<{ stats: readonly WireContainerStats[] }>({
  stats: list(
    1,
    message<WireContainerStats>({
      attributes: field(
        1,
        message<ContainerStats['attributes']>({
          id: field(1, string),
          metadata: field(2, containerMetadata),
          labels: map(3),
        }),
      ),
      cpu: field(
        2,
        message<NonNullable<ContainerStats['cpu']>>({
          timestamp: field(1, int),
          usageCoreNanoSeconds: field(2, wrapped(int, 0)),
        }),
      ),
      memory: field(
        3,
        message<NonNullable<ContainerStats['memory']>>({
          timestamp: field(1, int),
          workingSetBytes: field(2, wrapped(int, 0)),
          rssBytes: field(5, wrapped(int, 0)),
        }),
      ),
      writableLayer: field(4, filesystemUsage),
    }),
  ),
});

export interface ContainerEventResponse {
  readonly containerId: string;
  readonly containerEventType: ContainerEventType;
  readonly createdAt: number;
  readonly podSandboxStatus?: WirePodSandboxStatus;
}

export const containerEventResponse = message<ContainerEventResponse>({
  containerId: field(1, string),
  containerEventType: field(
    2,
    enumeration([
      'CONTAINER_CREATED_EVENT',
      'CONTAINER_STARTED_EVENT',
      'CONTAINER_STOPPED_EVENT',
      'CONTAINER_DELETED_EVENT',
    ]),
  ),
  createdAt: field(3, int),
  podSandboxStatus: field(4, podSandboxStatus),
});
