/** Device plugins, and CPUs and memory that containers have for themselves, on hollow nodes, as a plan describes them. */
import { type CpuSet, parseCpuSet } from '../../agent/policies/cpus/cpu-set.ts';
import { parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import type { Range } from '../../simulation/runtime/chance.ts';
import type { ResourceManagerSettings } from '../../types/node-settings.ts';
import type { PlanField, PlannedOutages } from './plan-field.ts';

export interface PlannedDevicePlugin {
  readonly resourceName: string;
  /** How many each node has: `gpu-0`, `gpu-1`, …, by NUMA nodes in turn. */
  readonly devices: number;
  readonly calls: { readonly Allocate: Range };
  /** The share of these calls that fail, from 0 to 1. */
  readonly callFailures: number;
  /** Of each device. Undefined: all stay healthy. */
  readonly failures: PlannedOutages | undefined;
}

export interface PlannedManagers extends Pick<
  ResourceManagerSettings,
  'cpuManagerPolicy' | 'topologyManagerPolicy' | 'topologyManagerScope'
> {
  /** CPUs and memory are divided equally among them. */
  readonly numaNodes: number;
  /** No container has them for itself; empty without the policy `static`. */
  readonly reservedSystemCPUs: CpuSet;
  readonly memoryManagerPolicy: 'None' | 'Static';
}

export const NO_MANAGERS: PlannedManagers = {
  numaNodes: 1,
  cpuManagerPolicy: 'none',
  reservedSystemCPUs: [],
  memoryManagerPolicy: 'None',
  topologyManagerPolicy: 'none',
  topologyManagerScope: 'container',
};

/** The fields of a plan for them. */
export const MANAGER_FIELDS = [
  'numaNodes',
  'cpuManagerPolicy',
  'reservedSystemCPUs',
  'memoryManagerPolicy',
  'topologyManagerPolicy',
  'topologyManagerScope',
] as const;

const DEVICES_MAX = 1024;
/** More than that the kubelet's topology manager does not take. */
const NUMA_NODES_MAX = 8;
/** More than any machine has; they are all listed. */
const CPUS_MAX = 4096;
const DOWN_MS = [60_000, 600_000] as const;

type Fields = Readonly<Partial<Record<string, PlanField>>>;
type Capacity = Readonly<Record<string, string>>;

/** `capacity`: of the node. */
export function managersOf(fields: Fields, capacity: Capacity): PlannedManagers {
  const base = NO_MANAGERS;
  if (MANAGER_FIELDS.every((name) => fields[name] === undefined)) return base;
  const numaNodes = numaNodesOf(fields.numaNodes, capacity);
  const isStatic = fields.cpuManagerPolicy?.oneOf(['none', 'static']) === 'static';
  if (!isStatic) fields.reservedSystemCPUs?.fail('needs cpuManagerPolicy: static');
  return {
    numaNodes,
    cpuManagerPolicy: isStatic ? 'static' : 'none',
    reservedSystemCPUs: isStatic ? reservedOf(fields, cpusOf(capacity)) : [],
    memoryManagerPolicy: fields.memoryManagerPolicy?.oneOf(['None', 'Static']) ?? base.memoryManagerPolicy,
    topologyManagerPolicy:
      fields.topologyManagerPolicy?.oneOf(['none', 'best-effort', 'restricted', 'single-numa-node']) ??
      base.topologyManagerPolicy,
    topologyManagerScope:
      fields.topologyManagerScope?.oneOf(['container', 'pod']) ?? base.topologyManagerScope,
  };
}

function numaNodesOf(field: PlanField | undefined, capacity: Capacity): number {
  if (field === undefined) return NO_MANAGERS.numaNodes;
  const numaNodes = field.wholeNumber(NUMA_NODES_MAX);
  if (numaNodes === 0) field.fail(`is not a whole number from 1 to ${String(NUMA_NODES_MAX)}`);
  const cpus = cpusOf(capacity);
  if (numaNodes > 1 && (cpus === 0 || cpus % numaNodes > 0))
    field.fail(
      `a capacity of ${capacity.cpu ?? '0'} CPUs cannot be divided among ${String(numaNodes)} of them`,
    );
  return numaNodes;
}

export function devicePluginsOf(field: PlanField): readonly PlannedDevicePlugin[] {
  const names = new Set<string>();
  return field.items().map((plugin) => {
    const known = ['resourceName', 'devices', 'calls', 'callFailures', 'failures'];
    const { fields } = plugin.members(known);
    const own = fields.resourceName ?? plugin.fail('needs a resourceName, such as example.com/gpu');
    const resourceName = own.resourceName();
    if (names.has(resourceName)) own.fail(`there are two of the name "${resourceName}"`);
    names.add(resourceName);
    return {
      resourceName,
      devices: fields.devices?.wholeNumber(DEVICES_MAX) ?? plugin.fail('needs devices, such as 8'),
      calls: { Allocate: [20, 100], ...fields.calls?.latencies(['Allocate']) },
      callFailures: fields.callFailures?.share() ?? 0,
      failures: fields.failures?.outages('[1h, 6h]', DOWN_MS),
    };
  });
}

/** 0 for a number that is not whole. */
export function cpusOf({ cpu = '0' }: Readonly<Record<string, string>>): number {
  const cpus = parseQuantity(cpu);
  return parseQuantity(String(quantityValue(cpus))).nanos === cpus.nanos ? Number(quantityValue(cpus)) : 0;
}

function reservedOf({ cpuManagerPolicy: policy, reservedSystemCPUs: field }: Fields, cpus: number): CpuSet {
  if (cpus < 2 || cpus > CPUS_MAX)
    policy?.fail(`needs a capacity of whole CPUs, from 2 to ${String(CPUS_MAX)}`);
  if (field === undefined) return [0];
  const reserved = parseCpuSet(field.text()) ?? field.fail('is no list of CPUs such as 0-1');
  if (reserved.length === 0 || reserved.length >= cpus || reserved.some((cpu) => cpu >= cpus))
    field.fail(`does not name some, but not all, of the CPUs 0-${String(cpus - 1)}`);
  return reserved;
}
