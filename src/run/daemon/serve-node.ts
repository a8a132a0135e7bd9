/** Puts together what a daemon serves of its node. Loaded when the node's server is opened, or when a client first asks for its paths. */
import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import { servedAgent } from '../../agent/actors/served-agent.ts';
import { transitionLogSwitch } from '../../agent/actors/pods/state-log.ts';
import { EMBEDDED, type StateletConfig } from '../../agent/config/config.ts';
import { shownConfiguration } from '../../agent/config/shown-configuration.ts';
import { shownFlags } from '../../agent/config/shown-flags.ts';
import { findCgroupMounts } from '../../agent/policies/cgroups/cgroup-mounts.ts';
import { type FeatureGates, isEnabled } from '../../agent/policies/node/feature-gates.ts';
import { claimsOf } from '../../agent/policies/volumes/claimed-volume.ts';
import type { StatsProvider } from '../../agent/runtime/stats/stats-provider.ts';
import { readNodeInfo } from '../../agent/runtime/node/machine-facts.ts';
import type { NodeParts } from '../../agent/runtime/node/pod-node.ts';
import { checkpointRoutes } from '../../agent/server/routes/checkpoint-routes.ts';
import {
  configurationRoutes,
  healthRoutes,
  podRoutes,
  statsRoutes,
  verbosityRoutes,
} from '../../agent/server/routes/node-routes.ts';
import type { AgentCounters } from '../../agent/server/metrics/counters.ts';
import { metricsRoutes } from '../../agent/server/metrics/metrics-routes.ts';
import type { NodeApi } from '../../agent/server/routes/node-api.ts';
import { profileRoutes } from '../../agent/server/routes/profile-routes.ts';
import { containerLogRoutes } from '../../agent/server/routes/container-logs.ts';
import { systemLogRoutes } from '../../agent/server/routes/system-logs.ts';
import type { Route } from '../../agent/server/routes/route.ts';
import { streamingRoutes } from '../../agent/server/streaming/streaming-routes.ts';
import { statusPageRoutes } from '../../agent/server/routes/status-page-routes.ts';
import { systemClock } from '../../system/timer.ts';
import type { Logger } from '../../types/logger.ts';

export interface ServedNode {
  readonly agent: NodeAgent;
  readonly parts: NodeParts;
  readonly config: StateletConfig;
  readonly logger: Logger;
  /** Of the logger. */
  readonly setVerbosity: NodeApi['setVerbosity'];
  /** Whether each transition of a pod is logged since the start, where the level of the logger lets it. */
  readonly logsTransitions: boolean;
  readonly stats: () => Promise<StatsProvider>;
  readonly counted: AgentCounters | undefined;
  readonly certificateEnds: NodeApi['certificateEnds'];
}

export function nodeApi(node: ServedNode): NodeApi {
  const { agent, parts, config, stats, counted, certificateEnds } = node;
  const { supervisor } = agent;
  return {
    ...servedAgent(agent),
    nodeName: config.nodeName,
    rootDir: config.rootDir,
    streamingIdleMs: config.server.streamingConnectionIdleTimeoutMs,
    podLogsDir: config.podLogsDir,
    runtime: parts.runtime,
    isSystemLogQueryEnabled: config.server.enableSystemLogQuery,
    cgroupVersion: machineCgroupVersion(),
    configuration: () => shownConfiguration(config),
    flags: () => shownFlags(config),
    setVerbosity: verbositySwitch(node),
    summary: async (options) => (await stats()).summary(options),
    groupFigures: async () => (await stats()).groupFigures(),
    machine: measuredMachine(),
    claimFigures: async () =>
      [...supervisor.desired.pods()].some((pod) => claimsOf(pod).length > 0)
        ? (await stats()).claimFigures()
        : [],
    logFigures: async () => (await stats()).logFigures(),
    metricsProvider:
      config.containerRuntimeEndpoint === EMBEDDED || !config.node.cgroupsPerQOS ? 'cri' : 'cadvisor',
    claimedVolume: parts.claimedVolume ?? (() => undefined),
    agentCounters: counted,
    certificateEnds,
  };
}

/** Read when it is first asked for: it stays as it is until the next boot. */
function measuredMachine(): NodeApi['machine'] {
  let machine: ReturnType<NodeApi['machine']> | undefined;
  const read = async () => ({
    ...(await readNodeInfo()),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
  });
  return () => (machine ??= read());
}

/** It is read when it is first asked for: no machine changes it. */
function machineCgroupVersion(): NodeApi['cgroupVersion'] {
  let found: ReturnType<typeof findCgroupMounts> | undefined;
  return () => (found ??= findCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'))).version;
}

/** The verbosity of klog at which transitions are logged. */
const TRANSITIONS_VERBOSITY = 4;

function verbositySwitch(node: ServedNode): NodeApi['setVerbosity'] {
  const { agent, logger, logsTransitions } = node;
  const logTransitions = transitionLogSwitch(agent.supervisor.actor, logger);
  return (level) => {
    node.setVerbosity(level);
    if (!logsTransitions) logTransitions(level >= TRANSITIONS_VERBOSITY);
  };
}

/** All paths of the node's server, but for those of features that are off. */
export function nodeRoutes(api: NodeApi, gates: FeatureGates = {}): readonly Route[] {
  const off = Object.entries(FEATURES).flatMap(([path, gate]) => (isEnabled(gate, gates) ? [] : [path]));
  return allRoutes(api).filter(({ path }) => !off.some((root) => path.startsWith(root)));
}

const FEATURES = {
  '/flagz': 'ComponentFlagz',
  '/statusz': 'ComponentStatusz',
  '/checkpoint/': 'ContainerCheckpoint',
} as const;

function allRoutes(api: NodeApi): readonly Route[] {
  return [
    ...healthRoutes(api),
    ...containerLogRoutes(api),
    ...streamingRoutes(api),
    ...systemLogRoutes(api),
    ...metricsRoutes(api),
    ...podRoutes(api),
    ...statsRoutes(api),
    ...configurationRoutes(api),
    ...statusPageRoutes(api, systemClock),
    ...checkpointRoutes(api, systemClock),
    ...verbosityRoutes(api),
    ...profileRoutes(systemClock),
  ];
}
