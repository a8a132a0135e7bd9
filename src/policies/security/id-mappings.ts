/**
 * User namespaces of pods: which ids of the node a pod's users are mapped to, and how the mapping is stored. As with the
 * kubelet, a pod has a range of 65536 ids, aligned to that size. The first range is never used: it has the node's own users.
 */
import type { UserNamespace } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import { fnv1a32 } from '../sync/container-hash.ts';

const IDS_PER_POD = 65_536;
const FIRST_RANGE = 1;
/** Without the last range, which has the id that means "none". */
const RANGES = 65_535 - FIRST_RANGE;

/**
 * The first id of a range that is not taken. The search begins at a range that is computed from the pod's UID. So the ids of
 * a pod that has ended are not used again at once, and ranges that the node's users may have are hardly ever chosen.
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

/** The content of the kubelet's file `userns`, which a later kubelet can read. */
export function userNamespaceRecord(hostId: number): string {
  const { uids, gids } = userNamespace(hostId);
  return JSON.stringify({ uidMappings: uids, gidMappings: gids });
}

/** The first id of the recorded range. Throws a StateletError of kind DataLoss for a text that is no such record. */
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

/** The same JSON without its white space. */
function canonical(text: string): string {
  return JSON.stringify(parsed(text));
}
