/** The keeping of CPUs and memory for containers, broken. */
import type { Mutant } from './mutant.ts';

const CPU_STATE = 'src/agent/policies/cpus/cpu-state.ts';
const CPUS = 'src/agent/policies/cpus/static-cpus.ts';
const CPU_MANAGER = 'src/agent/runtime/cpus/cpu-manager.ts';
const UPDATES = 'src/agent/runtime/cpus/cpuset-updates.ts';
const NUMA_MEMORY = 'src/agent/policies/memory-manager/numa-memory.ts';
const MEMORY_MANAGER = 'src/agent/runtime/memory-manager/memory-manager.ts';
const TOPOLOGY = 'src/agent/runtime/topology/topology-manager.ts';

export const PLACEMENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'own-cpus-shared',
    breaks: 'CPUs that a container has for itself are given to another one (placement)',
    file: CPU_STATE,
    find: `    shared: without(state.shared, cpus),
    assigned: new Map(state.assigned).set(uid, ofPod),`,
    replace: `    shared: state.shared,
    assigned: new Map(state.assigned).set(uid, ofPod),`,
  },
  {
    name: 'reserved-cpus-given',
    breaks: 'CPUs that are reserved for the node are given to containers (placement)',
    file: CPUS,
    find: `  return without(state.shared, alwaysShared(policy, state));`,
    replace: `  return alwaysShared(policy, state).length >= 0 ? state.shared : [];`,
  },
  {
    name: 'cpus-not-written',
    breaks: 'A next agent does not know whose the CPUs are, and gives them away (placement)',
    file: CPU_MANAGER,
    find: `    return this.#file.isSaved(this.#state) ? undefined : this.#save();`,
    replace: `    return undefined;`,
  },
  {
    name: 'cpus-kept-for-ever',
    breaks: 'A pod that has ended keeps its CPUs (placement)',
    file: CPU_MANAGER,
    find: `    if (this.holds(uid)) this.#become(withoutPod(this.#state, uid));`,
    replace: `    if (!this.holds(uid)) this.#become(withoutPod(this.#state, uid));`,
  },
  {
    name: 'shared-cpusets-stay',
    breaks: 'Containers that share CPUs go on running on those that another one has for itself (placement)',
    file: UPDATES,
    find: `    if (cpuset === '' || (last?.id === id && last.cpuset === cpuset)) return;`,
    replace: `    if (cpuset === '' || last?.id === id) return;`,
  },
  {
    name: 'memory-over-allocated',
    breaks: 'More memory of a NUMA node is kept for containers than it has (placement)',
    file: NUMA_MEMORY,
    find: `    free: table.free - taken,`,
    replace: `    free: table.free,`,
  },
  {
    name: 'memory-kept-for-ever',
    breaks: 'A pod that has ended keeps its memory (placement)',
    file: MEMORY_MANAGER,
    find: `      assigned.delete(uid);`,
    replace: ``,
  },
  {
    name: 'topology-policy-ignored',
    breaks: 'With single-numa-node a container has CPUs of several NUMA nodes (placement)',
    file: TOPOLOGY,
    find: `    if (isAdmitted) return hint;`,
    replace: `    if (isAdmitted || hint.preferred || policy.length > 0) return hint;`,
  },
];
