/** Settings for real containers, with the kubelet's flags and fields. */
import { isIP } from 'node:net';
import type { NodeSettings } from '../../types/node-settings.ts';
import { IDS_UNIT } from '../policies/security/id-mappings.ts';
import { sysctlPatternProblem } from '../policies/security/sysctls.ts';
import {
  checkMemorySettings,
  checkReservedSettings,
  MEMORY_SETTINGS,
  RESERVED_SETTINGS,
} from './kubelet/reserved-settings.ts';
import { checkImageSettings, IMAGE_SETTINGS, isSerialized } from './kubelet/image-settings.ts';
import { MEMORY_MANAGER_SETTINGS } from './kubelet/memory-manager-settings.ts';
import { RESOURCE_MANAGER_SETTINGS } from './kubelet/resource-manager-settings.ts';
import {
  type GivenSettings,
  atLeast,
  between,
  bytes,
  duration,
  flagOrNot,
  type Kind,
  list,
  number,
  oneList,
  positive,
  resolveSettings,
  type Setting,
  text,
  timer,
} from './setting.ts';

const addresses = (value: readonly string[]) =>
  value.every((address) => isIP(address) !== 0) ? undefined : 'IP addresses';
const socket = (value: string) =>
  value === '' || value.startsWith('unix:///')
    ? undefined
    : 'unix:///PATH, the socket of a CRI image service';

export const NODE_SETTINGS: { readonly [Name in keyof NodeSettings]: Setting<NodeSettings[Name]> } = {
  imageServiceEndpoint: {
    flag: '--image-service-endpoint <ENDPOINT>',
    field: 'imageServiceEndpoint',
    default: '',
    kind: text,
    description: 'socket of the image service, if it is not that of the runtime',
    problem: socket,
  },
  runtimeRequestTimeoutMs: {
    flag: '--runtime-request-timeout <DURATION>',
    field: 'runtimeRequestTimeout',
    kind: duration,
    default: 120_000,
    description: 'time limit of a call of the runtime; pulls may take longer',
    problem: timer(1),
  },
  nodeIP: {
    flag: '--node-ip <IP>',
    default: [],
    kind: oneList,
    problem: addresses,
    description: 'address of this node, or one of each family, separated by a comma',
  },
  cgroupDriver: {
    flag: '--cgroup-driver <DRIVER>',
    field: 'cgroupDriver',
    default: 'cgroupfs',
    kind: text as Kind<NodeSettings['cgroupDriver']>,
    description: 'what makes the cgroups of pods, if the runtime does not report it: cgroupfs or systemd',
    problem: (value) => (['cgroupfs', 'systemd'].includes(value) ? undefined : 'cgroupfs or systemd'),
  },
  cgroupRoot: {
    flag: '--cgroup-root <PATH>',
    field: 'cgroupRoot',
    default: '/',
    // As with the kubelet, an empty text is the top of the tree.
    kind: { ...text, fromText: (value) => value || '/' },
    description: 'cgroup that has those of pods below it',
    problem: (value) => (value.startsWith('/') ? undefined : 'an absolute path within the cgroup tree'),
  },
  kubeletCgroups: {
    flag: '--kubelet-cgroups <PATH>',
    field: 'kubeletCgroups',
    default: '',
    kind: text,
    description: 'cgroup that the agent moves itself into; it is made if it is missing',
    problem: systemCgroupProblem,
  },
  runtimeCgroups: {
    flag: '--runtime-cgroups <PATH>',
    default: '',
    kind: text,
    description: 'cgroup of the container runtime; the Summary has its figures as runtime',
    problem: systemCgroupProblem,
  },
  systemCgroups: {
    flag: '--system-cgroups <PATH>',
    field: 'systemCgroups',
    default: '',
    kind: text,
    description: 'cgroup of other daemons; the Summary has its figures as misc, and no process is moved',
    problem: systemCgroupProblem,
  },
  cgroupsPerQOS: {
    flag: '--cgroups-per-qos [BOOL]',
    field: 'cgroupsPerQOS',
    default: true,
    kind: flagOrNot,
    description: 'whether pods get cgroups by QoS class, below kubepods',
  },
  podPidsLimit: {
    flag: '--pod-max-pids <N>',
    field: 'podPidsLimit',
    default: -1,
    kind: number,
    description: 'how many processes a pod may have; -1: no limit',
    problem: (value) => (value === -1 || value > 0 ? undefined : 'positive, or -1 for no limit'),
  },
  idsPerPod: {
    field: 'userNamespaces.idsPerPod',
    default: IDS_UNIT,
    kind: number,
    description: 'how many user ids a pod with hostUsers: false has',
    problem: (value) =>
      value > 0 && value % IDS_UNIT === 0 && value < 2 ** 32
        ? undefined
        : `a multiple of ${IDS_UNIT} below 2^32`,
  },
  cpuCFSQuota: {
    flag: '--cpu-cfs-quota [BOOL]',
    field: 'cpuCFSQuota',
    default: true,
    kind: flagOrNot,
    description: 'whether CPU limits are enforced',
  },
  cpuCFSQuotaPeriodMs: {
    flag: '--cpu-cfs-quota-period <DURATION>',
    field: 'cpuCFSQuotaPeriod',
    default: 100,
    kind: duration,
    description: 'period of CPU limits',
    problem: between(1, 1000),
  },
  ...MEMORY_SETTINGS,
  ...RESERVED_SETTINGS,
  ...RESOURCE_MANAGER_SETTINGS,
  ...MEMORY_MANAGER_SETTINGS,
  clusterDNS: {
    flag: '--cluster-dns <IP>',
    field: 'clusterDNS',
    default: [],
    kind: list,
    problem: addresses,
    description: 'DNS servers of pods with dnsPolicy ClusterFirst',
  },
  clusterDomain: {
    flag: '--cluster-domain <DOMAIN>',
    field: 'clusterDomain',
    default: '',
    kind: text,
    description: 'search domain of pods, in addition to those of the node',
  },
  resolvConf: {
    flag: '--resolv-conf <FILE>',
    field: 'resolvConf',
    default: '/etc/resolv.conf',
    kind: text,
    description: "the node's resolver configuration, for the DNS of pods",
  },
  seccompDefault: {
    flag: '--seccomp-default [BOOL]',
    field: 'seccompDefault',
    default: false,
    kind: flagOrNot,
    description: 'whether containers without a seccomp profile get RuntimeDefault',
  },
  allowedUnsafeSysctls: {
    flag: '--allowed-unsafe-sysctls <LIST>',
    field: 'allowedUnsafeSysctls',
    default: [],
    kind: list,
    description: 'unsafe sysctls that pods may set; patterns may end in *',
    problem: (value) =>
      value.some((pattern) => sysctlPatternProblem(pattern) !== undefined)
        ? 'names of namespaced sysctls, or patterns ending in *: kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*'
        : undefined,
  },
  runtimeClasses: {
    flag: '--runtime-classes <LIST>',
    default: [],
    kind: list,
    description: 'handlers of the RuntimeClasses that pods may name, as NAME=HANDLER, separated by commas',
    problem: (value) => (value.every((item) => /^[^=]+=[^=]+$/u.test(item)) ? undefined : 'NAME=HANDLER'),
  },
  ...IMAGE_SETTINGS,
  containerLogMaxSizeBytes: {
    flag: '--container-log-max-size <SIZE>',
    field: 'containerLogMaxSize',
    kind: bytes,
    default: 10 * 2 ** 20,
    description: "size at which a container's log is rotated",
    problem: atLeast(1),
  },
  containerLogMaxFiles: {
    flag: '--container-log-max-files <N>',
    field: 'containerLogMaxFiles',
    default: 5,
    kind: positive,
    description: 'how many files of a log are kept',
    problem: atLeast(2),
  },
  containerLogMaxWorkers: {
    field: 'containerLogMaxWorkers',
    default: 1,
    kind: positive,
    problem: atLeast(1),
    description: 'how many logs are rotated at a time',
  },
  containerLogMonitorIntervalMs: {
    field: 'containerLogMonitorInterval',
    default: 10_000,
    kind: duration,
    problem: timer(1000),
    description: 'how often the sizes of logs are checked',
  },
  minimumContainerTTLMs: {
    flag: '--minimum-container-ttl-duration <DURATION>',
    default: 0,
    kind: duration,
    problem: atLeast(0),
    description: 'how long a dead container is kept at least',
  },
  maximumDeadContainersPerContainer: {
    flag: '--maximum-dead-containers-per-container <N>',
    default: 1,
    kind: number,
    problem: atLeast(-1),
    description: 'how many dead instances of a container are kept; -1: all',
  },
  maximumDeadContainers: {
    flag: '--maximum-dead-containers <N>',
    default: -1,
    kind: number,
    problem: atLeast(-1),
    description: 'how many dead containers are kept on the node; -1: all',
  },
};

/** Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveNodeSettings(given: GivenSettings): NodeSettings {
  const { flags, file, fileName } = given;
  const settings = resolveSettings<NodeSettings>(NODE_SETTINGS, given);
  checkImageSettings(settings, fileName);
  checkMemorySettings(settings, fileName);
  const isGiven = (flags.enforceNodeAllocatable ?? file.enforceNodeAllocatable) !== undefined;
  checkReservedSettings(settings, isGiven, fileName);
  return { ...settings, serializeImagePulls: isSerialized(settings, given) };
}

/** All rows of the table. */
export const ALL_NODE_SETTINGS = Object.values(NODE_SETTINGS) as unknown as readonly Setting[];

/** The top of the cgroup tree is refused: its figures are those of the whole machine. */
function systemCgroupProblem(value: string): string | undefined {
  if (value === '') return undefined;
  return /^\/./.test(value) && !value.split('/').includes('..')
    ? undefined
    : 'an absolute path within the cgroup tree, and not its top';
}
