/** What simulated nodes have room for. */
import type { NodeFacts } from '../types/node-facts.ts';

/** A node that gives this to its pods. */
export function simulatedNodeFacts(allocatable: NodeFacts['allocatable']): NodeFacts {
  return {
    ...{ name: 'node', os: 'linux', arch: 'amd64', labels: {}, taints: [], conditions: [] },
    ...{ capacity: allocatable, allocatable, supplementalGroupsPolicy: true },
  };
}

/** Room for whatever comes. */
export const ROOMY_NODE = simulatedNodeFacts({ cpu: '1000000', memory: '1Pi', pods: '1000000' });
