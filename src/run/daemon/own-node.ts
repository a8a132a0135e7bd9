/** The node's own object: how it is made, and its present state without an API server. Loaded in a cluster, or for a request. */
import type { StateletConfig } from '../../agent/config/config.ts';
import { initialNode, type RegistrationSettings } from '../../agent/policies/node/initial-node.ts';
import { buildNodeStatus, NO_EVENTS_SENT } from '../../agent/policies/node/node-status.ts';
import { StatusFacts, type StatusFactsParts } from '../../agent/runtime/node/status-facts.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { Node } from '../../types/kubernetes.ts';
import type { OwnNodeFacts } from '../../types/node-facts.ts';

/** What only a running agent knows of its node. */
export type AgentFacts = Pick<
  StatusFactsParts,
  'runtime' | 'facts' | 'conditions' | 'health' | 'devices' | 'volumesInUse' | 'port'
>;

export function statusFactsParts(config: StateletConfig, agent: AgentFacts): StatusFactsParts {
  const { node, cluster, maxPods, podsPerCore, extendedResources } = config;
  return {
    ...agent,
    nodeIPs: node.nodeIP,
    externalCloudProvider: cluster.cloudProvider === 'external',
    maxPods,
    podsPerCore,
    extendedResources,
    reservations: config,
    maxImages: cluster.nodeStatusMaxImages,
  };
}

export function registrationOf(config: StateletConfig, { os, arch }: OwnNodeFacts): RegistrationSettings {
  const { cluster, nodeName, nodeLabels, registerWithTaints } = config;
  return {
    nodeName,
    hostname: nodeName,
    os,
    arch,
    nodeLabels,
    registerWithTaints,
    registerSchedulable: cluster.registerSchedulable,
    externalCloudProvider: cluster.cloudProvider === 'external',
    providerID: cluster.providerID,
    controllerManagedAttach: true,
  };
}

/** As it would be registered. The times of its conditions are not known: they have none. */
export async function ownNode(
  context: AgentContext,
  config: StateletConfig,
  agent: AgentFacts,
): Promise<Node> {
  const facts = await StatusFacts.once(context, statusFactsParts(config, agent));
  const { node } = buildNodeStatus(initialNode(registrationOf(config, agent.facts)), facts, NO_EVENTS_SENT);
  const conditions = (node.status?.conditions ?? []).map(({ type, status, reason, message }) => ({
    type,
    status,
    reason,
    message,
  }));
  return { ...node, status: { ...node.status, conditions } };
}
