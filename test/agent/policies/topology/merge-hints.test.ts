import { expect, test } from '@jest/globals';
import { mergeHints, type MergeSettings } from '../../../../src/agent/policies/topology/merge-hints.ts';
import { nodeSets, type TopologyHint } from '../../../../src/agent/policies/topology/topology-hint.ts';
import { seededRandom, type SeededRandom } from '../../../../src/simulation/plan/seeded-random.ts';

const POLICIES = ['best-effort', 'restricted', 'single-numa-node'] as const;
const FOUR = {
  ids: [0, 1, 2, 3],
  distances: [
    [10, 20, 12, 30],
    [20, 10, 30, 12],
    [12, 30, 10, 20],
    [30, 12, 20, 10],
  ],
};

const settings = (policy: MergeSettings['policy'], prefersClosest = false): MergeSettings => ({
  policy,
  numa: FOUR,
  prefersClosest,
});
const hint = (numaNodes: readonly number[] | undefined, preferred: boolean): TopologyHint => ({
  numaNodes,
  preferred,
});
const one = (...hints: TopologyHint[]) => new Map([['cpu', hints]]);
const ANYWHERE = new Map([['example.com/nic', undefined]]);

test('sets of nodes come small ones first; of more than eight nodes only single ones and all', () => {
  expect(nodeSets([2, 0, 1])).toEqual([[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]);
  const nine = Array.from({ length: 9 }, (_, node) => node);
  expect(nodeSets(nine)).toEqual([...nine.map((node) => [node]), nine]);
});

test.each(POLICIES)('%s: providers that do not care leave the choice open', (policy) => {
  const { hint: merged, isAdmitted } = mergeHints(settings(policy), [new Map(), ANYWHERE]);
  expect(isAdmitted).toBe(true);
  const all = policy === 'single-numa-node' ? undefined : FOUR.ids;
  expect(merged).toEqual({ numaNodes: all, preferred: true });
});

test.each([
  ['best-effort', true],
  ['restricted', false],
  ['single-numa-node', false],
] as const)('%s where no set of nodes would do: %s', (policy, isAdmitted) => {
  expect(mergeHints(settings(policy), [one()]).isAdmitted).toBe(isAdmitted);
});

test('what two providers prefer on the same node is preferred, on different ones not', () => {
  const both = [one(hint([0], true), hint([1], true)), new Map([['gpu', [hint([1], true)]]])];
  expect(mergeHints(settings('restricted'), both)).toEqual({ hint: hint([1], true), isAdmitted: true });
  const apart = [one(hint([0], true), hint([0, 1], false)), new Map([['gpu', [hint([1], true)]]])];
  expect(mergeHints(settings('restricted'), apart)).toEqual({ hint: hint([1], false), isAdmitted: false });
});

test('two nodes are enough for restricted, and not for single-numa-node', () => {
  const two = [one(hint([0, 1], true), hint([2, 3], true))];
  expect(mergeHints(settings('restricted'), two).hint).toEqual(hint([0, 1], true));
  expect(mergeHints(settings('single-numa-node'), two).isAdmitted).toBe(false);
});

test('prefer-closest-numa-nodes takes nodes that are near each other', () => {
  const pairs = [one(hint([0, 1], true), hint([1, 3], true), hint([0, 2], true))];
  expect(mergeHints(settings('best-effort'), pairs).hint.numaNodes).toEqual([0, 1]);
  expect(mergeHints(settings('best-effort', true), pairs).hint.numaNodes).toEqual([0, 2]);
});

test('the answer is the one of the long way: every choice of hints, compared one after the other', () => {
  for (let seed = 0; seed < 400; seed++) {
    const random = seededRandom(seed);
    const providers = Array.from({ length: random.integer(1, 3) }, () => randomHints(random));
    const policy = POLICIES[seed % 3]!;
    const closest = seed % 2 === 0;
    const merged = mergeHints(settings(policy, closest), providers);
    expect({ seed, ...merged }).toEqual({ seed, ...longWay(policy, closest, providers) });
  }
});

function randomHints(random: SeededRandom) {
  if (random.next() < 0.1) return new Map<string, TopologyHint[]>();
  const sets = nodeSets(FOUR.ids).filter(() => random.next() < 0.4);
  return new Map([['any', sets.map((set) => hint(set, random.next() < 0.5))]]);
}

/** Bit masks and the kubelet's comparison of a candidate with the best so far, case by case. */
function longWay(
  policy: MergeSettings['policy'],
  closest: boolean,
  providers: readonly ReadonlyMap<string, readonly TopologyHint[]>[],
) {
  const maskOf = (nodes: readonly number[]) => nodes.reduce((mask, node) => mask | (1 << node), 0);
  const count = (mask: number) => FOUR.ids.filter((node) => (mask >> node) & 1).length;
  let lists = providers.flatMap((hints) =>
    hints.size === 0
      ? [[hint(undefined, true)]]
      : [...hints.values()].map((list) => (list.length === 0 ? [hint(undefined, false)] : list)),
  );
  const single = policy === 'single-numa-node';
  if (single)
    lists = lists.map((list) => list.filter((h) => h.preferred && (h.numaNodes?.length ?? 1) === 1));
  const needed = Math.max(
    0,
    ...lists
      .map((list) => Math.min(...list.flatMap((h) => h.numaNodes?.length ?? [])))
      .filter(Number.isFinite),
  );
  let best: { mask: number; preferred: boolean } | undefined;
  for (const choice of product(lists)) {
    const masks = choice.flatMap((h) => (h.numaNodes ? [maskOf(h.numaNodes)] : []));
    const candidate = {
      mask: masks.reduce((all, mask) => all & mask, 15),
      preferred: choice.every((h) => h.preferred) && masks.every((mask) => mask === masks[0]),
    };
    if (candidate.mask === 0) continue;
    if (best === undefined || isBetter(candidate, best)) best = candidate;
  }
  best ??= { mask: 15, preferred: false };
  const nodes = single && best.mask === 15 ? undefined : FOUR.ids.filter((node) => (best.mask >> node) & 1);
  return { hint: hint(nodes, best.preferred), isAdmitted: policy === 'best-effort' || best.preferred };

  function isBetter(candidate: NonNullable<typeof best>, current: NonNullable<typeof best>): boolean {
    if (candidate.preferred !== current.preferred) return candidate.preferred;
    const [a, b] = [count(candidate.mask), count(current.mask)];
    if (candidate.preferred || b > needed) return isFitter(candidate.mask, current.mask);
    if (b === needed) return a === needed && isFitter(candidate.mask, current.mask);
    if (a > needed) return false;
    if (a === needed || a !== b) return a === needed || a > b;
    return isFitter(candidate.mask, current.mask);
  }

  function isFitter(a: number, b: number): boolean {
    if (count(a) !== count(b)) return count(a) < count(b);
    const far = (mask: number) =>
      FOUR.ids
        .flatMap((i) => FOUR.ids.flatMap((j) => ((mask >> i) & (mask >> j) & 1 ? FOUR.distances[i]![j]! : 0)))
        .reduce((sum, each) => sum + each, 0);
    if (closest && !single && far(a) !== far(b)) return far(a) < far(b);
    return a < b;
  }
}

function product(lists: readonly (readonly TopologyHint[])[]): TopologyHint[][] {
  return lists.reduce<TopologyHint[][]>(
    (all, list) => all.flatMap((choice) => list.map((each) => [...choice, each])),
    [[]],
  );
}
