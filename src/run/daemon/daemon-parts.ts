/** What belongs to a daemon: it is opened before the agent of the node is built, and closed after that has stopped. */
import type { Observable } from 'rxjs';
import type { ActorContext } from '../../agent/actors/actor-context.ts';
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import type { NodeDra } from '../../agent/actors/dra/node-dra.ts';
import type { NodeCsi } from '../../agent/actors/volumes/node-csi.ts';
import type { PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import type { NodeDevicePlugins } from '../../agent/actors/devices/node-device-plugins.ts';
import { EventFanOut } from '../../agent/actors/cluster/event-fan-out.ts';
import type { ShutdownRecord } from '../../agent/actors/node/node-shutdown.ts';
import type { EndedPodsStore } from '../../agent/actors/pods/ended-pods.ts';
import type { StateLog } from '../../agent/actors/pods/state-log.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import { opensPorts } from '../../agent/config/load-server-settings.ts';
import { openNode } from '../open-node.ts';
import { openLocalObjects } from '../pod-sources.ts';
import { shutdownPeriods } from '../../agent/policies/termination/shutdown-periods.ts';
import {
  lockRootDir,
  openEndedPodsFile,
  openInstanceCounts,
  openShutdownRecord,
  type RootLock,
} from '../../agent/runtime/node/root-files.ts';
import type { InstanceCountsStore } from '../../agent/runtime/pods/instance-counts.ts';
import type { NodeParts } from '../../agent/runtime/node/pod-node.ts';
import { eventLog } from '../../agent/server/event-log.ts';
import type { AgentMetrics } from '../../agent/server/metrics/agent-metrics.ts';
import { RecentEvents } from '../../agent/server/recent-events.ts';
import type { FlightRecorder } from '../../recorder/flight-recorder.ts';
import { openFlightRecorder } from '../../recorder/open-flight-recorder.ts';
import type { LocalObjects } from '../../agent/sources/objects/local-objects.ts';
import { systemClock } from '../../system/timer.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { OwnNodeFacts } from '../../types/node-facts.ts';
import { DaemonPage } from './daemon-page.ts';
import type { Cluster } from './join-cluster.ts';
import type { openEvictionPlugins } from './open-eviction-plugins.ts';

export interface DaemonSettings {
  readonly logger: Logger;
  readonly inspect?: ActorContext['inspect'];
  readonly stateLog?: StateLog;
}

export interface DaemonParts {
  /** Also inspects the actors of the node: for the caller and the state log. */
  readonly context: ActorContext;
  readonly lock: RootLock;
  /** In a cluster, with the addresses that the node reports. */
  readonly config: StateletConfig;
  readonly cluster: Cluster | undefined;
  /** What the pods refer to: of the API server, or of manifests. */
  readonly objects: (ApiObjects & { readonly changes: Observable<string> }) | undefined;
  /** Those of manifests. */
  readonly localObjects: LocalObjects | undefined;
  readonly facts: OwnNodeFacts;
  readonly parts: NodeParts;
  readonly endedPods: EndedPodsStore;
  readonly instanceCounts: InstanceCountsStore;
  readonly shutdownRecord: ShutdownRecord | undefined;
  readonly events: RecentEvents;
  readonly metrics: AgentMetrics | undefined;
  readonly askPlugins: typeof openEvictionPlugins | undefined;
  /** Undefined where pods can have no devices. */
  readonly devicePlugins: ((core: AgentCore, others: PluginHandlers) => NodeDevicePlugins) | undefined;
  /** Undefined where no CSI driver can serve the node. */
  readonly csi: ((core: AgentCore) => NodeCsi) | undefined;
  /** Undefined where no DRA driver can serve the node. */
  readonly dra: ((core: AgentCore) => NodeDra) | undefined;
  readonly flightRecorder: FlightRecorder | undefined;
  readonly page: DaemonPage;
  /** Resolves when the agent cannot go on, with the reason. */
  readonly failure: Promise<string>;
}

/** `podOf`: the pod of that UID, as its source has it. Rejects when the agent cannot run as configured. */
export async function openDaemonParts(
  given: StateletConfig,
  deps: DaemonSettings,
  podOf: (uid: string) => Pod | undefined,
): Promise<DaemonParts> {
  const lock = await lockRootDir(given.rootDir);
  const config = await withReportedAddresses(given);
  const { logger } = deps;
  const now = () => systemClock.now();
  const events = new RecentEvents({ nodeName: config.nodeName, now, podOf });
  const recorder = new EventFanOut(eventLog(logger, now), events);
  let cluster: Cluster | undefined;
  const metrics = await openMetrics(given);
  const context: ActorContext = {
    clock: systemClock,
    random: Math.random,
    logger,
    recorder,
    measurements: metrics,
    inspect: await withStateLog(deps),
  };
  const failure = Promise.withResolvers<string>();
  const opened = await (async () => {
    cluster = await openCluster(context, given, failure.resolve);
    if (cluster) recorder.add(cluster.sender);
    const endedPods = openEndedPodsFile(given.rootDir, logger);
    const instanceCounts = openInstanceCounts(given.rootDir, logger);
    const localObjects = cluster ? undefined : await openLocalObjects(context, config);
    const objects = cluster?.objects ?? localObjects;
    const { runtimeClasses, objects: storage } = cluster ?? {};
    const ofCluster = { runtimeClasses, storage, resourceClaims: storage };
    const node = await openNode(config, context, { objects, ...ofCluster });
    const shutdownRecord = openRecordOfShutdown(config, logger, metrics);
    const askPlugins = await evictionPlugins(config);
    const devicePlugins = await devicePluginsOf(config, node.parts);
    const csi = await csiOf(config, cluster, node.parts);
    const dra = await draOf(config, cluster, node.parts);
    const plugins = { askPlugins, devicePlugins, csi, dra };
    return { endedPods, instanceCounts, shutdownRecord, ...plugins, objects, localObjects, ...node };
  })().catch(async (error: unknown) => {
    await cluster?.close();
    lock.release();
    throw error;
  });
  const page = new DaemonPage(context, config);
  const flightRecorder = await openFlightRecorder(context, config);
  return {
    ...opened,
    context,
    lock,
    config,
    cluster,
    events,
    metrics,
    flightRecorder,
    page,
    failure: failure.promise,
  };
}

/** All but the page and the flight recorder, which end before. */
export async function closeDaemonParts({ cluster, localObjects, parts, lock }: DaemonParts): Promise<void> {
  await cluster?.close();
  localObjects?.close();
  await parts.stop();
  lock.release();
}

/** Everything for a cluster is loaded only with a kubeconfig. */
async function openCluster(
  context: ActorContext,
  config: StateletConfig,
  onFailure: (problem: string) => void,
): Promise<Cluster | undefined> {
  if (config.cluster.kubeconfig === '') return undefined;
  const { Cluster } = await import('./join-cluster.ts');
  const onGiveUp = () => onFailure('there is no valid client certificate, and the API server gives none');
  return Cluster.open(context, config, onGiveUp);
}

/** Undefined where no pod is ended for a shutdown. Reports the last shutdown to the measurements. */
function openRecordOfShutdown(
  { cluster, rootDir, shutdown }: StateletConfig,
  logger: Logger,
  metrics: AgentMetrics | undefined,
): ShutdownRecord | undefined {
  if (cluster.kubeconfig === '' && shutdownPeriods(shutdown).length === 0) return undefined;
  const record = openShutdownRecord(rootDir, logger);
  const { startMs, endMs } = record.stored;
  if (startMs !== undefined) metrics?.nodeLife.shutdownBegan(startMs);
  if (endMs !== undefined) metrics?.nodeLife.shutdownEnded(endMs);
  return record;
}

/** The code for eviction plugins is loaded only where they are enabled. */
async function evictionPlugins(config: StateletConfig): Promise<typeof openEvictionPlugins | undefined> {
  if (!config.evictionPlugins.enabled) return undefined;
  return (await import('./open-eviction-plugins.ts')).openEvictionPlugins;
}

async function csiOf(
  { nodeName }: StateletConfig,
  cluster: Cluster | undefined,
  { csi }: NodeParts,
): Promise<DaemonParts['csi']> {
  if (cluster === undefined || csi === undefined) return undefined;
  const { openCsi } = await import('../../agent/actors/volumes/open-csi.ts');
  return (core) => openCsi(core, { csi, cluster, nodeName });
}

async function draOf(
  { nodeName }: StateletConfig,
  cluster: Cluster | undefined,
  { dra }: NodeParts,
): Promise<DaemonParts['dra']> {
  if (cluster === undefined || dra === undefined) return undefined;
  const { openDra } = await import('../../agent/actors/dra/open-dra.ts');
  return (core) => openDra(core, { dra, api: cluster.api, nodeName });
}

/** The code for device plugins is loaded only where pods can have devices. The folder of plugins has one watcher. */
async function devicePluginsOf(
  { evictionPlugins: { enabled, registryDir } }: StateletConfig,
  { devices }: NodeParts,
): Promise<DaemonParts['devicePlugins']> {
  if (devices === undefined) return undefined;
  const { openDevicePlugins } = await import('./open-device-plugins.ts');
  return (core, others) =>
    openDevicePlugins(core, { devices, others, registryDir: enabled ? undefined : registryDir });
}

/** Undefined, and the code is not loaded, unless a port of the agent serves metrics. */
async function openMetrics(config: StateletConfig): Promise<AgentMetrics | undefined> {
  if (!opensPorts(config)) return undefined;
  const { AgentMetrics } = await import('../../agent/server/metrics/agent-metrics.ts');
  return new AgentMetrics();
}

/** In a cluster, pods have the addresses that their node reports. */
async function withReportedAddresses(config: StateletConfig): Promise<StateletConfig> {
  if (config.cluster.kubeconfig === '') return config;
  const { reportedNodeIPs } = await import('../../agent/runtime/node/own-addresses.ts');
  const nodeIP = await reportedNodeIPs(config.nodeName, config.node.nodeIP);
  return nodeIP.length === 0 ? config : { ...config, node: { ...config.node, nodeIP } };
}

/** The state log is loaded only when it is wanted: actors are cheaper without inspection. */
async function withStateLog({ logger, inspect, stateLog }: DaemonSettings): Promise<ActorContext['inspect']> {
  if (stateLog === undefined) return inspect;
  const { loggedBefore } = await import('../../agent/actors/pods/state-log.ts');
  return loggedBefore(stateLog, logger, inspect);
}
