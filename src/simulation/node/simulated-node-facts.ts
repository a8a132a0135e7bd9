/** The resources of simulated nodes. */
import type { NodeFacts } from '../../types/node-facts.ts';

/** A node with this much for its pods. */
export function simulatedNodeFacts(allocatable: NodeFacts['allocatable']): NodeFacts {
  return {
    name: 'node',
    os: 'linux',
    arch: 'amd64',
    labels: {},
    taints: [],
    conditions: [],
    capacity: allocatable,
    allocatable,
    supplementalGroupsPolicy: true,
  };
}

/** No pod is rejected for its storage request. How full the disks get is simulated apart from that. */
const STORAGE = { 'ephemeral-storage': '1Pi' };

/** A node that is large enough for all pods. */
export const ROOMY_NODE = simulatedNodeFacts({
  cpu: '1000000',
  memory: '1Pi',
  pods: '1000000',
  ...STORAGE,
});

/** The share of its pods' average requests that a node has. Undefined: the node is large enough for all pods. */
const SHARES = [undefined, 0.5, 0.75, 1.1];
/** Some agents are started with settings that leave less for pods. */
const AGENT_SHARES = [1, 1, 1, 0.7];
/** The average requests of a pod, in millicores and MiB. */
const WANTED = { cpu: 750, memory: 300 };
const LEAST = { cpu: 3_000, memory: 2_048 };
const LEAST_PODS = 2;

/** A node for that many pods. `ordinal`: 1 for the node's first agent. `random`: in [0, 1), by the key. */
export function drawnNodeFacts(pods: number, random: (key: string) => number, ordinal: number): NodeFacts {
  const share = drawn(SHARES, random('room'));
  if (share === undefined) return ROOMY_NODE;
  const ofAgent = drawn(AGENT_SHARES, random(`room/${String(ordinal)}`)) ?? 1;
  const amount = (resource: keyof typeof WANTED) =>
    String(Math.round(ofAgent * Math.max(LEAST[resource], share * pods * WANTED[resource])));
  return simulatedNodeFacts({
    cpu: `${amount('cpu')}m`,
    memory: `${amount('memory')}Mi`,
    pods: String(Math.max(LEAST_PODS, Math.ceil((0.3 + share) * pods))),
    ...STORAGE,
  });
}

function drawn<T>(items: readonly T[], chance: number): T | undefined {
  return items[Math.floor(chance * items.length)];
}
