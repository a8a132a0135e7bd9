/** The static policy of the CPU manager: containers of Guaranteed pods that request whole CPUs get them exclusively. */
import { milliValue, parseQuantity } from '../formats/quantity.ts';
import { initAndRegular, isRestartableInitContainer } from '../pod-actions/restart.ts';
import { podQOS } from '../pod/qos.ts';
import type { TopologyHint } from '../topology/topology-hint.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { type CpuOptions, packedCpus } from './cpu-choice.ts';
import { distributedCpus } from './cpu-distribution.ts';
import { cpuHints } from './cpu-hints.ts';
import { both, type CpuSet, cpuSetString, isSameSet, union, without } from './cpu-set.ts';
import { assignedCpus, type CpuState, exclusiveCpus, withCpus } from './cpu-state.ts';
import { cpusIn, type CpuTopology, partNumbers } from './cpu-topology.ts';

export interface StaticCpus {
  readonly topology: CpuTopology;
  readonly options: CpuOptions;
  /** No container gets them exclusively. */
  readonly reserved: CpuSet;
}

/** The CPUs of the lowest cores, unless the settings name others. */
export function reservedCpus(topology: CpuTopology, options: CpuOptions, milliCPU: bigint): CpuSet {
  return choose({ topology, options, reserved: [] }, topology.cpus, Math.ceil(Number(milliCPU) / 1000));
}

/** All CPUs, or with strict-cpu-reservation those that are not reserved, are shared at first. */
export function initialState({ topology, options, reserved }: StaticCpus): CpuState {
  const isStrict = options['strict-cpu-reservation'];
  return { shared: isStrict ? without(topology.cpus, reserved) : topology.cpus, assigned: new Map() };
}

/** Why the state of a former agent cannot be used, with the kubelet's message. */
export function stateProblem(
  { topology, options, reserved }: StaticCpus,
  state: CpuState,
): string | undefined {
  const { shared, assigned } = state;
  const isStrict = options['strict-cpu-reservation'];
  const kept = both(reserved, shared);
  // A former agent may have given all away.
  if (shared.length === 0 && !(isStrict && assigned.size > 0)) return 'default cpuset cannot be empty';
  if (isStrict && kept.length > 0)
    return `some of strictly reserved cpus: "${cpuSetString(kept)}" are present in defaultCpuSet: "${cpuSetString(shared)}"`;
  if (!isStrict && kept.length < reserved.length)
    return `not all reserved cpus: "${cpuSetString(reserved)}" are present in defaultCpuSet: "${cpuSetString(shared)}"`;
  for (const [uid, containers] of assigned)
    for (const [name, cpus] of containers)
      if (both(cpus, shared).length > 0)
        return `pod: ${uid}, container: ${name} cpuset: "${cpuSetString(cpus)}" overlaps with default cpuset "${cpuSetString(shared)}"`;
  const known = union(shared, exclusiveCpus(state), isStrict ? reserved : []);
  if (isSameSet(known, topology.cpus)) return undefined;
  return `current set of available CPUs "${cpuSetString(topology.cpus)}" doesn't match with CPUs in state "${cpuSetString(known)}"`;
}

/** How many exclusive CPUs the container gets; 0: it shares CPUs. Resources of the pod as a whole give none. */
export function exclusiveCount(pod: Pod, container: Container): number {
  const request = container.resources?.requests?.cpu;
  if (request === undefined || pod.spec.resources !== undefined || podQOS(pod) !== 'Guaranteed') return 0;
  const milliCPU = milliValue(parseQuantity(request));
  return milliCPU % 1000n === 0n ? Number(milliCPU / 1000n) : 0;
}

/** How many exclusive CPUs the pod has at most at the same time: regular init containers leave theirs to later containers. */
export function podExclusiveCount(pod: Pod): number {
  let [sidecars, most] = [0, 0];
  for (const container of pod.spec.initContainers ?? []) {
    const count = exclusiveCount(pod, container);
    if (isRestartableInitContainer(container)) sidecars += count;
    else most = Math.max(most, sidecars + count);
  }
  const regular = pod.spec.containers.reduce((sum, each) => sum + exclusiveCount(pod, each), 0);
  return Math.max(most, sidecars + regular);
}

/** CPUs of the pod's regular init containers that no container after them has been given. */
function reusableCpus(pod: Pod, state: CpuState): CpuSet {
  const isInit = new Set(
    (pod.spec.initContainers ?? [])
      .filter((each) => !isRestartableInitContainer(each))
      .map(({ name }) => name),
  );
  let reusable: CpuSet = [];
  for (const { name } of initAndRegular(pod)) {
    const cpus = assignedCpus(state, pod.metadata.uid, name) ?? [];
    reusable = isInit.has(name) ? union(reusable, cpus) : without(reusable, cpus);
  }
  return reusable;
}

/** Undefined: the container gets no exclusive CPUs. */
export function containerHints(
  policy: StaticCpus,
  state: CpuState,
  pod: Pod,
  container: Container,
): readonly TopologyHint[] | undefined {
  const count = exclusiveCount(pod, container);
  if (count === 0) return undefined;
  const own = assignedCpus(state, pod.metadata.uid, container.name);
  if (own) return own.length === count ? hints(policy, own, [], count) : [];
  return hints(policy, free(policy, state), reusableCpus(pod, state), count);
}

export function podHints(policy: StaticCpus, state: CpuState, pod: Pod): readonly TopologyHint[] | undefined {
  const count = podExclusiveCount(pod);
  if (count === 0) return undefined;
  const { uid } = pod.metadata;
  const isChanged = initAndRegular(pod).some((container) => {
    const own = assignedCpus(state, uid, container.name);
    return own !== undefined && own.length !== exclusiveCount(pod, container);
  });
  if (isChanged) return [];
  const own = exclusiveCpus(state, uid);
  if (own.length === count) return hints(policy, own, [], count);
  return hints(policy, free(policy, state), own, count);
}

function hints({ topology, options }: StaticCpus, available: CpuSet, reusable: CpuSet, count: number) {
  const alignsBySocket = options['align-by-socket'];
  return cpuHints(topology, { available, reusable, count, alignsBySocket });
}

/** CPUs that a container may get exclusively. */
export function free(policy: StaticCpus, state: CpuState): CpuSet {
  return without(state.shared, alwaysShared(policy, state));
}

/**
 * CPUs that no container gets exclusively. With strict-cpu-reservation one more CPU than the reserved ones stays shared, since
 * other containers have to run somewhere: preferably one on the core of a reserved CPU, which makes no whole core anyway.
 */
function alwaysShared({ topology, options, reserved }: StaticCpus, { shared }: CpuState): CpuSet {
  if (!options['strict-cpu-reservation']) return reserved;
  const beside = cpusIn(topology, 'core', partNumbers(topology, 'core', reserved), shared);
  return union(reserved, [...beside, ...shared].slice(0, 1));
}

/** The state with exclusive CPUs for the container; unchanged if it gets none or has them already. Throws NotEnoughCpus. */
export function withContainer(
  policy: StaticCpus,
  state: CpuState,
  pod: Pod,
  container: Container,
  numaNodes: readonly number[] | undefined,
): CpuState {
  const { uid } = pod.metadata;
  const count = exclusiveCount(pod, container);
  if (count === 0 || assignedCpus(state, uid, container.name)) return state;
  const available = union(free(policy, state), reusableCpus(pod, state));
  const near = numaNodes ? aligned(policy, numaNodes, available) : [];
  const first = choose(policy, near, Math.min(count, near.length));
  const rest = choose(policy, without(available, first), count - first.length);
  return withCpus(state, uid, container.name, union(first, rest));
}

/** With align-by-socket, all CPUs of the sockets of these nodes. */
function aligned({ topology, options }: StaticCpus, nodes: readonly number[], available: CpuSet): CpuSet {
  if (!options['align-by-socket']) return cpusIn(topology, 'node', nodes, available);
  const sockets = partNumbers(topology, 'socket', cpusIn(topology, 'node', nodes, topology.cpus));
  return cpusIn(topology, 'socket', sockets, available);
}

function choose({ topology, options }: StaticCpus, available: CpuSet, count: number): CpuSet {
  if (!options['distribute-cpus-across-numa']) return packedCpus(topology, available, count, options);
  const group = options['full-pcpus-only'] ? topology.cpusPerCore : 1;
  return distributedCpus(topology, available, count, group, options);
}

export interface SmtProblem {
  readonly message: string;
  /** However many cores are free. */
  readonly isForGood: boolean;
}

/** Why the container cannot have whole cores, with the option full-pcpus-only: an SMTAlignmentError. */
export function smtProblem(
  policy: StaticCpus,
  state: CpuState,
  pod: Pod,
  container: Container,
): SmtProblem | undefined {
  const { topology, options } = policy;
  const count = exclusiveCount(pod, container);
  const isGiven = assignedCpus(state, pod.metadata.uid, container.name) !== undefined;
  if (!options['full-pcpus-only'] || count === 0 || isGiven) return undefined;
  const { cpusPerCore } = topology;
  if (count % cpusPerCore !== 0)
    return {
      message: `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${cpusPerCore}`,
      isForGood: true,
    };
  // A core with a CPU that always stays shared is not a whole core.
  const cores = partNumbers(topology, 'core', alwaysShared(policy, state));
  const whole = without(state.shared, cpusIn(topology, 'core', cores, topology.cpus)).length;
  if (count <= whole + reusableCpus(pod, state).length) return undefined;
  return {
    message: `SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ${whole}, requested CPUs = ${count}, CPUs per core = ${cpusPerCore}`,
    isForGood: false,
  };
}
