/**
 * The lease of a node: an object that is renewed every few seconds, so that the cluster sees that the node is alive without its whole
 * status being written. Rules: the kubelet's lease controller (component-helpers, apimachinery/lease).
 */
import { MAX_TIMER_MS } from '../../../types/clock.ts';
import type { Lease } from '../../../types/kubernetes.ts';
import { without } from '../formats/canonical-json.ts';
import { shortDuration } from '../formats/duration.ts';
import { rfc3339 } from '../formats/time.ts';

export const LEASE_NAMESPACE = 'kube-node-lease';

/** The lease is renewed when this share of its duration has passed. */
const RENEWAL_SHARE = 0.25;
/** Up to this share is added at random, so that nodes that have started together do not write together. */
const JITTER = 0.04;
/** How many times a renewal is tried without a pause, one try after the other. */
export const RENEWAL_TRIES = 5;

const FIRST_BACK_OFF_MS = 200;
const BACK_OFF_MAX_MS = 7_000;

/** `random` is in [0, 1). */
export function renewalDelayMs(leaseDurationSeconds: number, random: number): number {
  return Math.min(leaseDurationSeconds * 1000 * RENEWAL_SHARE * (1 + JITTER * random), MAX_TIMER_MS);
}

/** How long to wait after so many failures in a row to read or to create the lease. */
export function leaseBackOffMs(failures: number): number {
  return Math.min(FIRST_BACK_OFF_MS * 2 ** (failures - 1), BACK_OFF_MAX_MS);
}

export interface LeaseFacts {
  readonly nodeName: string;
  /** Undefined while the Node object is not known. */
  readonly nodeUid: string | undefined;
  readonly leaseDurationSeconds: number;
  /** Unix ms, with a fraction where the clock has one. */
  readonly now: number;
}

/**
 * The lease as it is to be written: `base` with a new time, or a new lease where there is none. The holder of an existing lease is not
 * changed. The Node object owns the lease, so that both are deleted together. Who manages which field is left out: that would be half of
 * the request, and the server keeps it.
 */
export function renewedLease(base: Lease | undefined, facts: LeaseFacts): Lease {
  const { nodeName, leaseDurationSeconds } = facts;
  const { metadata, ...rest } = base ?? { metadata: { name: nodeName, namespace: LEASE_NAMESPACE } };
  const spec = base?.spec ?? { holderIdentity: nodeName };
  return {
    ...rest,
    metadata: { ...without(metadata ?? {}, ['managedFields']), ...ownedBy(metadata?.ownerReferences, facts) },
    spec: { ...spec, leaseDurationSeconds, renewTime: microTime(facts.now) },
  };
}

/** An owner that is there stays, also another one. */
function ownedBy(owners: readonly object[] = [], { nodeName, nodeUid }: LeaseFacts) {
  if (owners.length > 0 || nodeUid === undefined) return {};
  return { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid }] };
}

/** `metav1.MicroTime`: `2030-01-01T00:00:00.123456Z`. */
function microTime(unixMs: number): string {
  const micros = Math.round((unixMs % 1000) * 1000);
  return rfc3339(unixMs).replace('Z', `.${String(micros).padStart(6, '0')}Z`);
}

// The clock of the machine beside that of the API server. Times in statuses, leases and certificates are by either one: where they differ much,
// a pod seems to have started in the future, and certificates and tokens are taken for expired.

/** Smaller differences are not reported: answers carry whole seconds, and clocks that are not synchronised are off by some seconds. */
const REPORTED_FROM_MS = 60_000;

/** The precision of the header `Date`. */
const SECOND_MS = 1000;

export interface AnswerTimes {
  /** By the clock of this machine, in Unix milliseconds: when the request was sent, and when the head of its answer came. */
  readonly askedMs: number;
  readonly gotMs: number;
  /** What the server says of the time of its answer: the header `Date`, or when it made the object. */
  readonly date: string | readonly string[] | undefined;
}

/** By how much the clock of this machine is ahead of the server's at least; negative: behind. 0 where none shows. */
export function clockDifferenceMs({ askedMs, gotMs, date }: AnswerTimes): number {
  const serverMs = typeof date === 'string' ? Date.parse(date) : NaN;
  if (askedMs > serverMs + SECOND_MS) return askedMs - serverMs;
  return gotMs < serverMs ? gotMs - serverMs : 0;
}

/** A sentence about the difference; undefined where it is too small to be reported. */
export function clockProblem(differenceMs: number): string | undefined {
  const most = Math.abs(differenceMs);
  if (most < REPORTED_FROM_MS) return undefined;
  const where = differenceMs > 0 ? 'ahead of' : 'behind';
  const seconds = Math.round(most / 1000) * 1000;
  return `the clock of this machine is ${shortDuration(seconds)} ${where} that of the API server: times in statuses and in the node's lease are by this one, and certificates and tokens may seem expired or not valid yet`;
}
