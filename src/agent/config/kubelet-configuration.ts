/**
 * KubeletConfiguration of `kubelet.config.k8s.io/v1beta1`, Kubernetes 1.36. It has the name and type of every field: a field
 * that Statelet does not support yet is a warning, and a spelling mistake is an error. Of its own it has `evictionPlugins`.
 */
import { isIP } from 'node:net';
import { MAX_DURATION_MS, parseDuration } from '../policies/formats/duration.ts';
import { ALL_SETTINGS } from './all-settings.ts';
import { SHUTDOWN_FIELDS, type ShutdownFields } from './load-shutdown-settings.ts';
import { fieldsOf } from './setting.ts';

export const API_VERSION = 'kubelet.config.k8s.io/v1beta1';
export const KIND = 'KubeletConfiguration';

/** The fields of the file that Statelet uses, with the file's types. */
export interface KubeletConfiguration extends ShutdownFields {
  readonly staticPodPath?: string;
  readonly staticPodURL?: string;
  readonly staticPodURLHeader?: Readonly<Record<string, readonly string[]>>;
  readonly fileCheckFrequency?: string;
  readonly httpCheckFrequency?: string;
  readonly syncFrequency?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly maxPods?: number;
  readonly podLogsDir?: string;
  readonly healthzBindAddress?: string;
  readonly healthzPort?: number;
  readonly crashLoopBackOff?: { readonly maxContainerRestartPeriod?: string };
  readonly logging?: { readonly format?: 'text' | 'json' | ''; readonly verbosity?: number };
  readonly resolvConf?: string;
  readonly imagePullCredentialsVerificationPolicy?: string;
  readonly featureGates?: Readonly<Record<string, boolean>>;
}

/** Fields that have an effect. Other fields of the schema are accepted with a warning. */
export const SUPPORTED_FIELDS: readonly string[] = [
  'apiVersion',
  'kind',
  'staticPodPath',
  'staticPodURL',
  'staticPodURLHeader',
  'fileCheckFrequency',
  'httpCheckFrequency',
  'syncFrequency',
  'containerRuntimeEndpoint',
  'maxPods',
  'podLogsDir',
  'healthzBindAddress',
  'healthzPort',
  'crashLoopBackOff.maxContainerRestartPeriod',
  'logging.format',
  'logging.verbosity',
  ...fieldsOf(ALL_SETTINGS),
  ...SHUTDOWN_FIELDS,
];

/** JSON Schema; `description` completes the sentence "must be …". */
export interface Schema {
  readonly type: 'string' | 'boolean' | 'integer' | 'number' | 'array' | 'object' | readonly string[];
  readonly description: string;
  readonly format?: keyof typeof FORMATS;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | false;
}

/** Checks of texts that JSON Schema does not have. As with the kubelet, 0 means the default. */
export const FORMATS = {
  duration: (text: string) => parseDuration(text) !== undefined,
  frequency: (text: string) => isBetween(text, 1, MAX_DURATION_MS) || parseDuration(text) === 0,
  restartPeriod: (text: string) => isBetween(text, 1000, 300_000),
  httpURL: (text: string) => text === '' || isHttpURL(text),
  ip: (text: string) => text === '' || isIP(text) !== 0,
} as const;

function isBetween(text: string, leastMs: number, mostMs: number): boolean {
  const ms = parseDuration(text) ?? NaN;
  return ms >= leastMs && ms <= mostMs;
}

export function isHttpURL(text: string): boolean {
  return URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol);
}

const text: Schema = { type: 'string', description: 'a string' };
const bool: Schema = { type: 'boolean', description: 'true or false' };
const duration: Schema = { ...text, format: 'duration', description: 'a duration such as "1m30s"' };
const frequency: Schema = { ...text, format: 'frequency', description: 'a duration such as "1m30s"' };
const texts = list(text, 'a list of strings');
const textMap = map(text, 'an object of strings');
const int32 = integer(-(2 ** 31), 2 ** 31 - 1);
const int64: Schema = {
  type: 'integer',
  description: 'a whole number that an int64 holds',
  minimum: -(2 ** 63),
  // A number of JavaScript cannot show the difference to 2^63 - 1: the reader of the file finds those that are too large.
  maximum: 2 ** 63,
};
const uint32 = integer(0, 2 ** 32 - 1);
const port = integer(0, 65_535);
const quantity: Schema = { type: ['string', 'number'], description: 'a quantity such as "512Mi"' };

function integer(minimum: number, maximum: number): Schema {
  return { type: 'integer', minimum, maximum, description: `a whole number from ${minimum} to ${maximum}` };
}
function oneOf(...values: string[]): Schema {
  const shown = values.filter((value) => value !== '').map((value) => `"${value}"`);
  return { ...text, enum: values, description: `one of ${shown.join(', ')}` };
}
function list(items: Schema, description: string): Schema {
  return { type: 'array', items, description };
}
function map(additionalProperties: Schema, description: string): Schema {
  return { type: 'object', additionalProperties, description };
}
function object(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties, additionalProperties: false, description: 'an object' };
}

const bufferOptions = { splitStream: bool, infoBufferSize: quantity };
const logging = object({
  format: oneOf('', 'text', 'json'),
  flushFrequency: {
    ...int64,
    type: ['string', 'integer'],
    description: 'a duration such as "5s", or nanoseconds that an int64 holds',
  },
  verbosity: uint32,
  vmodule: list(object({ filePattern: text, verbosity: uint32 }), 'a list of file patterns'),
  options: object({ text: object(bufferOptions), json: object(bufferOptions) }),
});
const authentication = object({
  x509: object({ clientCAFile: text }),
  webhook: object({ enabled: bool, cacheTTL: duration }),
  anonymous: object({ enabled: bool }),
});
const authorization = object({
  mode: text,
  webhook: object({ cacheAuthorizedTTL: duration, cacheUnauthorizedTTL: duration }),
});
const taint = object({ key: text, value: text, effect: text, timeAdded: text });

const decimal: Schema = { type: 'number', description: 'a number' };
const decimals = map(decimal, 'an object of numbers');

// As Katalyst's AdminQoSConfiguration calls them, with what it has only as flags.
const reclaimedResourcesEvictionConfig = object({
  evictionThreshold: decimals,
  softEvictionThreshold: decimals,
  thresholdMetToleranceDuration: int32,
  gracePeriod: int32,
  skipZeroQuantityResourceNames: texts,
});
const memoryPressureEvictionConfig = object({
  enableNumaLevelEviction: bool,
  numaVictimMinimumUtilizationThreshold: decimal,
  numaFreeBelowWatermarkTimesReclaimedThreshold: int32,
  numaFreeBelowWatermarkTimesThreshold: int32,
  numaFreeConstraintFastEvictionWaitCycle: int32,
  enableSystemLevelEviction: bool,
  systemFreeMemoryThresholdMinimum: quantity,
  systemKswapdRateThreshold: int32,
  systemKswapdRateExceedDurationThreshold: int32,
  memPressureSomeThreshold: int32,
  memPressureFullThreshold: int32,
  memPressureDuration: int32,
  systemPressureCoolDownPeriod: int32,
  enableRSSOveruseEviction: bool,
  rssOveruseRateThreshold: decimal,
  rssOveruseEvictionFilter: textMap,
  reclaimedGracePeriod: int32,
  gracePeriod: int32,
});
const rootfsPressureEvictionConfig = object({
  enableRootfsPressureEviction: bool,
  minimumImageFsFreeThreshold: text,
  minimumImageFsInodesFreeThreshold: text,
  podMinimumUsedThreshold: text,
  podMinimumInodesUsedThreshold: text,
  reclaimedQoSPodUsedPriorityThreshold: text,
  reclaimedQoSPodInodesUsedPriorityThreshold: text,
  minimumImageFsDiskCapacityThreshold: quantity,
  enableRootfsOveruseEviction: bool,
  rootfsOveruseEvictionSupportedQoSLevels: texts,
  sharedQoSRootfsOveruseThreshold: text,
  reclaimedQoSRootfsOveruseThreshold: text,
  sharedQoSNamespaceFilter: texts,
  rootfsOveruseEvictionCount: int32,
  gracePeriod: int32,
});
const networkEvictionConfig = object({
  enableNICNetworkEviction: bool,
  nicUnhealthyToleranceDuration: duration,
  gracePeriod: int32,
});
const cpuPressureEvictionConfig = object({
  enableLoadEviction: bool,
  loadUpperBoundRatio: decimal,
  loadLowerBoundRatio: decimal,
  loadThresholdMetPercentage: decimal,
  loadMetricRingSize: int32,
  loadEvictionCoolDownTime: duration,
  loadEvictionSyncPeriod: duration,
  enableSuppressionEviction: bool,
  maxSuppressionToleranceRate: decimal,
  minSuppressionToleranceDuration: duration,
  gracePeriod: int32,
  numaCPUPressureEvictionConfig: object({
    enableEviction: bool,
    cpuUsageRatioThreshold: decimal,
    thresholdExpandFactor: decimal,
    thresholdMetPercentage: decimal,
    metricRingSize: int32,
    skippedPodKinds: texts,
    gracePeriod: int32,
  }),
  numaSysCPUPressureEvictionConfig: object({
    enableEviction: bool,
    numaCPUUsageSoftThreshold: decimal,
    numaCPUUsageHardThreshold: decimal,
    numaSysOverTotalUsageSoftThreshold: decimal,
    numaSysOverTotalUsageHardThreshold: decimal,
    numaSysOverTotalUsageEvictionThreshold: decimal,
    thresholdMetPercentage: decimal,
    metricRingSize: int32,
    syncPeriod: int32,
    gracePeriod: int32,
  }),
});

/** Statelet's own: the kubelet refuses a file that has it. */
const evictionPlugins = object({
  enabled: bool,
  syncPeriod: duration,
  timeout: duration,
  dryRun: texts,
  innerPlugins: texts,
  conditionTransitionPeriod: duration,
  evictionBurst: int32,
  skippedAnnotations: texts,
  skippedLabels: texts,
  killers: textMap,
  registryDir: text,
  taintsKubeconfig: text,
  strictAuthentication: bool,
  usersFile: text,
  noticesDir: text,
  reclaimedResourcesEvictionConfig,
  memoryPressureEvictionConfig,
  rootfsPressureEvictionConfig,
  networkEvictionConfig,
  cpuPressureEvictionConfig,
});

/** In the order of the type's definition. */
export const KUBELET_CONFIGURATION_SCHEMA: Schema = object({
  apiVersion: text,
  kind: text,
  enableServer: bool,
  staticPodPath: text,
  podLogsDir: text,
  syncFrequency: frequency,
  fileCheckFrequency: frequency,
  httpCheckFrequency: frequency,
  staticPodURL: { ...text, format: 'httpURL', description: 'an http or https URL' },
  staticPodURLHeader: map(texts, 'an object of lists of strings'),
  address: text,
  port,
  readOnlyPort: port,
  tlsCertFile: text,
  tlsPrivateKeyFile: text,
  tlsCipherSuites: texts,
  tlsCurvePreferences: list(int32, 'a list of whole numbers'),
  tlsMinVersion: text,
  rotateCertificates: bool,
  serverTLSBootstrap: bool,
  authentication,
  authorization,
  registryPullQPS: int32,
  registryBurst: int32,
  imagePullCredentialsVerificationPolicy: text,
  preloadedImagesVerificationAllowlist: texts,
  eventRecordQPS: int32,
  eventBurst: int32,
  enableDebuggingHandlers: bool,
  enableContentionProfiling: bool,
  healthzPort: port,
  healthzBindAddress: { ...text, format: 'ip', description: 'an IP address' },
  oomScoreAdj: integer(-1000, 1000),
  clusterDomain: text,
  clusterDNS: texts,
  streamingConnectionIdleTimeout: duration,
  nodeStatusUpdateFrequency: duration,
  nodeStatusReportFrequency: duration,
  nodeLeaseDurationSeconds: int32,
  imageMinimumGCAge: duration,
  imageMaximumGCAge: duration,
  imageGCHighThresholdPercent: int32,
  imageGCLowThresholdPercent: int32,
  volumeStatsAggPeriod: duration,
  kubeletCgroups: text,
  systemCgroups: text,
  cgroupRoot: text,
  cgroupsPerQOS: bool,
  cgroupDriver: text,
  cpuManagerPolicy: text,
  singleProcessOOMKill: bool,
  cpuManagerPolicyOptions: textMap,
  cpuManagerReconcilePeriod: duration,
  draManagerReconcilePeriod: duration,
  memoryManagerPolicy: text,
  topologyManagerPolicy: text,
  topologyManagerScope: oneOf('', 'container', 'pod'),
  topologyManagerPolicyOptions: textMap,
  qosReserved: textMap,
  runtimeRequestTimeout: duration,
  hairpinMode: oneOf('', 'promiscuous-bridge', 'hairpin-veth', 'none'),
  maxPods: integer(0, 2 ** 31 - 1),
  podCIDR: text,
  podPidsLimit: int64,
  resolvConf: text,
  runOnce: bool,
  cpuCFSQuota: bool,
  cpuCFSQuotaPeriod: duration,
  nodeStatusMaxImages: int32,
  maxOpenFiles: { ...int64, minimum: 0, description: 'a whole number from 0 that an int64 holds' },
  contentType: text,
  kubeAPIQPS: int32,
  kubeAPIBurst: int32,
  serializeImagePulls: bool,
  maxParallelImagePulls: int32,
  evictionHard: textMap,
  evictionSoft: textMap,
  evictionSoftGracePeriod: textMap,
  evictionPressureTransitionPeriod: duration,
  evictionMaxPodGracePeriod: int32,
  evictionMinimumReclaim: textMap,
  mergeDefaultEvictionSettings: bool,
  podsPerCore: int32,
  enableControllerAttachDetach: bool,
  protectKernelDefaults: bool,
  makeIPTablesUtilChains: bool,
  iptablesMasqueradeBit: integer(0, 31),
  iptablesDropBit: integer(0, 31),
  featureGates: map(bool, 'an object of true or false'),
  failSwapOn: bool,
  memorySwap: object({ swapBehavior: text }),
  containerLogMaxSize: text,
  containerLogMaxFiles: int32,
  containerLogMaxWorkers: int32,
  containerLogMonitorInterval: duration,
  configMapAndSecretChangeDetectionStrategy: text,
  systemReserved: textMap,
  kubeReserved: textMap,
  reservedSystemCPUs: text,
  showHiddenMetricsForVersion: text,
  systemReservedCgroup: text,
  kubeReservedCgroup: text,
  enforceNodeAllocatable: texts,
  allowedUnsafeSysctls: texts,
  volumePluginDir: text,
  providerID: text,
  kernelMemcgNotification: bool,
  logging,
  enableSystemLogHandler: bool,
  enableSystemLogQuery: bool,
  shutdownGracePeriod: duration,
  shutdownGracePeriodCriticalPods: duration,
  shutdownGracePeriodByPodPriority: list(
    object({ priority: int32, shutdownGracePeriodSeconds: int64 }),
    'a list of priorities with their grace periods',
  ),
  crashLoopBackOff: object({
    maxContainerRestartPeriod: {
      ...text,
      format: 'restartPeriod',
      description: 'a duration from "1s" to "5m"',
    },
  }),
  reservedMemory: list(
    object({ numaNode: int32, limits: map(quantity, 'an object of quantities') }),
    'a list of NUMA nodes with their limits',
  ),
  enableProfilingHandler: bool,
  enableDebugFlagsHandler: bool,
  seccompDefault: bool,
  memoryThrottlingFactor: { type: 'number', description: 'a number' },
  memoryReservationPolicy: text,
  registerWithTaints: list(taint, 'a list of taints'),
  registerNode: bool,
  tracing: object({ endpoint: text, samplingRatePerMillion: int32 }),
  localStorageCapacityIsolation: bool,
  containerRuntimeEndpoint: text,
  imageServiceEndpoint: text,
  failCgroupV1: bool,
  userNamespaces: object({ idsPerPod: int64 }),
  evictionPlugins,
});
