/** How a node registers itself. Rules: the kubelet's kubelet_node_status.go. */
import type { ErrorKind } from '../../types/errors.ts';
import type { Node } from '../../types/kubernetes.ts';
import { type JsonObject, NODE_RULES, strategicMergePatch } from '../formats/strategic-merge.ts';
import { reconcileExisting } from './existing-node.ts';

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
