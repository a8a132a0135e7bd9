/**
 * User namespaces of pods: which ids of the node a pod's users are mapped to, and how the mapping is stored. As with the kubelet, all pods
 * have equally many ids, in ranges that are aligned to that number. The first range is never used: it has the node's own users.
 */
import { parsedJson } from '../formats/json-values.ts';
import type { UserNamespace } from '../../../types/cri.ts';
import { invalid, StateletError } from '../../../types/errors.ts';
import { fnv1a32 } from '../pod-actions/restart.ts';

/** The ids that a pod must have at least; it has a multiple of them. */
export const IDS_UNIT = 65_536;
const ID_MAX = 2 ** 32 - 1;

export interface IdRange {
  readonly hostId: number;
  readonly length: number;
}

/** The ids that pods may have. */
export interface IdSpace {
  readonly ids: IdRange;
  readonly idsPerPod: number;
}

/** `given`: the ids that are reserved for the kubelet; default: all but those of the first and the last range. */
export function idSpace(idsPerPod: number, maxPods: number, given?: IdRange): IdSpace {
  const rest = Math.floor((ID_MAX - idsPerPod) / idsPerPod) * idsPerPod;
  const ids = given ?? { hostId: idsPerPod, length: rest };
  const problem = spaceProblem(ids, idsPerPod, maxPods);
  if (problem !== undefined) throw new StateletError('InvalidArgument', problem);
  return { ids, idsPerPod };
}

/** In the kubelet's words. */
function spaceProblem({ hostId, length }: IdRange, idsPerPod: number, maxPods: number): string | undefined {
  if (hostId % idsPerPod !== 0) return `kubelet user assigned ID ${hostId} is not a multiple of ${idsPerPod}`;
  if (hostId < idsPerPod)
    return `kubelet user assigned ID ${hostId} must be greater or equal to ${idsPerPod}`;
  if (length % idsPerPod !== 0)
    return `kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`;
  return length / idsPerPod < maxPods
    ? `kubelet user assigned IDs are not enough to support ${maxPods} pods`
    : undefined;
}

/** The one range that `getsubids` prints: `0: kubelet 65536 7208960`. Throws for anything else. */
export function subordinateIds(output: string): IdRange {
  const lines = output.split('\n').filter((line) => line !== '');
  if (lines.length !== 1)
    throw invalid(`error parsing line "${output.trim()}": it must contain only one line`);
  const [, hostId, length] = /^\s*\S+\s+\S+\s+(\d+)\s+(\d+)\s*$/u.exec(lines[0] ?? '') ?? [];
  const range = { hostId: Number(hostId), length: Number(length) };
  if (!(range.hostId <= ID_MAX && range.length <= ID_MAX)) throw invalid(`invalid line "${output.trim()}"`);
  return range;
}

/**
 * The first range that is not taken. The search begins at a range that is computed from the pod's UID. So the ids of a pod that has ended
 * are not used again at once, and ranges that the node's users may have are hardly ever chosen.
 */
export function freeRange(uid: string, { ids, idsPerPod }: IdSpace, taken: Iterable<IdRange>): IdRange {
  const count = Math.floor(ids.length / idsPerPod);
  const occupied = new Set<number>();
  for (const { hostId, length } of taken) {
    const last = Math.floor((hostId + length - 1 - ids.hostId) / idsPerPod);
    for (let slot = Math.floor((hostId - ids.hostId) / idsPerPod); slot <= last; slot++) occupied.add(slot);
  }
  const start = fnv1a32(uid) % count;
  for (let step = 0; step < count; step++) {
    const slot = (start + step) % count;
    if (!occupied.has(slot)) return { hostId: ids.hostId + slot * idsPerPod, length: idsPerPod };
  }
  throw new StateletError('ResourceExhausted', 'every range of user ids is taken by a pod');
}

export function userNamespace({ hostId, length }: IdRange): UserNamespace {
  const mapping = { hostId, containerId: 0, length };
  return { mode: 'POD', uids: [mapping], gids: [mapping] };
}

/** The content of the kubelet's file `userns`, which a later kubelet can read. */
export function userNamespaceRecord(range: IdRange): string {
  const { uids, gids } = userNamespace(range);
  return JSON.stringify({ uidMappings: uids, gidMappings: gids });
}

/** The recorded range. Throws a StateletError of kind DataLoss for a text that is no such record. */
export function recordedRange(text: string): IdRange {
  const record = parsedJson(text) as Partial<Record<string, Partial<IdRange>[]>> | null | undefined;
  const { hostId = 0, length = 0 } = record?.uidMappings?.[0] ?? {};
  const range = { hostId, length };
  const isAligned = hostId >= IDS_UNIT && hostId % IDS_UNIT === 0 && length > 0 && length % IDS_UNIT === 0;
  if (isAligned && userNamespaceRecord(range) === canonical(text)) return range;
  const message = `is no record of one range of ids: its beginning and its length are multiples of ${IDS_UNIT}`;
  throw new StateletError('DataLoss', message);
}

/** The same JSON without its white space. */
function canonical(text: string): string {
  return JSON.stringify(parsedJson(text));
}
