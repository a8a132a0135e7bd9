/** When the status of the node is sent, and what of it. Rules: the kubelet's kubelet_node_status.go. */
import { isObject } from '../formats/json-values.ts';
import type { Node, NodeCondition, NodeStatus } from '../../../types/kubernetes.ts';
import { parseQuantity } from '../formats/quantity.ts';

/** The status is looked at once in each period, plus up to this share of it at random. */
const LOOK_JITTER = 0.04;
/** How many times a report is tried without a pause, one try after the other. */
export const REPORT_TRIES = 5;

/** `random` is in [0, 1). */
export function lookDelayMs(periodMs: number, random: number): number {
  return periodMs * (1 + LOOK_JITTER * random);
}

/** The last report that was sent. */
export interface ReportRecord {
  /** Unix ms; undefined if none was sent. */
  readonly sentAt: number | undefined;
  /** Added to the time between reports without a change. May be negative. */
  readonly delayMs: number;
}

export const NO_REPORT: ReportRecord = { sentAt: undefined, delayMs: 0 };

/** Whether a report is due although nothing has changed. If the clock was set back, the time since the last one is not known. */
export function isReportDue({ sentAt, delayMs }: ReportRecord, frequencyMs: number, now: number): boolean {
  return sentAt === undefined || now < sentAt || now - sentAt >= frequencyMs + delayMs;
}

/**
 * After a change, and after the first report, the next one is moved by up to half the period at random: a change is often one of the
 * whole cluster, and the nodes are not to report together from then on.
 */
export function sentReport(
  { sentAt }: ReportRecord,
  hasChanged: boolean,
  frequencyMs: number,
  random: number,
  now: number,
): ReportRecord {
  const isMoved = hasChanged || sentAt === undefined;
  return { sentAt: now, delayMs: isMoved ? frequencyMs * (random - 0.5) : 0 };
}

/** Whether the node has changed in anything but the heartbeat times of its conditions. Of metadata, only labels are rebuilt. */
export function nodeHasChanged(before: Node, after: Node): boolean {
  return (
    nodeStatusHasChanged(before.status, after.status) ||
    !isEqual(before.metadata.labels, after.metadata.labels) ||
    !isEqual(before.metadata.annotations, after.metadata.annotations)
  );
}

export function nodeStatusHasChanged(
  before: NodeStatus | null | undefined,
  after: NodeStatus | null | undefined,
): boolean {
  if (before == null || after == null) return (before ?? undefined) !== (after ?? undefined);
  return !isEqual(comparable(before), comparable(after));
}

/** Conditions without their heartbeat and in the order of their types; amounts as numbers. */
function comparable({ conditions = [], capacity, allocatable, ...rest }: NodeStatus): object {
  return {
    ...rest,
    conditions: conditions.map(withoutHeartbeat).sort((a, b) => (a.type < b.type ? -1 : 1)),
    capacity: amounts(capacity),
    allocatable: amounts(allocatable),
  };
}

function withoutHeartbeat(condition: NodeCondition): NodeCondition {
  return { ...condition, lastHeartbeatTime: '' };
}

function amounts(quantities: Readonly<Record<string, string>> = {}): object {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, text]) => [name, { nanos: parseQuantity(text).nanos }]),
  );
}

/** Deep equality of JSON. What is empty is equal to what is not there. The order of a list counts. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b || (isEmpty(a) && isEmpty(b))) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual(a[key], b[key]));
}

function isEmpty(value: unknown): boolean {
  return value == null || value === '' || (isObject(value) && Object.keys(value).length === 0);
}
