/** Which simulated nodes keep CPUs and memory for containers, on which machines, and which pods ask for that. */
import type { CpuOptions } from '../../agent/policies/cpus/cpu-choice.ts';
import { type CpuTopology, cpuTopology } from '../../agent/policies/cpus/cpu-topology.ts';
import { emptyMachine, type NumaMemory } from '../../agent/policies/memory-manager/numa-memory.ts';
import type { NumaNodes, TopologyPolicy } from '../../agent/policies/topology/merge-hints.ts';
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import { pick } from '../plugins/plugins-plan.ts';
import type { KeyedRandom } from '../resources/growth.ts';

export interface PlacementPlan {
  readonly cpus: CpuTopology;
  readonly numa: NumaNodes;
  readonly options: CpuOptions;
  readonly reserved: readonly number[];
  readonly policy: TopologyPolicy;
  readonly scope: 'container' | 'pod';
  /** The memory of the empty node; undefined: no memory is kept for containers. */
  readonly memory: NumaMemory | undefined;
}

export interface MachineShape {
  readonly sockets: number;
  readonly nodesPerSocket: number;
  readonly coresPerNode: number;
  readonly cpusPerCore: number;
}

const SHAPES: readonly MachineShape[] = [
  { sockets: 1, nodesPerSocket: 1, coresPerNode: 5, cpusPerCore: 1 },
  { sockets: 1, nodesPerSocket: 1, coresPerNode: 4, cpusPerCore: 2 },
  // So small that pods do not fit on one NUMA node.
  { sockets: 2, nodesPerSocket: 1, coresPerNode: 2, cpusPerCore: 1 },
  { sockets: 2, nodesPerSocket: 1, coresPerNode: 3, cpusPerCore: 2 },
  { sockets: 2, nodesPerSocket: 2, coresPerNode: 2, cpusPerCore: 2 },
];
const POLICIES: readonly TopologyPolicy[] = ['none', 'best-effort', 'restricted', 'single-numa-node'];

const SHARE = 0.2;
const MEMORY_SHARE = 0.5;
const PIN_SHARE = 0.6;
const MIB = 2 ** 20;
const NODE_MIB = 1536;
const RESERVED_MIB = 256;
/** Whole CPUs and others; few, so that several pods fit. */
const AMOUNTS = ['1', '1', '2', '3', '500m'];

/** Undefined for a node on which containers share all CPUs and memory. */
export function drawnPlacement(random: KeyedRandom): PlacementPlan | undefined {
  if (random('placement') >= SHARE) return undefined;
  const shape = pick(SHAPES, random('placement/machine'));
  const cpus = machineOf(shape);
  const isOn = (option: string) => random(`placement/${option}`) < 0.3;
  const nodes = cpus.nodes.map((node) => [node, new Map([['memory', NODE_MIB * MIB]])] as const);
  const kept = cpus.nodes.map((node) => [node, new Map([['memory', RESERVED_MIB * MIB]])] as const);
  return {
    cpus,
    numa: numaOf(cpus),
    options: {
      'full-pcpus-only': isOn('full-pcpus-only'),
      'strict-cpu-reservation': isOn('strict-cpu-reservation'),
      'distribute-cpus-across-numa': isOn('distribute-cpus-across-numa'),
      'align-by-socket': false,
      'distribute-cpus-across-cores': false,
      'prefer-align-cpus-by-uncorecache': false,
    },
    reserved: cpus.cpus.slice(0, 1),
    policy: pick(POLICIES, random('placement/policy')),
    scope: pick(['container', 'pod'] as const, random('placement/scope')),
    memory:
      random('placement/memory') < MEMORY_SHARE ? emptyMachine(new Map(nodes), new Map(kept)) : undefined,
  };
}

/** All NUMA nodes are equally far from each other. */
export function numaOf({ nodes }: Pick<CpuTopology, 'nodes'>): NumaNodes {
  return { ids: nodes, distances: nodes.map((a) => nodes.map((b) => (a === b ? 10 : 20))) };
}

/** The CPUs of one core do not have successive numbers, as on most machines. */
export function machineOf({ sockets, nodesPerSocket, coresPerNode, cpusPerCore }: MachineShape): CpuTopology {
  const cores = sockets * nodesPerSocket * coresPerNode;
  const facts = Array.from({ length: cores * cpusPerCore }, (_, cpu) => {
    const core = cpu % cores;
    const node = Math.floor(core / coresPerNode);
    const packageId = Math.floor(node / nodesPerSocket);
    return { cpu, coreId: core, packageId, node, cacheCpus: undefined };
  });
  return cpuTopology(facts);
}

/** The spec of a pod on such a node, by its UID. Most pods are Guaranteed, and ask for whole CPUs in some of their containers. */
export function withOwnCpus(spec: PodSpec, uid: string, random: KeyedRandom): PodSpec {
  const drawn = (what: string) => random(`placement/pod/${uid}/${what}`);
  if (drawn('asks') >= PIN_SHARE) return spec;
  const pinned = (container: Container): Container => {
    const amounts = { cpu: pick(AMOUNTS, drawn(container.name)), memory: `${String(NODE_MIB / 6)}Mi` };
    return { ...container, resources: { requests: amounts, limits: amounts } };
  };
  return {
    ...spec,
    ...(spec.initContainers && { initContainers: spec.initContainers.map(pinned) }),
    containers: spec.containers.map(pinned),
  };
}
