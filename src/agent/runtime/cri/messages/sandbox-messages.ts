/** Messages of runtime.v1 about sandboxes: field numbers as in `api.proto` of k8s.io/cri-api. */
import type {
  DNSConfig,
  IDMapping,
  LinuxContainerResources,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxMetadata,
  PodSandboxStatus,
  PortMapping,
  SecurityProfile,
  SELinuxOption,
  UserNamespace,
} from '../../../../types/cri.ts';
import {
  bool,
  enumeration,
  field,
  int,
  list,
  map,
  message,
  string,
  wrapped,
} from '../../../../system/protobuf.ts';

const namespaceMode = enumeration(['POD', 'CONTAINER', 'NODE', 'TARGET']);

export const idMapping = message<IDMapping>({
  hostId: field(1, int),
  containerId: field(2, int),
  length: field(3, int),
});

export const namespaceOption = message<NamespaceOption>({
  network: field(1, namespaceMode),
  pid: field(2, namespaceMode),
  ipc: field(3, namespaceMode),
  targetId: field(4, string),
  usernsOptions: field(
    5,
    message<UserNamespace>({
      mode: field(1, namespaceMode),
      uids: list(2, idMapping),
      gids: list(3, idMapping),
    }),
  ),
});

export const selinuxOption = message<SELinuxOption>({
  user: field(1, string),
  role: field(2, string),
  type: field(3, string),
  level: field(4, string),
});

export const securityProfile = message<SecurityProfile>({
  profileType: field(1, enumeration(['RuntimeDefault', 'Unconfined', 'Localhost'])),
  localhostRef: field(2, string),
});

export const supplementalGroupsPolicy = enumeration(['Merge', 'Strict']);

export const linuxContainerResources = message<LinuxContainerResources>({
  cpuPeriod: field(1, int),
  cpuQuota: field(2, int),
  cpuShares: field(3, int),
  memoryLimitInBytes: field(4, int),
  oomScoreAdj: field(5, int),
  cpusetCpus: field(6, string),
  cpusetMems: field(7, string),
  hugepageLimits: list(
    8,
    message<{ pageSize: string; limit: number }>({ pageSize: field(1, string), limit: field(2, int) }),
  ),
  unified: map(9),
  memorySwapLimitInBytes: field(10, int),
});

const linuxSandboxSecurityContext = message<LinuxSandboxSecurityContext>({
  namespaceOptions: field(1, namespaceOption),
  selinuxOptions: field(2, selinuxOption),
  runAsUser: field(3, wrapped(int)),
  runAsGroup: field(8, wrapped(int)),
  readonlyRootfs: field(4, bool),
  supplementalGroups: list(5, int),
  supplementalGroupsPolicy: field(11, supplementalGroupsPolicy),
  privileged: field(6, bool),
  seccomp: field(9, securityProfile),
  apparmor: field(10, securityProfile),
});

const dnsConfig = message<DNSConfig>({
  servers: list(1, string),
  searches: list(2, string),
  options: list(3, string),
});

const portMapping = message<PortMapping>({
  protocol: field(1, enumeration(['TCP', 'UDP', 'SCTP'])),
  containerPort: field(2, int),
  hostPort: field(3, int),
  hostIp: field(4, string),
});

const podSandboxMetadata = message<PodSandboxMetadata>({
  name: field(1, string),
  uid: field(2, string),
  namespace: field(3, string),
  attempt: field(4, int),
});

export const podSandboxConfig = message<PodSandboxConfig>({
  metadata: field(1, podSandboxMetadata),
  hostname: field(2, string),
  logDirectory: field(3, string),
  dnsConfig: field(4, dnsConfig),
  portMappings: list(5, portMapping),
  labels: map(6),
  annotations: map(7),
  linux: field(
    8,
    message<NonNullable<PodSandboxConfig['linux']>>({
      cgroupParent: field(1, string),
      securityContext: field(2, linuxSandboxSecurityContext),
      sysctls: map(3),
      overhead: field(4, linuxContainerResources),
      resources: field(5, linuxContainerResources),
    }),
  ),
});

const podSandboxState = enumeration(['SANDBOX_READY', 'SANDBOX_NOTREADY']);

export const podSandboxId = message<{ podSandboxId: string }>({ podSandboxId: field(1, string) });

export const runPodSandboxRequest = message<{ config: PodSandboxConfig; runtimeHandler?: string }>({
  config: field(1, podSandboxConfig),
  runtimeHandler: field(2, string),
});

export const updatePodSandboxResourcesRequest = message<{
  podSandboxId: string;
  overhead: Partial<LinuxContainerResources>;
  resources: Partial<LinuxContainerResources>;
}>({
  podSandboxId: field(1, string),
  overhead: field(2, linuxContainerResources),
  resources: field(3, linuxContainerResources),
});

export const listPodSandboxRequest = message<{ filter?: PodSandboxFilter }>({
  filter: field(
    1,
    message<PodSandboxFilter>({
      id: field(1, string),
      state: field(2, wrapped(podSandboxState)),
      labelSelector: map(3),
    }),
  ),
});

export const listPodSandboxResponse = message<{ items: readonly PodSandbox[] }>({
  items: list(
    1,
    message<PodSandbox>({
      id: field(1, string),
      metadata: field(2, podSandboxMetadata),
      state: field(3, podSandboxState),
      createdAt: field(4, int),
      labels: map(5),
      annotations: map(6),
      runtimeHandler: field(7, string),
    }),
  ),
});

/** As CRI nests it: `linux.namespaces.options.network`. */
interface LinuxPodSandboxStatus {
  readonly namespaces?: { readonly options?: NamespaceOption };
}

export type WirePodSandboxStatus = Omit<PodSandboxStatus, 'networkMode'> & {
  readonly linux?: LinuxPodSandboxStatus;
};

export const podSandboxStatus = message<WirePodSandboxStatus>({
  id: field(1, string),
  metadata: field(2, podSandboxMetadata),
  state: field(3, podSandboxState),
  createdAt: field(4, int),
  network: field(
    5,
    message<NonNullable<PodSandboxStatus['network']>>({
      ip: field(1, string),
      additionalIps: list(2, wrapped(string)),
    }),
  ),
  linux: field(
    6,
    message<LinuxPodSandboxStatus>({
      namespaces: field(1, message<{ options?: NamespaceOption }>({ options: field(2, namespaceOption) })),
    }),
  ),
  labels: map(7),
  annotations: map(8),
  runtimeHandler: field(9, string),
});

export const podSandboxStatusResponse = message<{ status?: WirePodSandboxStatus }>({
  status: field(1, podSandboxStatus),
});
