/** Reads and checks the plan file: the size of hollow nodes, and what happens on them. */
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { isExtendedResourceName } from '../../agent/policies/node/node-capacity.ts';
import { CONTAINERD_LATENCIES, type Latencies, type Range } from '../../simulation/runtime/chance.ts';
import { errorMessage, invalid } from '../../types/errors.ts';
import type { Taint } from '../../types/kubernetes.ts';
import { csiDriversOf, type HollowCsiDriver } from './hollow-csi.ts';
import { draDriversOf, type HollowDraDriver } from './hollow-dra.ts';
import {
  devicePluginsOf,
  type PlannedDevicePlugin,
  type PlannedManagers,
  MANAGER_FIELDS,
  managersOf,
  NO_MANAGERS,
} from './planned-managers.ts';
import { PlanField, type PlannedOutages } from './plan-field.ts';
import { SIGKILL_EXIT_CODE } from '../../types/cri.ts';

/** Something that happens to a share of all containers, at some time after their start. */
export interface ContainerEnd {
  /** From 0 to 1. */
  readonly share: number;
  readonly afterMs: Range;
  readonly exitCode: number;
}

/** Bytes that are used. */
export interface ResourceUse {
  /** At the start, of what is requested: one of these by chance. */
  readonly uses: readonly number[];
  /** The share of users that use more and more, from 0 to 1. */
  readonly growing: number;
  /** At most, by those. */
  readonly bytesPerSecond: number;
}

export interface HollowPlan {
  readonly seed: number;
  /** The prefix of node names; the number of the node follows. */
  readonly names: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly capacity: Readonly<Record<string, string>>;
  /** How long calls of the runtime take. */
  readonly calls: Latencies;
  /** The share of calls of the runtime that fail, from 0 to 1. */
  readonly callFailures: number;
  readonly crashes: ContainerEnd;
  readonly outOfMemory: ContainerEnd;
  /** The share of windows of time in which the probes of a container fail. */
  readonly probeFailures: { readonly share: number; readonly windowMs: number };
  /** What containers use of the CPU that they request: one of these by chance. */
  readonly cpu: { readonly uses: readonly number[] };
  readonly memory: ResourceUse;
  /** What containers write, and what lies in `emptyDir` volumes, of their limits. */
  readonly disk: ResourceUse;
  /** Undefined: nodes die only by command. */
  readonly deaths: PlannedOutages | undefined;
  /** A manifest, or a folder of manifests. Undefined: there are no static pods. */
  readonly staticPodPath: string | undefined;
  /** They run on each node. */
  readonly csiDrivers: readonly HollowCsiDriver[];
  readonly draDrivers: readonly HollowDraDriver[];
  readonly devicePlugins: readonly PlannedDevicePlugin[];
  readonly managers: PlannedManagers;
}

const DEFAULT_CAPACITY = { cpu: '8', memory: '32Gi', pods: '110', 'ephemeral-storage': '100Gi' };
const MINUTE_MS = 60_000;
const MI = 2 ** 20;
const NEVER = { share: 0, afterMs: [MINUTE_MS, 10 * MINUTE_MS] as const };

const CALLS = Object.keys(CONTAINERD_LATENCIES) as readonly (keyof Latencies)[];

export const DEFAULT_PLAN: HollowPlan = {
  seed: 1,
  names: 'hollow-',
  labels: {},
  taints: [],
  capacity: DEFAULT_CAPACITY,
  calls: CONTAINERD_LATENCIES,
  callFailures: 0,
  crashes: { ...NEVER, exitCode: 1 },
  outOfMemory: { ...NEVER, exitCode: SIGKILL_EXIT_CODE },
  probeFailures: { share: 0, windowMs: MINUTE_MS },
  cpu: { uses: [0.1, 0.3, 0.6] },
  memory: { uses: [0.3, 0.6, 0.9], growing: 0, bytesPerSecond: MI },
  disk: { uses: [0.05, 0.1, 0.3], growing: 0, bytesPerSecond: MI },
  deaths: undefined,
  staticPodPath: undefined,
  csiDrivers: [],
  draDrivers: [],
  devicePlugins: [],
  managers: NO_MANAGERS,
};

/** Throws `InvalidArgument` for what is no plan. The message names the file and the field. */
export function parseHollowPlan(text: string, file: string): HollowPlan {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw invalid(`${file}: ${errorMessage(error)}`);
  }
  const root = new PlanField(value ?? {}, file, []);
  const { fields } = root.members([
    'seed',
    'names',
    'labels',
    'taints',
    'capacity',
    'calls',
    'callFailures',
    'crashes',
    'outOfMemory',
    'probeFailures',
    'cpu',
    'memory',
    'disk',
    'deaths',
    'staticPodPath',
    'csiDrivers',
    'draDrivers',
    'devicePlugins',
    ...MANAGER_FIELDS,
  ]);
  const base = DEFAULT_PLAN;
  const capacity = { ...base.capacity, ...(fields.capacity && capacityOf(fields.capacity)) };
  return {
    seed: fields.seed?.wholeNumber(2 ** 32 - 1) ?? base.seed,
    names: fields.names?.namePrefix() ?? base.names,
    labels: fields.labels?.texts() ?? base.labels,
    taints: fields.taints?.items().map(taintOf) ?? base.taints,
    capacity,
    calls: { ...base.calls, ...fields.calls?.latencies(CALLS) },
    callFailures: fields.callFailures?.share() ?? base.callFailures,
    crashes: endOf(fields.crashes, base.crashes, ['exitCode']),
    outOfMemory: endOf(fields.outOfMemory, base.outOfMemory, []),
    probeFailures: probeFailuresOf(fields.probeFailures),
    cpu: { uses: usesOf(fields.cpu?.members(['uses']).fields.uses) ?? base.cpu.uses },
    memory: resourceUseOf(fields.memory, base.memory),
    disk: resourceUseOf(fields.disk, base.disk),
    deaths: fields.deaths?.outages('[30m, 2h]', [MINUTE_MS, 5 * MINUTE_MS]),
    staticPodPath: fields.staticPodPath && resolve(dirname(file), fields.staticPodPath.text()),
    csiDrivers: fields.csiDrivers ? csiDriversOf(fields.csiDrivers) : base.csiDrivers,
    draDrivers: fields.draDrivers ? draDriversOf(fields.draDrivers) : base.draDrivers,
    devicePlugins: fields.devicePlugins ? devicePluginsOf(fields.devicePlugins) : base.devicePlugins,
    managers: managersOf(fields, capacity),
  };
}

const HUGE_PAGES = /^hugepages-[1-9]\d*[KMG]i$/u;

function capacityOf(field: PlanField): HollowPlan['capacity'] {
  const quantities = field.quantities();
  for (const name of Object.keys(quantities))
    if (!Object.hasOwn(DEFAULT_CAPACITY, name) && !HUGE_PAGES.test(name) && !isExtendedResourceName(name))
      field.fail(
        `"${name}" is none of ${Object.keys(DEFAULT_CAPACITY).join(', ')}, hugepages-2Mi, example.com/gpu`,
      );
  return quantities;
}

function taintOf(field: PlanField): Taint {
  const { fields } = field.members(['key', 'value', 'effect']);
  const key = fields.key?.text();
  const effect = fields.effect?.oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
  if (key === undefined || effect === undefined) field.fail('needs key and effect');
  const value = fields.value?.text();
  return { key, effect, value };
}

function endOf(
  field: PlanField | undefined,
  base: ContainerEnd,
  others: readonly 'exitCode'[],
): ContainerEnd {
  const { fields } = field?.members(['share', 'after', ...others]) ?? { fields: {} };
  return {
    share: fields.share?.share() ?? base.share,
    afterMs: fields.after?.range() ?? base.afterMs,
    exitCode: fields.exitCode?.wholeNumber(255) ?? base.exitCode,
  };
}

function probeFailuresOf(field: PlanField | undefined): HollowPlan['probeFailures'] {
  const base = DEFAULT_PLAN.probeFailures;
  const { fields } = field?.members(['share', 'window']) ?? { fields: {} };
  return {
    share: fields.share?.share() ?? base.share,
    windowMs: fields.window?.duration() ?? base.windowMs,
  };
}

function resourceUseOf(field: PlanField | undefined, base: ResourceUse): ResourceUse {
  const { fields } = field?.members(['uses', 'growing', 'perSecond']) ?? { fields: {} };
  return {
    uses: usesOf(fields.uses) ?? base.uses,
    growing: fields.growing?.share() ?? base.growing,
    bytesPerSecond: fields.perSecond?.bytes() ?? base.bytesPerSecond,
  };
}

function usesOf(field: PlanField | undefined): readonly number[] | undefined {
  return field?.items().map((one) => one.number());
}
