/** The policy Static of the memory manager: reserves memory of NUMA nodes for containers of Guaranteed pods. */
import { parseQuantity, type Quantity, quantityValue } from '../formats/quantity.ts';
import { initAndRegular, isRestartableInitContainer } from '../pod-actions/restart.ts';
import { podQOS } from '../pod/qos.ts';
import { podRequests } from '../pod/resources.ts';
import type { TopologyHint, TopologyHints } from '../topology/topology-hint.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import {
  areSame,
  areTogether,
  type NumaMemory,
  type MemoryBlock,
  type NodeMemory,
  sumOf,
  withBlocks,
} from './numa-memory.ts';
import { isMemory } from './reserved-memory.ts';
import { memoryHints, type ReusableMemory, type WantedMemory } from './memory-hints.ts';
import type { MemoryAssignments, MemoryState } from './memory-state.ts';

/** `machine`: with no container on it. */
export function memoryState(machine: NumaMemory, assigned: MemoryAssignments): MemoryState {
  const blocks = [...assigned.values()].flatMap((containers) => [...containers.values()].flat());
  return { machine: withBlocks(machine, blocks), assigned };
}

/** Undefined: no memory is reserved for the container. */
export function blocksOf(
  { assigned }: Pick<MemoryState, 'assigned'>,
  uid: string,
  container: string,
): readonly MemoryBlock[] | undefined {
  return assigned.get(uid)?.get(container);
}

/** Why the state of a former agent cannot be used, with the kubelet's message. `machine`: with no container on it. */
export function memoryStateProblem(machine: NumaMemory, former: MemoryState): string | undefined {
  if (former.machine.size === 0)
    return former.assigned.size > 0
      ? '[memorymanager] machine state can not be empty when it has memory assignments'
      : undefined;
  for (const [uid, containers] of former.assigned)
    for (const [name, blocks] of containers)
      for (const { numaAffinity, type } of blocks) {
        const whose = `[memorymanager] (pod: ${uid}, container: ${name}) the memory assignment uses`;
        const nodes = numaAffinity.map((id) => machine.get(id));
        if (nodes.includes(undefined)) return `${whose} the NUMA that does not exist`;
        if (!nodes.every((node) => node?.memoryMap.has(type)))
          return `${whose} memory resource that does not exist`;
      }
  return isSameMachine(former.machine, memoryState(machine, former.assigned).machine)
    ? undefined
    : '[memorymanager] the expected machine state is different from the real one';
}

/** Nodes of a group may divide the reserved memory in another way. */
function isSameMachine(former: NumaMemory, expected: NumaMemory): boolean {
  const isSameNode = ([id, node]: [number, NodeMemory]) => {
    const other = expected.get(id);
    return (
      other?.numberOfAssignments === node.numberOfAssignments &&
      areSame(other.cells, node.cells) &&
      other.memoryMap.size === node.memoryMap.size &&
      [...node.memoryMap].every(([type, table]) => {
        const wanted = other.memoryMap.get(type);
        return (
          wanted?.total === table.total &&
          wanted.systemReserved === table.systemReserved &&
          wanted.allocatable === table.allocatable &&
          sumOf(former, node.cells, type, 'free') === sumOf(expected, node.cells, type, 'free') &&
          sumOf(former, node.cells, type, 'reserved') === sumOf(expected, node.cells, type, 'reserved')
        );
      })
    );
  };
  return former.size === expected.size && [...former].every(isSameNode);
}

/** Whether memory is to be reserved for the container. */
export function wantsOwnMemory(pod: Pod, container: Container): boolean {
  return wantedMemory(pod, container).size > 0;
}

/** Empty: no memory is to be reserved for the container. */
function wantedMemory(pod: Pod, { resources }: Container): WantedMemory {
  const amounts = Object.entries(resources?.requests ?? {});
  return wantedOf(
    pod,
    amounts.map(([type, amount]) => [type, parseQuantity(amount)]),
  );
}

/** Resources of the pod as a whole reserve no memory of NUMA nodes. */
function wantedOf(pod: Pod, amounts: Iterable<readonly [string, Quantity]>): WantedMemory {
  if (pod.spec.resources !== undefined || podQOS(pod) !== 'Guaranteed') return new Map();
  const sizes = [...amounts]
    .filter(([type]) => isMemory(type))
    .map(([type, amount]): [string, number] => [type, Number(quantityValue(amount))]);
  return new Map(sizes.filter(([, size]) => size > 0));
}

/** Memory of the pod's regular init containers that no container after them has been given. */
function reusableMemory(pod: Pod, state: MemoryState): ReusableMemory {
  const blocks = (pod.spec.initContainers ?? [])
    .filter((container) => !isRestartableInitContainer(container))
    .flatMap(({ name }) => blocksOf(state, pod.metadata.uid, name) ?? []);
  return (nodes, type) =>
    blocks
      .filter((block) => block.type === type && areSame(block.numaAffinity, nodes))
      .reduce((sum, { size }) => sum + size, 0);
}

/** Empty: the container may be on any node, or no set of nodes has enough. */
export function containerHints(state: MemoryState, pod: Pod, container: Container): TopologyHints {
  const wanted = wantedMemory(pod, container);
  const own = blocksOf(state, pod.metadata.uid, container.name);
  if (own) return ownHints(own, wanted);
  return hintsFor(state, wanted, reusableMemory(pod, state));
}

export function podHints(state: MemoryState, pod: Pod): TopologyHints {
  const wanted = wantedOf(pod, podRequests(pod, { excludeOverhead: true }));
  const own = initAndRegular(pod)
    .map(({ name }) => blocksOf(state, pod.metadata.uid, name))
    .find((blocks) => blocks !== undefined);
  return own ? ownHints(own, wanted) : hintsFor(state, wanted, () => 0);
}

function hintsFor({ machine }: MemoryState, wanted: WantedMemory, reusable: ReusableMemory): TopologyHints {
  const hints = wanted.size > 0 ? memoryHints(machine, wanted, reusable) : [];
  return new Map(hints.length > 0 ? Array.from(wanted.keys(), (type) => [type, hints]) : []);
}

/** The nodes on which the container already has memory. They stay, even if its requests have changed. */
function ownHints(own: readonly MemoryBlock[], wanted: WantedMemory): TopologyHints {
  if (own.length !== wanted.size || own.some(({ type, size }) => wanted.get(type) !== size)) return new Map();
  return new Map(own.map(({ type, numaAffinity }) => [type, [{ numaNodes: numaAffinity, preferred: true }]]));
}

/**
 * The assignments with memory for the container; unchanged if it gets none or already has it. Init containers before it lose what
 * it uses again, so that the sum is the pod's. Throws the kubelet's error if there is not enough.
 */
export function withContainer(
  state: MemoryState,
  pod: Pod,
  container: Container,
  hint: TopologyHint | undefined,
): MemoryAssignments {
  const { uid } = pod.metadata;
  const { assigned } = state;
  const wanted = wantedMemory(pod, container);
  if (wanted.size === 0 || blocksOf(state, uid, container.name)) return assigned;
  const numaAffinity = chosenNodes(state.machine, wanted, reusableMemory(pod, state), hint);
  const blocks = Array.from(wanted, ([type, size]) => ({ numaAffinity, type, size }));
  const containers = new Map(assigned.get(uid));
  const missing = new Map(wanted);
  for (const init of pod.spec.initContainers ?? []) {
    const left = containers.get(init.name);
    if (left === undefined || isRestartableInitContainer(init)) continue;
    const rest = left.map((block) => {
      if (!areSame(block.numaAffinity, numaAffinity)) return block;
      const taken = Math.min(block.size, missing.get(block.type) ?? 0);
      missing.set(block.type, (missing.get(block.type) ?? 0) - taken);
      return { ...block, size: block.size - taken };
    });
    containers.set(init.name, rest);
  }
  return new Map(assigned).set(uid, containers.set(container.name, blocks));
}

function chosenNodes(
  machine: NumaMemory,
  wanted: WantedMemory,
  reusable: ReusableMemory,
  hint: TopologyHint | undefined,
): readonly number[] {
  const hints = memoryHints(machine, wanted, reusable);
  const named = hint?.numaNodes;
  if (named === undefined) {
    const [best] = hints;
    if (best === undefined)
      throw new Error(
        '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
      );
    if (hint?.preferred === true && !best.preferred)
      throw new Error('[memorymanager] failed to find the default preferred hint');
    return best.numaNodes;
  }
  const fits = [...wanted].every(([type, size]) => sumOf(machine, named, type, 'free') >= size);
  if (fits && areTogether(machine, named)) return named;
  if (fits && named.length > 1)
    throw new Error('[memorymanager] preferred hint violates NUMA node allocation');
  const extended = hints.find(({ numaNodes }) => named.every((id) => numaNodes.includes(id)));
  if (extended === undefined)
    throw new Error('[memorymanager] failed to find NUMA nodes to extend the current topology hint');
  if (hint?.preferred === true && !extended.preferred)
    throw new Error('[memorymanager] failed to find the extended preferred hint');
  return extended.numaNodes;
}
