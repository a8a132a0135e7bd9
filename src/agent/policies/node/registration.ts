/** How a node registers itself. Rules: the kubelet's kubelet_node_status.go. */
import type { ErrorKind } from '../../../types/errors.ts';
import type { Node } from '../../../types/kubernetes.ts';
import { without } from '../formats/canonical-json.ts';
import { compareQuantity, parseQuantity } from '../formats/quantity.ts';
import { type JsonObject, NODE_RULES, strategicMergePatch } from '../formats/strategic-merge.ts';
import { CONTROLLER_MANAGED_ATTACH } from './initial-node.ts';
import { isHugePages, type ResourceList } from '../pod/resources.ts';
import { isExtendedResourceName } from './node-capacity.ts';
import { withStatus } from './node-software.ts';

const FIRST_DELAY_MS = 100;
const DELAY_MAX_MS = 7_000;

/** How long to wait before the next try, after so many failures in a row. */
export function registrationDelayMs(failures: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** failures, DELAY_MAX_MS);
}

/** Whether the object may exist although it could not be created: a node may be forbidden to create it, but not to update it. */
export function mayExist(kind: ErrorKind): boolean {
  return kind === 'AlreadyExists' || kind === 'PermissionDenied';
}

/** The patch that makes an existing object fit the node; undefined if it does. */
export function registrationPatch(
  initial: Node,
  existing: Node,
  shouldResetExtended: boolean,
): JsonObject | undefined {
  const { node, changed } = reconcileExisting(initial, existing, shouldResetExtended);
  return changed ? nodePatch(existing, node) : undefined;
}

/** The patch of `nodes/status`. It never touches the spec. */
export function nodePatch(before: Node, after: Node): JsonObject {
  return strategicMergePatch(reportedPart(before), reportedPart(after), NODE_RULES);
}

/** The server leaves out empty maps. */
function reportedPart({ metadata, status = {} }: Node): object {
  return { metadata: withoutEmpty(metadata), status: withoutEmpty(status) };
}

function withoutEmpty(part: object): object {
  return Object.fromEntries(
    Object.entries(part).filter(
      ([, value]: [string, unknown]) =>
        typeof value !== 'object' || value === null || Object.keys(value).length > 0,
    ),
  );
}

export interface Reconciled {
  readonly node: Node;
  readonly changed: boolean;
}

/** The labels that follow the node's registration. Others may have set all other ones. */
const DEFAULT_LABELS = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'node.kubernetes.io/windows-build',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

/**
 * What of `initial` a node takes over when it registers: annotation, labels, huge pages. `shouldResetExtended`: whether the plugins of
 * extended resources are not known any more, so that none of these may be given out until they are.
 */
export function reconcileExisting(initial: Node, existing: Node, shouldResetExtended: boolean): Reconciled {
  const steps: readonly ((node: Node) => Reconciled)[] = [
    (node) => reconcileAttachAnnotation(initial, node),
    (node) => updateDefaultLabels(initial, node),
    (node) => reconcileExtendedResources(initial, node, shouldResetExtended),
    (node) => reconcileHugePages(initial, node),
  ];
  return steps.reduce<Reconciled>(
    (before, step) => {
      const after = step(before.node);
      return { node: after.node, changed: before.changed || after.changed };
    },
    { node: existing, changed: false },
  );
}

export function reconcileAttachAnnotation(initial: Node, existing: Node): Reconciled {
  const wanted = initial.metadata.annotations?.[CONTROLLER_MANAGED_ATTACH];
  const { [CONTROLLER_MANAGED_ATTACH]: before, ...others } = existing.metadata.annotations ?? {};
  if ((wanted ?? '') === (before ?? '')) return { node: existing, changed: false };
  const annotations = wanted === undefined ? others : { ...others, [CONTROLLER_MANAGED_ATTACH]: wanted };
  return { node: { ...existing, metadata: { ...existing.metadata, annotations } }, changed: true };
}

/** A label with an empty value is removed. */
export function updateDefaultLabels(initial: Node, existing: Node): Reconciled {
  const wanted = initial.metadata.labels ?? {};
  const before = existing.metadata.labels ?? {};
  const own = DEFAULT_LABELS.filter((label) => Object.hasOwn(wanted, label));
  const labels = { ...before, ...Object.fromEntries(own.map((label) => [label, wanted[label] ?? ''])) };
  const kept = Object.entries(labels).filter(([label, value]) => value !== '' || !own.includes(label));
  const changed = own.some((label) => (before[label] ?? '') !== labels[label]);
  const metadata = { ...existing.metadata, labels: Object.fromEntries(kept) };
  return { node: { ...existing, metadata }, changed };
}

/** Only capacity or allocatable that is missing as a whole is filled in. */
export function updateDefaultResources(initial: Node, existing: Node): Reconciled {
  const { capacity, allocatable } = existing.status ?? {};
  const filled = {
    capacity: capacity ?? initial.status?.capacity,
    allocatable: allocatable ?? initial.status?.allocatable,
  };
  const changed = filled.capacity !== capacity || filled.allocatable !== allocatable;
  return changed ? { node: withResources(existing, filled), changed } : { node: existing, changed };
}

interface Resources {
  readonly capacity?: ResourceList | undefined;
  readonly allocatable?: ResourceList | undefined;
}

function withResources(node: Node, { capacity, allocatable }: Resources): Node {
  return withStatus(node, { ...(capacity && { capacity }), ...(allocatable && { allocatable }) });
}

/** The machine says how many huge pages of which sizes there are. */
export function reconcileHugePages(initial: Node, existing: Node): Reconciled {
  const filled = updateDefaultResources(initial, existing);
  const { capacity = {}, allocatable = {} } = filled.node.status ?? {};
  const wanted = { capacity: {}, allocatable: {}, ...initial.status };
  const sizes = Object.keys(wanted.capacity).filter(isHugePages);
  const gone = Object.keys(capacity).filter((name) => isHugePages(name) && !sizes.includes(name));
  const isNew = (name: string) => !Object.hasOwn(capacity, name);
  const newCapacity = sizes.filter((name) => isNew(name) || differs(name, capacity, wanted.capacity));
  const newAllocatable = sizes.filter(
    (name) => isNew(name) || differs(name, allocatable, wanted.allocatable),
  );
  if (gone.length + newCapacity.length + newAllocatable.length === 0) return filled;
  return {
    node: withResources(filled.node, {
      capacity: { ...without(capacity, gone), ...only(wanted.capacity, newCapacity) },
      allocatable: { ...without(allocatable, gone), ...only(wanted.allocatable, newAllocatable) },
    }),
    changed: true,
  };
}

/** Nothing of an extended resource is given out until its plugin has listed what exists. */
export function reconcileExtendedResources(initial: Node, existing: Node, shouldReset: boolean): Reconciled {
  const filled = updateDefaultResources(initial, existing);
  const extended = Object.keys(filled.node.status?.capacity ?? {}).filter(isExtendedResourceName);
  if (!shouldReset || extended.length === 0) return filled;
  const none = Object.fromEntries(extended.map((name) => [name, '0']));
  const { capacity, allocatable } = filled.node.status ?? {};
  const resources = { capacity: { ...capacity, ...none }, allocatable: { ...allocatable, ...none } };
  return { node: withResources(filled.node, resources), changed: true };
}

function differs(name: string, before: ResourceList, wanted: ResourceList): boolean {
  const amounts = [before[name] ?? '0', wanted[name] ?? '0'] as const;
  return compareQuantity(parseQuantity(amounts[0]), parseQuantity(amounts[1])) !== 0;
}

function only(list: ResourceList, names: readonly string[]): ResourceList {
  return Object.fromEntries(names.map((name) => [name, list[name] ?? '0']));
}
