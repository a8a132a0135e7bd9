/** Builds the agent of the daemon's node: with its sources of pods, its part in a cluster, eviction and plugins. */
import { map, type Observable } from 'rxjs';
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import type { NodeDevicePlugins } from '../../agent/actors/devices/node-device-plugins.ts';
import type { NodeDra } from '../../agent/actors/dra/node-dra.ts';
import type { NodeCsi } from '../../agent/actors/volumes/node-csi.ts';
import type { PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import type { EvictionParts } from '../../agent/actors/eviction/eviction-figures.ts';
import { NodeAgent } from '../../agent/actors/node-agent.ts';
import { EMBEDDED, type StateletConfig } from '../../agent/config/config.ts';
import { evictionThresholds } from '../../agent/config/load-eviction-settings.ts';
import type { SupervisorEvent } from '../../agent/machines/supervisor-machine.ts';
import { nodeAgentOptions } from '../open-node.ts';
import { podSources } from '../pod-sources.ts';
import type { PodSource } from '../../agent/policies/pod-actions/wanted-pods.ts';
import { channelEvent, inBatches, podConfig, type PodSources } from '../../agent/sources/pod-config.ts';
import { problemText, type SourceProblem } from '../../agent/sources/source.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { DaemonStats } from './daemon-stats.ts';
import type { DaemonParts } from './daemon-parts.ts';

export function daemonAgent(own: DaemonParts, stats: DaemonStats): NodeAgent {
  const { context, config, parts, facts, cluster, endedPods, askPlugins, shutdownRecord } = own;
  const { devicePlugins: openDevicePlugins, csi: openCsi, dra: openDra } = own;
  const sources = {
    ...podSources(config, { keepsLastGood: true, objects: own.localObjects }),
    ...(cluster && { api: cluster.pods }),
  };
  let devicePlugins: NodeDevicePlugins | undefined;
  let csi: NodeCsi | undefined;
  let dra: NodeDra | undefined;
  const driverHandlers = (): PluginHandlers => new Map([...(csi?.handlers ?? []), ...(dra?.handlers ?? [])]);
  const blocked = new Map<PodSource, readonly SourceProblem[]>();
  const agent: NodeAgent = new NodeAgent(context, {
    ...nodeAgentOptions(config, { parts, facts }),
    sources: Object.keys(sources),
    configuration: configuration(context, sources, blocked),
    sourceProblem: () => [...blocked.values()].flat().map(problemText).join('; ') || undefined,
    endedPods,
    instanceCounts: own.instanceCounts,
    shutdownRecord,
    cluster: cluster && ((core: AgentCore) => cluster.join(core, facts, parts.devices)),
    objectChanges: own.objects?.changes,
    csi: openCsi && ((core) => (csi = openCsi(core))),
    dra: openDra && ((core) => (dra = openDra(core))),
    devicePlugins:
      openDevicePlugins && ((core) => (devicePlugins = openDevicePlugins(core, driverHandlers()))),
    plugins:
      askPlugins &&
      ((core: AgentCore) =>
        askPlugins(core, {
          config,
          nodeFacts: () => agent.nodeFacts(),
          stats: () => stats.provider(),
          cluster,
          handlers: new Map([...(devicePlugins?.handlers ?? []), ...driverHandlers()]),
        })),
    eviction: {
      configuration: evictionConfiguration(config),
      stats: () => stats.provider(),
    },
  });
  if (own.flightRecorder) agent.transitions.subscribe(own.flightRecorder.record);
  return agent;
}

/** `blocked` is kept up to date: the files by which each source is blocked now. */
function configuration(
  { clock, recorder, logger }: AgentContext,
  sources: PodSources,
  blocked: Map<PodSource, readonly SourceProblem[]>,
): Observable<SupervisorEvent> {
  return podConfig(sources, {
    now: () => clock.now(),
    recorder,
    onProblem: (problem) => logger.warn({ source: problem.source }, problemText(problem)),
    onBlocked: (source, problems) => {
      const files = new Set(problems.map(({ file }) => file));
      for (const { file } of blocked.get(source) ?? [])
        if (!files.has(file)) logger.info({ source }, `${file ?? source}: blocks its reader no more`);
      blocked.set(source, problems);
    },
  }).pipe(inBatches(), map(channelEvent));
}

/** The settings of eviction. Where pods have cgroups, these are limited to allocatable, and pods are evicted before that is used up. */
function evictionConfiguration(config: StateletConfig): EvictionParts['configuration'] {
  const hasCgroups = config.containerRuntimeEndpoint !== EMBEDDED && config.node.cgroupsPerQOS;
  return {
    thresholds: evictionThresholds(config, hasCgroups ? config.node.enforceNodeAllocatable : []),
    pressureTransitionPeriodMs: config.evictionPressureTransitionPeriodMs,
    maxPodGracePeriodSeconds: config.evictionMaxPodGracePeriod,
    localStorageCapacityIsolation: config.localStorageCapacityIsolation,
  };
}
