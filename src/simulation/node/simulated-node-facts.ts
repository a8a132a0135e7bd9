/** What simulated nodes have room for. */
import type { NodeFacts } from '../../types/node-facts.ts';

/** A node that gives this to its pods. */
export function simulatedNodeFacts(allocatable: NodeFacts['allocatable']): NodeFacts {
  return {
    ...{ name: 'node', os: 'linux', arch: 'amd64', labels: {}, taints: [], conditions: [] },
    ...{ capacity: allocatable, allocatable, supplementalGroupsPolicy: true },
  };
}

/** Nobody is turned away for what is stored: how full a disk is, is another matter. */
const STORAGE = { 'ephemeral-storage': '1Pi' };

/** Room for whatever comes. */
export const ROOMY_NODE = simulatedNodeFacts({
  ...{ cpu: '1000000', memory: '1Pi', pods: '1000000' },
  ...STORAGE,
});

/** How much a node has of what its pods want on average: on some there is room for all. */
const SHARES = [undefined, 0.5, 0.75, 1.1];
/** An agent that starts with other settings has less to give, at times. */
const LIFE_SHARES = [1, 1, 1, 0.7];
const WANTED = { cpu: 750, memory: 300 };
const LEAST = { cpu: 3_000, memory: 2_048 };
const LEAST_PODS = 2;

/** What a node for so many pods has to give in that life of its agent. `random`: in [0, 1), by the key. */
export function drawnNodeFacts(pods: number, random: (key: string) => number, life: number): NodeFacts {
  const share = drawn(SHARES, random('room'));
  if (share === undefined) return ROOMY_NODE;
  const ofLife = drawn(LIFE_SHARES, random(`room/${String(life)}`)) ?? 1;
  const amount = (resource: keyof typeof WANTED) =>
    String(Math.round(ofLife * Math.max(LEAST[resource], share * pods * WANTED[resource])));
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
