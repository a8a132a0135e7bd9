/** The configuration of the daemon. A flag goes before the file, and the file before the kubelet's default. */
import { join, resolve } from 'node:path';
import {
  type AdmissionSettings,
  type ClusterSettings,
  type EmbeddedVolumes,
  type EvictionConfiguration,
  type EvictionPluginSettings,
  NODE_PORT,
  type NodeSettings,
  type ServerSettings,
  type ShutdownSettings,
} from '../../types/node-settings.ts';
import { invalid } from '../../types/errors.ts';
import { resolveAdmissionSettings, withReservedCPUs } from './load-admission-settings.ts';
import { resolveClusterSettings } from './load-cluster-settings.ts';
import { checkFeatures, resolveFeatureGates } from './load-feature-gates.ts';
import { resolveEvictionPluginSettings } from './load-eviction-plugin-settings.ts';
import { resolveEvictionSettings } from './load-eviction-settings.ts';
import { type FeatureFields, type FeatureGates, isEnabled } from '../policies/node/feature-gates.ts';
import { parseDuration } from '../policies/formats/duration.ts';
import { unlessEmpty } from '../policies/formats/json-values.ts';
import { isHttpURL, type KubeletConfiguration } from './kubelet-configuration.ts';
import type { IdleFlags } from './kubelet/idle-flags.ts';
import { checkResourceManagers } from './kubelet/resource-manager-settings.ts';
import { resolveNodeSettings } from './load-node-settings.ts';
import type { GivenSettings } from './setting.ts';
import { type Host, rootFolder, thisHost } from './root-folder.ts';
import { resolveServerSettings } from './load-server-settings.ts';
import { resolveShutdownSettings } from './load-shutdown-settings.ts';

export interface Endpoint {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** A static pod may be named without the suffix that it has on its node. */
export interface InspectedPod {
  readonly namespace: string;
  readonly name: string;
}

export type LogFormat = 'auto' | 'text' | 'json';

/** Complete and checked. Paths are absolute, durations are in milliseconds. */
export interface StateletConfig extends AdmissionSettings, EvictionConfiguration {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly nodeName: string;
  /** A manifest or a folder of manifests. */
  readonly staticPodPath?: string;
  readonly staticPodURL?: string;
  readonly staticPodURLHeader: Readonly<Record<string, readonly string[]>>;
  /** Where ordinary pods come from, in the order of the flags. */
  readonly localPods: readonly LocalPods[];
  readonly fileCheckFrequencyMs: number;
  readonly httpCheckFrequencyMs: number;
  readonly syncFrequencyMs: number;
  /** `embedded`, or the socket of a CRI runtime: `unix:///PATH`. */
  readonly containerRuntimeEndpoint: string;
  /** Only matters with the embedded runtime. */
  readonly embeddedVolumes: EmbeddedVolumes;
  /** Settings that only matter with real containers. */
  readonly node: NodeSettings;
  /** Settings that only matter in a cluster. */
  readonly cluster: ClusterSettings;
  /** Of the node's own server. */
  readonly server: ServerSettings;
  readonly shutdown: ShutdownSettings;
  readonly evictionPlugins: EvictionPluginSettings;
  /** Flag and field joined. */
  readonly featureGates: FeatureGates;
  readonly maxPods: number;
  /** The first and the longest delay of CrashLoopBackOff. */
  readonly initialContainerRestartPeriodMs: number;
  readonly maxContainerRestartPeriodMs: number;
  /** Where `/healthz`, `/pods` and `/stats/summary` are served; undefined: nowhere. */
  readonly healthz?: Endpoint;
  readonly logging: { readonly format: LogFormat; readonly verbosity: number };
  /** Whether a terminal gets a table of the pods in place of log lines. */
  readonly live: boolean;
  /** Whether stopping the daemon ends its pods first. */
  readonly exitWithPods: boolean;
  /** Where Stately's inspector is served; undefined: off. */
  readonly inspect?: Endpoint;
  /** How much the flight recorder keeps; 0: it is off. */
  readonly flightRecorderBytes: number;
  /** Where the page is served; undefined: only at the socket of the root folder. */
  readonly ui?: Endpoint;
  /** The only pod whose actors are shown there. */
  readonly inspectOnly?: InspectedPod;
  /** What this configuration was made from. */
  readonly given: { readonly flags: RunFlags; readonly file: KubeletConfiguration };
}

/** A manifest or a folder of manifests, or a URL that serves one. */
export type LocalPods = { readonly path: string } | { readonly url: string };

/** The parsed flags of `statelet run`; flags that were not given are left out. Flags of the tables of settings have the keys of the tables. */
export interface RunFlags {
  readonly [setting: string]: unknown;
  /** Whether what is not given has the kubelet's default, also where Statelet's own is another. */
  readonly asKubelet?: boolean;
  /** The kubelet's flags without effect. */
  readonly idle?: IdleFlags;
  readonly config?: string;
  readonly configDir?: string;
  readonly podManifestPath?: string;
  readonly manifestUrl?: string;
  readonly manifestUrlHeader?: Readonly<Record<string, readonly string[]>>;
  readonly pods?: readonly string[];
  readonly rootDir?: string;
  readonly hostnameOverride?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly embeddedVolumes?: EmbeddedVolumes;
  readonly fileCheckFrequency?: number;
  readonly httpCheckFrequency?: number;
  readonly syncFrequency?: number;
  readonly maxPods?: number;
  readonly featureGates?: FeatureGates;
  readonly healthzBindAddress?: string;
  /** 0: off, as with the kubelet. */
  readonly healthzPort?: number | 'auto';
  readonly exitWithPods?: boolean;
  readonly live?: boolean;
  /** true: at the default address, as with the name of a pod. */
  readonly inspect?: Endpoint | InspectedPod | true;
  /** In bytes. */
  readonly flightRecorderSize?: number;
  /** true: at the default address. */
  readonly ui?: Endpoint | true;
  /** Also without `inspect`. */
  readonly inspectOnly?: InspectedPod;
  readonly v?: number;
  readonly loggingFormat?: LogFormat;
}

/** The value of `containerRuntimeEndpoint` for the runtime inside this process. */
export const EMBEDDED = 'embedded';

export const DEFAULTS = {
  fileCheckFrequencyMs: 20_000,
  httpCheckFrequencyMs: 20_000,
  syncFrequencyMs: 60_000,
  maxPods: 110,
  embeddedVolumes: 'mount',
  initialContainerRestartPeriodMs: 10_000,
  maxContainerRestartPeriodMs: 300_000,
  healthzBindAddress: '127.0.0.1',
  healthzPort: 10_248,
  verbosity: 0,
  inspect: { host: '127.0.0.1', port: 10_247 },
  flightRecorderBytes: 64 * 2 ** 20,
  ui: { host: '127.0.0.1', port: 10_246 },
} as const;

/** Defaults that are others where the program is called `kubelet`. */
export interface DefaultsByName {
  /** Undefined: it is looked for, see `rootFolder`. */
  readonly rootDir: string | undefined;
  readonly containerRuntimeEndpoint: string;
  readonly loggingFormat: LogFormat;
}

export function defaultsByName(asKubelet: boolean): DefaultsByName {
  return asKubelet
    ? {
        rootDir: '/var/lib/kubelet',
        containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
        loggingFormat: 'text',
      }
    : { rootDir: undefined, containerRuntimeEndpoint: EMBEDDED, loggingFormat: 'auto' };
}

/** Throws `InvalidArgument` when a value is not valid here; `fileName` is the file that such an error names. */
export function resolveConfig(
  flags: RunFlags,
  file: KubeletConfiguration = {},
  host: Host = thisHost(),
  fileName: string = flags.config ?? 'configuration',
): StateletConfig {
  const byName = defaultsByName(flags.asKubelet === true);
  const rootDir = rootFolder(unlessEmpty(flags.rootDir) ?? byName.rootDir, host).path;
  const staticPodPath = unlessEmpty(flags.podManifestPath);
  const healthz = healthzEndpoint(flags, file);
  const path = staticPodPath === undefined ? unlessEmpty(file.staticPodPath) : resolve(staticPodPath);
  const url = unlessEmpty(flags.manifestUrl) ?? unlessEmpty(file.staticPodURL);
  const containerRuntimeEndpoint = runtimeEndpoint(flags, file, fileName, byName);
  const featureGates = resolveFeatureGates(flags.featureGates, file.featureGates, fileName);
  const memoryQoS = isEnabled('MemoryQoS', featureGates);
  const given: GivenSettings = { flags, file: { ...file }, fileName };
  const withGates = { ...file, featureGates: { ...featureGates, MemoryQoS: memoryQoS } };
  const node = resolveNodeSettings({ ...given, file: withGates });
  checkResourceManagers(node, (gate) => isEnabled(gate, featureGates), fileName);
  const cluster = resolveClusterSettings(given);
  const shutdown = resolveShutdownSettings(file, fileName);
  checkFeatures(featureGates, featureFields(file, { cluster, node, shutdown }), fileName);
  return {
    ...withReservedCPUs(resolveAdmissionSettings(given), node.reservedSystemCPUs),
    ...resolveEvictionSettings(given),
    rootDir,
    podLogsDir: unlessEmpty(file.podLogsDir) ?? defaultPodLogsDir(containerRuntimeEndpoint, rootDir),
    nodeName: nodeName(flags.hostnameOverride, host),
    staticPodPath: path,
    staticPodURL: url,
    staticPodURLHeader: flags.manifestUrlHeader ?? file.staticPodURLHeader ?? {},
    localPods: localPods(flags, cluster),
    fileCheckFrequencyMs:
      flags.fileCheckFrequency ?? ms(file.fileCheckFrequency) ?? DEFAULTS.fileCheckFrequencyMs,
    httpCheckFrequencyMs:
      flags.httpCheckFrequency ?? ms(file.httpCheckFrequency) ?? DEFAULTS.httpCheckFrequencyMs,
    syncFrequencyMs: flags.syncFrequency ?? ms(file.syncFrequency) ?? DEFAULTS.syncFrequencyMs,
    containerRuntimeEndpoint,
    embeddedVolumes: flags.embeddedVolumes ?? DEFAULTS.embeddedVolumes,
    featureGates,
    node: isEnabled('KubeletEnsureSecretPulledImages', featureGates) ? node : withoutVerification(node),
    cluster,
    server: withKubeletPort(resolveServerSettings(given), flags),
    shutdown,
    evictionPlugins: resolveEvictionPluginSettings(given, {
      rootDir,
      hasCluster: cluster.kubeconfig !== '',
    }),
    maxPods: flags.maxPods ?? (file.maxPods === 0 ? undefined : file.maxPods) ?? DEFAULTS.maxPods,
    ...restartPeriods(file, featureGates),
    healthz,
    logging: {
      format:
        flags.loggingFormat ??
        (file.logging?.format === '' ? undefined : file.logging?.format) ??
        byName.loggingFormat,
      verbosity: flags.v ?? file.logging?.verbosity ?? DEFAULTS.verbosity,
    },
    live: flags.live ?? false,
    exitWithPods: flags.exitWithPods ?? false,
    flightRecorderBytes: flags.flightRecorderSize ?? DEFAULTS.flightRecorderBytes,
    ...(flags.ui !== undefined && { ui: flags.ui === true ? DEFAULTS.ui : flags.ui }),
    ...inspection(flags),
    given: { flags, file },
  };
}

/** With `KubeletCrashLoopBackOffMax`, which is on by default, the longest delay is that of the file or of the defaults. */
function restartPeriods(
  { crashLoopBackOff }: KubeletConfiguration,
  gates: FeatureGates,
): Pick<StateletConfig, 'initialContainerRestartPeriodMs' | 'maxContainerRestartPeriodMs'> {
  const reduced = isEnabled('ReduceDefaultCrashLoopBackOffDecay', gates);
  const { initialContainerRestartPeriodMs, maxContainerRestartPeriodMs } = DEFAULTS;
  const byDefault =
    reduced && !isEnabled('KubeletCrashLoopBackOffMax', gates) ? 60_000 : maxContainerRestartPeriodMs;
  return {
    initialContainerRestartPeriodMs: reduced ? 1_000 : initialContainerRestartPeriodMs,
    maxContainerRestartPeriodMs: ms(crashLoopBackOff?.maxContainerRestartPeriod) ?? byDefault,
  };
}

/** The kubelet opens its port outside a cluster too. */
function withKubeletPort(server: ServerSettings, { asKubelet }: RunFlags): ServerSettings {
  return asKubelet ? { ...server, port: server.port ?? NODE_PORT } : server;
}

function withoutVerification(node: NodeSettings): NodeSettings {
  return { ...node, imagePullCredentialsVerificationPolicy: 'NeverVerify' };
}

function featureFields(
  file: KubeletConfiguration,
  { cluster, node, shutdown }: Pick<StateletConfig, 'cluster' | 'node' | 'shutdown'>,
): FeatureFields {
  return {
    serverTLSBootstrap: cluster.serverTLSBootstrap,
    cpuCFSQuotaPeriod: node.cpuCFSQuotaPeriodMs !== 100,
    shutdownGracePeriod: shutdown.shutdownGracePeriodMs > 0,
    shutdownGracePeriodCriticalPods: shutdown.shutdownGracePeriodCriticalPodsMs > 0,
    shutdownGracePeriodByPodPriority: shutdown.shutdownGracePeriodByPodPriority.length > 0,
    'crashLoopBackOff.maxContainerRestartPeriod':
      unlessEmpty(file.crashLoopBackOff?.maxContainerRestartPeriod) !== undefined,
    imagePullCredentialsVerificationPolicy:
      unlessEmpty(file.imagePullCredentialsVerificationPolicy) !== undefined,
    preloadedImagesVerificationAllowlist: node.preloadedImagesVerificationAllowlist.length > 0,
  };
}

function inspection({ inspect, inspectOnly }: RunFlags): Pick<StateletConfig, 'inspect' | 'inspectOnly'> {
  if (inspect === undefined && inspectOnly === undefined) return {};
  const hasAddress = typeof inspect === 'object' && 'port' in inspect;
  const pod = inspectOnly ?? (typeof inspect === 'object' && 'namespace' in inspect ? inspect : undefined);
  return { inspect: hasAddress ? inspect : DEFAULTS.inspect, inspectOnly: pod };
}

const MAX_NAME_LENGTH = 253;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;

function nodeName(override: string | undefined, host: Host): string {
  const origin = unlessEmpty(override) === undefined ? "this machine's host name" : '--hostname-override';
  const name = (unlessEmpty(override) ?? host.hostname).trim().toLowerCase();
  if (name.length <= MAX_NAME_LENGTH && DNS_SUBDOMAIN.test(name)) return name;
  throw invalid(
    `${origin}: "${name}" cannot be a node's name: lower case letters, digits, "-" and "." only, beginning and ending ` +
      'with a letter or digit; give another with --hostname-override',
  );
}

/** In a cluster, ordinary pods come from the API server, which would not know of pods from files. */
function localPods({ pods = [] }: RunFlags, { kubeconfig }: ClusterSettings): readonly LocalPods[] {
  if (pods.length > 0 && kubeconfig !== '') {
    throw invalid(
      '--pods is for a node without an API server, and a kubeconfig was given: create these pods in the cluster, or make them ' +
        'static pods by --pod-manifest-path',
    );
  }
  return [...new Set(pods)].map((text) => (isHttpURL(text) ? { url: text } : { path: resolve(text) }));
}

const RUNTIME_FLAG = '--container-runtime-endpoint';

function runtimeEndpoint(
  flags: RunFlags,
  file: KubeletConfiguration,
  fileName: string,
  byName: DefaultsByName,
): string {
  const flag = unlessEmpty(flags.containerRuntimeEndpoint);
  const endpoint = flag ?? unlessEmpty(file.containerRuntimeEndpoint) ?? byName.containerRuntimeEndpoint;
  if (endpoint === EMBEDDED || /^unix:\/\/\/./u.test(endpoint)) return endpoint;
  const origin = flag === undefined ? `${fileName}: containerRuntimeEndpoint` : RUNTIME_FLAG;
  throw invalid(
    `${origin}: "${endpoint}": must be "${EMBEDDED}" or the socket of a CRI runtime, such as unix:///run/containerd/containerd.sock`,
  );
}

/** With a CRI runtime the usual folder, in which log collectors look; the embedded runtime keeps logs in the root folder. */
function defaultPodLogsDir(endpoint: string, rootDir: string): string {
  return endpoint === EMBEDDED ? join(rootDir, 'pods') : '/var/log/pods';
}

function healthzEndpoint(flags: RunFlags, file: KubeletConfiguration): Endpoint | undefined {
  const host =
    unlessEmpty(flags.healthzBindAddress) ??
    unlessEmpty(file.healthzBindAddress) ??
    DEFAULTS.healthzBindAddress;
  const port = flags.healthzPort ?? file.healthzPort ?? DEFAULTS.healthzPort;
  if (port === 0) return undefined;
  return { host, port: port === 'auto' ? 0 : port };
}

/** As with the kubelet, an empty setting means not given. */

function ms(duration: string | undefined): number | undefined {
  const parsed = duration === undefined ? undefined : parseDuration(duration);
  return parsed === 0 ? undefined : parsed;
}
