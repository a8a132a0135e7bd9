/** The cases of the vectors `nodeStatus` about registration, reports and the lease, by their `fn`. */
import { renewedLease } from '../../src/agent/policies/node/lease-renewal.ts';
import { mayExist, nodePatch, registrationPatch } from '../../src/agent/policies/node/registration.ts';
import {
  isReportDue,
  nodeHasChanged,
  nodeStatusHasChanged,
  sentReport,
} from '../../src/agent/policies/node/status-report.ts';
import { withPlatformLabels } from '../../src/agent/policies/node/initial-node.ts';
import { ApiError } from '../../src/agent/cluster/service/api-error.ts';
import type { Lease, Node, NodeStatus } from '../../src/types/kubernetes.ts';

interface Action {
  readonly verb: 'create' | 'get' | 'patch';
  readonly subresource?: 'status';
  readonly patch?: object;
}

interface Registration {
  readonly node: Node;
  readonly existingNode: Node | null;
  readonly createError?: string;
  readonly getError?: string;
  readonly patchError?: string;
  readonly shouldReset: boolean;
}

const CREATE: Action = { verb: 'create' };
const GET: Action = { verb: 'get' };
const patched = (patch: object): Action => ({ verb: 'patch', subresource: 'status', patch });

function tryRegister(input: Registration) {
  const { node, existingNode, createError, getError, patchError, shouldReset } = input;
  if (createError === undefined) return { actions: [CREATE], registered: true };
  const { kind } = new ApiError('', { status: 409, reason: createError });
  if (!mayExist(kind)) return { actions: [CREATE], registered: false };
  if (getError !== undefined || existingNode === null) return { actions: [CREATE, GET], registered: false };
  const patch = registrationPatch(node, existingNode, shouldReset);
  if (patch === undefined) return { actions: [CREATE, GET], registered: true };
  return { actions: [CREATE, GET, patched(patch)], registered: patchError === undefined };
}

interface Report {
  readonly originalNode: Node;
  readonly newStatus: NodeStatus;
  readonly tryNumber: number;
  /** Unix seconds; null if there was no report. */
  readonly lastStatusReportTime: number | null;
  readonly delaySeconds: number;
  readonly nodeStatusReportFrequencySeconds: number;
  readonly now: number;
}

function recordOf({
  lastStatusReportTime,
  delaySeconds,
}: Pick<Report, 'lastStatusReportTime' | 'delaySeconds'>) {
  const sentAt = lastStatusReportTime === null ? undefined : lastStatusReportTime * 1000;
  return { sentAt, delayMs: delaySeconds * 1000 };
}

/** Another delay for another random number: it is random. */
function delayOf(input: Report, hasChanged: boolean): string {
  const frequencyMs = input.nodeStatusReportFrequencySeconds * 1000;
  const [low, high] = [0, 1].map(
    (random) => sentReport(recordOf(input), hasChanged, frequencyMs, random, 0).delayMs,
  );
  if (low === 0 && high === 0) return 'zero';
  return low === -frequencyMs / 2 && high === frequencyMs / 2
    ? 'random in [-frequency/2, +frequency/2)'
    : '?';
}

function tryUpdateNodeStatus(input: Report) {
  const { originalNode, newStatus, tryNumber, nodeStatusReportFrequencySeconds, now } = input;
  const node = { ...withPlatformLabels(originalNode, { os: 'linux', arch: 'amd64' }), status: newStatus };
  const record = recordOf(input);
  const hasChanged = nodeHasChanged(originalNode, node);
  const isSent = hasChanged || isReportDue(record, nodeStatusReportFrequencySeconds * 1000, now * 1000);
  return {
    actions: [...(tryNumber > 0 ? [GET] : []), ...(isSent ? [patched(nodePatch(originalNode, node))] : [])],
    delay: isSent ? delayOf(input, hasChanged) : record.delayMs === 0 ? 'zero' : 'kept',
    error: null,
    lastStatusReportTime: isSent ? now : input.lastStatusReportTime,
    // If the node is not sent, its volumes in use are those that were built. Otherwise they are those of the server's answer.
    markedInUse: newStatus.volumesInUse ?? [],
  };
}

interface LeaseInput {
  readonly base: Lease | null;
  readonly nodeName: string;
  readonly nodeUID: string | null;
  readonly leaseDurationSeconds: number;
  readonly nowMicros: number;
}

function newLease({ base, nodeName, nodeUID, leaseDurationSeconds, nowMicros }: LeaseInput) {
  const facts = { nodeName, nodeUid: nodeUID ?? undefined, leaseDurationSeconds, now: nowMicros / 1000 };
  const lease = renewedLease(base ?? undefined, facts);
  const lacksOwner = lease.metadata?.ownerReferences === undefined;
  return { lease, error: lacksOwner ? `nodes "${nodeName}" not found` : null };
}

// oxlint-disable-next-line typescript/no-explicit-any -- JSON of a shape that only each case knows
export const NODE_REPORT_CASES: Readonly<Record<string, (input: any) => unknown>> = {
  isUpdateStatusPeriodExpired: (input: Report) => ({
    expired: isReportDue(recordOf(input), input.nodeStatusReportFrequencySeconds * 1000, input.now * 1000),
  }),
  newLease,
  nodeStatusHasChanged: (input: { originalStatus: NodeStatus | null; status: NodeStatus | null }) => ({
    changed: nodeStatusHasChanged(input.originalStatus, input.status),
  }),
  tryRegister,
  tryUpdateNodeStatus,
};
