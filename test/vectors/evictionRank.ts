import type { PodFsPart } from '../../src/agent/policies/eviction/file-system-parts.ts';
import { type EvictionCandidate, rankForEviction } from '../../src/agent/policies/eviction/ranking.ts';
import type { StarvedResource } from '../../src/agent/policies/eviction/signals.ts';
import { statsByUID } from '../../src/agent/policies/eviction/pod-usage.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { PodStats } from '../../src/types/stats.ts';
import { firstDifference, type VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly rank: 'memory' | 'pid' | 'disk';
  readonly fsStats?: readonly PodFsPart[];
  readonly resource?: 'ephemeral-storage' | 'inodes';
  readonly pods: readonly Pod[];
  readonly stats: readonly PodStats[];
}

interface Want {
  readonly groups: readonly (readonly string[])[];
  readonly order?: readonly string[];
}

export const adapter: VectorAdapter = {
  adapt({ rank, fsStats = [], resource, pods, stats }: Input) {
    const basis = { resource: resourceOf(rank, resource), parts: fsStats };
    const ranking = rankForEviction(pods, statsByUID({ node: { nodeName: '' }, pods: stats }), basis);
    return { order: ranking.map(({ name }) => name), groups: groups(ranking, basis.resource) };
  },
  /** The kubelet's order of equal pods depends on its sorting algorithm, so every order of equal pods is right. */
  matches(got: Want, want: Want) {
    const { order, groups: equals } = got;
    return firstDifference(want.order ? { order, groups: equals } : { groups: equals }, want) === undefined;
  },
};

function resourceOf(rank: Input['rank'], resource: Input['resource']): StarvedResource {
  if (rank === 'disk') return resource ?? 'ephemeral-storage';
  return rank === 'pid' ? 'pids' : 'memory';
}

/** Neighbours that the ranking treats as equal. */
function groups(ranking: readonly EvictionCandidate[], resource: StarvedResource): string[][] {
  const result: string[][] = [];
  let last: string | undefined;
  for (const { name, priority, usage, exceedsRequest, overRequest } of ranking) {
    const exceeds = resource === 'pids' ? false : exceedsRequest;
    const key = [usage === undefined, exceeds, priority, overRequest].join();
    if (key === last) result.at(-1)?.push(name);
    else result.push([name]);
    last = key;
  }
  return result;
}
