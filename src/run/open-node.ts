/** Opens the node that a configuration describes, and says what its agent is made from: for the daemon and for run-once. */
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeAgent } from '../agent/actors/node-agent.ts';
import type { NodeAgentOptions } from '../agent/actors/node/node-agent-options.ts';
import { EMBEDDED, type StateletConfig } from '../agent/config/config.ts';
import { makeFolder } from '../system/make-folder.ts';
import { nodeAddresses, readNodeFacts, startsAtOnce } from '../agent/runtime/node/node-addresses.ts';
import type { NodeParts } from '../agent/runtime/node/pod-node.ts';
import type { CredentialProviderConfig } from '../agent/policies/images/credential-provider-config.ts';
import type { RuntimeClasses } from '../agent/policies/cri/sandbox-config.ts';
import { shutdownPeriods } from '../agent/policies/termination/shutdown-periods.ts';
import { isOutOfSpace } from '../system/system-errors.ts';
import type { AgentContext } from '../types/agent-context.ts';
import type { ApiObjects, ResourceClaimObjects, StorageObjects } from '../types/api-objects.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { Logger } from '../types/logger.ts';
import type { OwnNodeFacts } from '../types/node-facts.ts';

/** How long an agent that stops waits for calls to the runtime that are under way. */
const STOP_LIMIT_MS = 2_000;

export interface Node {
  readonly facts: OwnNodeFacts;
  readonly parts: NodeParts;
}

/** What a node in a cluster gets from the API server, and in part from manifests without one. */
export interface ClusterServices {
  readonly runtimeClasses?: RuntimeClasses;
  readonly objects?: ApiObjects;
  /** Without it, no CSI driver serves the node. */
  readonly storage?: StorageObjects | undefined;
  /** Without it, no DRA driver serves the node. */
  readonly resourceClaims?: ResourceClaimObjects | undefined;
}

/** The root folder must exist. Rejects where this machine cannot be such a node. */
export async function openNode(
  config: StateletConfig,
  context: AgentContext,
  services: ClusterServices = {},
): Promise<Node> {
  const { logger } = context;
  await makePodLogsDir(config, logger);
  const facts = await readNodeFacts(config);
  const { capacity, allocatable } = facts;
  logger.debug({ capacity: amountsText(capacity), allocatable: amountsText(allocatable) }, 'Node resources');
  return { facts, parts: await openParts(config, context, { facts, ...services }) };
}

/** On a full disk the agent goes on, so that it can remove what is not needed; the folder is made again when a pod starts. */
async function makePodLogsDir({ podLogsDir }: StateletConfig, logger: Logger): Promise<void> {
  try {
    await makeFolder(podLogsDir);
  } catch (error) {
    const problem = `podLogsDir ${podLogsDir} cannot be made: ${errorMessage(error)}`;
    if (!isOutOfSpace(error)) {
      const mend = 'name a folder in the --config file that this user may write';
      throw new StateletError('InvalidArgument', `${problem}: ${mend}`, { cause: error });
    }
    logger.warn({}, problem);
  }
}

/** As in flags: `cpu=2,memory=4Gi`. */
function amountsText(amounts: Readonly<Record<string, string>>): string {
  return Object.entries(amounts)
    .map((pair) => pair.join('='))
    .join(',');
}

/** Loads only the runtime that is used. */
async function openParts(
  config: StateletConfig,
  context: AgentContext,
  { facts, runtimeClasses, objects, storage, resourceClaims }: ClusterServices & Pick<Node, 'facts'>,
): Promise<NodeParts> {
  const { containerRuntimeEndpoint: endpoint, node, rootDir, podLogsDir, nodeName } = config;
  const hostIPs = nodeAddresses(node.nodeIP);
  const { refuseRunningContainers, refuseRunningProcesses } =
    await import('../embedded/running-processes.ts');
  if (endpoint === EMBEDDED) {
    await refuseRunningContainers(rootDir);
    const { openProcessNode } = await import('../embedded/process-node.ts');
    const { openProcessCgroups } = await import('../embedded/process-cgroups.ts');
    const ofCgroups = { facts, reservations: config, settings: node, rootDir };
    return openProcessNode(context, {
      rootDir,
      podLogsDir,
      hostIPs,
      allocatable: facts.allocatable,
      clusterDomain: node.clusterDomain,
      objects,
      embeddedVolumes: config.embeddedVolumes,
      cgroups: await openProcessCgroups(context, ofCgroups),
      settings: node,
      requestTimeoutMs: node.runtimeRequestTimeoutMs,
    });
  }
  await refuseRunningProcesses(rootDir, endpoint);
  const { openCriNode } = await import('../agent/runtime/node/open-cri-node.ts');
  return openCriNode(context, {
    credentialProviders: await credentialProviders(config),
    endpoint,
    rootDir,
    podLogsDir,
    nodeName,
    hostIPs,
    facts,
    reservations: config,
    settings: node,
    runtimeClasses,
    objects,
    storage,
    resourceClaims,
  });
}

/** Undefined where no plugins are configured. Rejects if their configuration is not valid. */
async function credentialProviders({ node }: StateletConfig): Promise<CredentialProviderConfig | undefined> {
  const { imageCredentialProviderConfig: path, imageCredentialProviderBinDir: binDir } = node;
  if (path === '' && binDir === '') return undefined;
  const { loadCredentialProviders } = await import('../agent/config/load-credential-providers.ts');
  return loadCredentialProviders(path, binDir);
}

/** The options of an agent, without its sources of pods. */
export function nodeAgentOptions(
  config: StateletConfig,
  { parts, facts }: Node,
): Omit<NodeAgentOptions, 'sources' | 'configuration'> {
  const { syncFrequencyMs, preemptionLowerPriorityFirst, node } = config;
  const { maximumDeadContainersPerContainer, nodeIP } = node;
  return {
    parts,
    syncFrequencyMs,
    maxContainerRestartPeriodMs: config.maxContainerRestartPeriodMs,
    initialContainerRestartPeriodMs: config.initialContainerRestartPeriodMs,
    preemptionLowerPriorityFirst,
    shutdownPeriods: shutdownPeriods(config.shutdown),
    maximumDeadContainersPerContainer,
    nodeFacts: () => facts,
    hostIPs: nodeAddresses(nodeIP),
    startsAtOnce: startsAtOnce(),
  };
}

/** Stops the agent; its pods keep running. Once this resolves no container is being started, unless the runtime does not answer. */
export async function leavePodsRunning(agent: NodeAgent): Promise<void> {
  await withinStopLimit(agent.stop());
}

/** Waits for the work, but not longer than an agent that stops may wait for a runtime that hangs. */
export async function withinStopLimit(work: Promise<void>): Promise<void> {
  await Promise.race([work, delay(STOP_LIMIT_MS, undefined, { ref: false })]);
}
