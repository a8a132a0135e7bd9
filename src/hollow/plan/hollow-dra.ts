/** The DRA drivers of hollow nodes, as a plan describes them. */
import type { Range } from '../../simulation/runtime/chance.ts';
import type { ResourceSlice } from '../../types/kubernetes.ts';
import type { PlanField } from './plan-field.ts';

const CALLS = ['NodePrepareResources', 'NodeUnprepareResources'] as const;

type Device = NonNullable<ResourceSlice['spec']['devices']>[number];
/** As in JSON. The type of the library names `int` otherwise. */
type Attribute = { readonly bool: boolean } | { readonly int: number } | { readonly string: string };

export interface HollowDraDriver {
  readonly name: string;
  /** How many each node has: `device-0`, `device-1`, … */
  readonly devices: number;
  /** Of each device. */
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly capacity: NonNullable<Device['capacity']>;
  readonly calls: Readonly<Record<(typeof CALLS)[number], Range>>;
  /** The share of these calls that fail, from 0 to 1. */
  readonly callFailures: number;
}

const DEFAULT_CALLS: HollowDraDriver['calls'] = {
  NodePrepareResources: [100, 500],
  NodeUnprepareResources: [50, 200],
};
/** What a ResourceSlice may have. */
const DEVICES_MAX = 128;

export function draDriversOf(field: PlanField): readonly HollowDraDriver[] {
  return field.named('driver').map(({ name, field: driver }) => {
    const known = ['name', 'devices', 'attributes', 'capacity', 'calls', 'callFailures'];
    const { fields } = driver.members(known);
    const capacity = Object.entries(fields.capacity?.quantities() ?? {});
    return {
      name,
      devices: fields.devices?.wholeNumber(DEVICES_MAX) ?? driver.fail('needs devices, such as 8'),
      attributes: Object.fromEntries(
        Object.entries(fields.attributes?.scalars() ?? {}).map(([key, value]) => [key, attributeOf(value)]),
      ),
      capacity: Object.fromEntries(capacity.map(([key, value]) => [key, { value }])),
      calls: { ...DEFAULT_CALLS, ...fields.calls?.latencies(CALLS) },
      callFailures: fields.callFailures?.share() ?? 0,
    };
  });
}

function attributeOf(value: string | number | boolean): Attribute {
  if (typeof value === 'boolean') return { bool: value };
  return typeof value === 'number' ? { int: value } : { string: value };
}
