/**
 * Expansion of claims: whether the node has to expand the volume, and what it writes into the claim's status. The rules are the
 * kubelet's.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../../types/kubernetes.ts';
import { compareQuantity, quantityOrZero } from '../formats/quantity.ts';
import { shortLine } from '../formats/terminal-text.ts';
import { rfc3339 } from '../formats/time.ts';
import type { ErrorKind } from '../../../types/errors.ts';

const RESIZE_CONDITIONS: ReadonlySet<string> = new Set([
  'FileSystemResizePending',
  'Resizing',
  'ControllerResizeError',
  'NodeResizeError',
]);
const MESSAGE_MAX_LENGTH = 1_000;

/** The size to which the node has to expand the volume; undefined if there is nothing to do. */
export function sizeToGrowTo(
  { status }: PersistentVolumeClaim,
  { spec }: PersistentVolume,
): string | undefined {
  const size = spec?.capacity?.storage;
  const state = status?.allocatedResourceStatuses?.storage;
  if (size === undefined || (state !== 'NodeResizePending' && state !== 'NodeResizeInProgress'))
    return undefined;
  const isLarger = compareQuantity(quantityOrZero(size), quantityOrZero(status?.capacity?.storage)) > 0;
  return isLarger ? size : undefined;
}

/** Strategic merge patches of the claim. */
export function growthBegun(claim: PersistentVolumeClaim): object | undefined {
  if (claim.status?.allocatedResourceStatuses?.storage === 'NodeResizeInProgress') return undefined;
  return patchOf(claim, { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } });
}

export function growthDone(claim: PersistentVolumeClaim, size: string): object {
  const over = (claim.status?.conditions ?? []).filter(({ type }) => RESIZE_CONDITIONS.has(type));
  return patchOf(claim, {
    capacity: { storage: size },
    allocatedResourceStatuses: { storage: null },
    ...(over.length > 0 && { conditions: over.map(({ type }) => ({ type, $patch: 'delete' })) }),
  });
}

/** If a retry cannot help, the claim's status says so, and the controller takes over. */
export function growthFailed(
  claim: PersistentVolumeClaim,
  failure: { readonly kind: ErrorKind; readonly message: string; readonly nowMs: number },
): object {
  const condition = {
    type: 'NodeResizeError',
    status: 'True',
    lastTransitionTime: rfc3339(failure.nowMs),
    message: shortLine(`failed to expand pvc with ${failure.message}`, MESSAGE_MAX_LENGTH),
  };
  const isInfeasible = INFEASIBLE.has(failure.kind);
  return patchOf(claim, {
    ...(isInfeasible && { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } }),
    conditions: [condition],
  });
}

const INFEASIBLE: ReadonlySet<ErrorKind> = new Set(['InvalidArgument', 'OutOfRange', 'NotFound']);

/** It fails where the claim has changed meanwhile. */
function patchOf({ metadata }: PersistentVolumeClaim, status: object): object {
  return { metadata: { resourceVersion: metadata?.resourceVersion }, status };
}
