/**
 * Users of a pod's own: which ids of the node stand for them, and how that is kept on disk. Ranges are those of the kubelet:
 * as long as a range of ids is wide in all, aligned to that, and never the first one, in which the node's own users are.
 */
import type { UserNamespace } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import { fnv1a32 } from '../sync/container-hash.ts';

const IDS_PER_POD = 65_536;
const FIRST_RANGE = 1;
/** The last one would hold the id that means "none". */
const RANGES = 65_535 - FIRST_RANGE;

/**
 * The first id of a range that is not taken. The search begins at a place that follows from the UID: ids of a pod that has
 * gone are not given to the next one at once, and hardly ever to users of the node that have ranges, too.
 */
export function freeRange(uid: string, taken: ReadonlySet<number>): number {
  const start = fnv1a32(uid) % RANGES;
  for (let step = 0; step < RANGES; step++) {
    const hostId = (FIRST_RANGE + ((start + step) % RANGES)) * IDS_PER_POD;
    if (!taken.has(hostId)) return hostId;
  }
  throw new StateletError('ResourceExhausted', 'every range of user ids is taken by a pod');
}

export function userNamespace(hostId: number): UserNamespace {
  const mapping = { hostId, containerId: 0, length: IDS_PER_POD };
  return { mode: 'POD', uids: [mapping], gids: [mapping] };
}

/** The kubelet's file `userns`, which it and its successors read. */
export function userNamespaceRecord(hostId: number): string {
  const { uids, gids } = userNamespace(hostId);
  return JSON.stringify({ uidMappings: uids, gidMappings: gids });
}

/** The first id of the range that was recorded; throws a StateletError of kind DataLoss for what is no such record. */
export function recordedRange(text: string): number {
  const hostId = (parsed(text) as Partial<Record<string, { hostId?: unknown }[]>> | null)?.uidMappings?.[0]
    ?.hostId;
  if (typeof hostId === 'number' && isRange(hostId) && userNamespaceRecord(hostId) === canonical(text)) {
    return hostId;
  }
  throw new StateletError(
    'DataLoss',
    'is no record of one range of 65536 ids that begins at a multiple of that',
  );
}

function isRange(hostId: number): boolean {
  return hostId % IDS_PER_POD === 0 && hostId >= FIRST_RANGE * IDS_PER_POD;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** However it was spaced. */
function canonical(text: string): string {
  return JSON.stringify(parsed(text));
}
