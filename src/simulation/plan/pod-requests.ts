/** The requests, host ports and priorities of simulated pods: large enough that pods are rejected and preempted. */
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import type { SeededRandom } from './seeded-random.ts';

/** So few that two pods often want the same one. */
const HOST_PORTS = [8080, 8081, 8082];
const MAX_QUARTER_CORES = 8;
const MAX_MEMORY_PARTS = 8;
const MEMORY_PART_MIB = 128;
const PRIORITIES = [0, 100, 100, 1_000];
const CLUSTER_CRITICAL = { priority: 2_000_000_000, priorityClassName: 'system-cluster-critical' };
const NODE_CRITICAL = { priority: 2_000_001_000, priorityClassName: 'system-node-critical' };

/** The spec with requests, a host port and a priority added. */
export function withRequests(spec: PodSpec, random: SeededRandom): PodSpec {
  const [first, ...others] = spec.containers;
  if (first === undefined) return spec;
  const needs = { ...resources(random), ...ports(random) };
  return {
    ...spec,
    ...importance(random),
    containers: [{ ...first, ...needs }, ...others],
    // No simulated node has this label.
    ...(random.next() < 0.02 && { nodeSelector: { disk: 'ssd' } }),
  };
}

/** One pod in three requests nothing, and one in six is Guaranteed. */
function resources(random: SeededRandom): Pick<Container, 'resources'> {
  const cpu = `${String(250 * random.integer(1, MAX_QUARTER_CORES))}m`;
  const memory = `${String(MEMORY_PART_MIB * random.integer(1, MAX_MEMORY_PARTS))}Mi`;
  const all = { cpu, memory };
  switch (random.integer(1, 6)) {
    case 1:
    case 2:
      return {};
    case 3:
      return { resources: { requests: all, limits: all } };
    case 4:
      return { resources: { requests: { cpu } } };
    default:
      return { resources: { requests: all } };
  }
}

function ports(random: SeededRandom): Pick<Container, 'ports'> {
  if (random.next() >= 0.1) return {};
  return { ports: [{ containerPort: 80, hostPort: random.pick(HOST_PORTS) }] };
}

function importance(random: SeededRandom): Pick<PodSpec, 'priority' | 'priorityClassName'> {
  const chance = random.next();
  if (chance < 0.1) return NODE_CRITICAL;
  if (chance < 0.25) return CLUSTER_CRITICAL;
  return chance < 0.6 ? { priority: random.pick(PRIORITIES) } : {};
}
