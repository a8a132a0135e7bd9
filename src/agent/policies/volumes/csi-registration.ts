/** The entries for a node's CSI drivers in its Node object and in its CSINode. */
import { StateletError } from '../../../types/errors.ts';
import type { CSIDriver, CSINode, Node } from '../../../types/kubernetes.ts';

export interface RegisteredCsiDriver {
  readonly name: string;
  /** The driver's ID of the node. */
  readonly nodeId: string;
  /** 0: no limit is known. */
  readonly maxVolumes: number;
  readonly topology: Readonly<Record<string, string>>;
}

/** The API server accepts no shorter period. */
const ALLOCATABLE_PERIOD_MIN_SECONDS = 10;
const DAY_SECONDS = 86_400;

/** How often the driver is asked for the node's limit of volumes; undefined: only when it registers. */
export function allocatablePeriodMs(object: CSIDriver | undefined): number | undefined {
  const seconds = object?.spec.nodeAllocatableUpdatePeriodSeconds ?? 0;
  if (seconds <= 0) return undefined;
  return Math.min(Math.max(seconds, ALLOCATABLE_PERIOD_MIN_SECONDS), DAY_SECONDS) * 1_000;
}

type CsiNodeEntry = CSINode['spec']['drivers'][number];

const NODE_ID_ANNOTATION = 'csi.volume.kubernetes.io/nodeid';

/** A patch of the Node; undefined if the Node already has all of it. Throws if a topology label has another value already. */
export function driverLabels({ metadata }: Node, driver: RegisteredCsiDriver): object | undefined {
  const { annotations = {}, labels = {} } = metadata;
  for (const [key, value] of Object.entries(driver.topology)) {
    const { [key]: current = value } = labels;
    if (current === value) continue;
    const message = `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${current}"`;
    throw new StateletError('FailedPrecondition', message);
  }
  const ids = nodeIds(annotations[NODE_ID_ANNOTATION]);
  const news = Object.keys(driver.topology).filter((key) => labels[key] === undefined);
  if (ids[driver.name] === driver.nodeId && news.length === 0) return undefined;
  return {
    metadata: {
      annotations: { [NODE_ID_ANNOTATION]: JSON.stringify({ ...ids, [driver.name]: driver.nodeId }) },
      labels: driver.topology,
    },
  };
}

/** A patch of the Node that removes the driver; undefined if the Node does not have it. */
export function withoutNodeId({ metadata: { annotations = {} } }: Node, name: string): object | undefined {
  const { [name]: gone, ...others } = nodeIds(annotations[NODE_ID_ANNOTATION]);
  if (gone === undefined) return undefined;
  const left = Object.keys(others).length > 0 ? JSON.stringify(others) : null;
  return { metadata: { annotations: { [NODE_ID_ANNOTATION]: left } } };
}

function nodeIds(annotation = '{}'): Readonly<Record<string, string>> {
  try {
    const ids: unknown = JSON.parse(annotation);
    return typeof ids === 'object' && ids !== null ? (ids as Record<string, string>) : {};
  } catch {
    return {};
  }
}

/** The CSINode of a node. It goes with its Node. */
export function newCsiNode(name: string, nodeUID: string): CSINode {
  const owner = { apiVersion: 'v1', kind: 'Node', name, uid: nodeUID };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name, ownerReferences: [owner] },
    spec: { drivers: [] },
  };
}

/** The CSINode with the driver; undefined if it is unchanged. */
export function withDriver(csiNode: CSINode, driver: RegisteredCsiDriver): CSINode | undefined {
  const { name, nodeId: nodeID, maxVolumes, topology } = driver;
  const entry: CsiNodeEntry = {
    name,
    nodeID,
    topologyKeys: Object.keys(topology).sort(),
    ...(maxVolumes > 0 && { allocatable: { count: maxVolumes } }),
  };
  const drivers = driversOf(csiNode);
  const before = drivers.find((other) => other.name === name);
  if (before !== undefined && isSame(before, entry)) return undefined;
  const others = drivers.filter((other) => other.name !== name);
  return { ...csiNode, spec: { drivers: [...others, entry] } };
}

function isSame(one: CsiNodeEntry, other: CsiNodeEntry): boolean {
  // A server may have null for an empty list.
  const facts = ({ nodeID, topologyKeys, allocatable }: CsiNodeEntry) =>
    JSON.stringify([nodeID, (topologyKeys ?? []).toSorted(), allocatable?.count ?? 0]);
  return facts(one) === facts(other);
}

/** Undefined if the CSINode does not have the driver. */
export function withoutDriver(csiNode: CSINode, name: string): CSINode | undefined {
  const before = driversOf(csiNode);
  const drivers = before.filter((other) => other.name !== name);
  return drivers.length === before.length ? undefined : { ...csiNode, spec: { drivers } };
}

/** A server may leave an empty list out. */
function driversOf({ spec }: { readonly spec: Partial<CSINode['spec']> }): readonly CsiNodeEntry[] {
  return spec.drivers ?? [];
}
