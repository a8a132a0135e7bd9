import { describe, expect, test } from '@jest/globals';
import { type PodUpdate, podUpdates } from '../../../src/agent/policies/pod-actions/wanted-pods.ts';
import { SourcePods } from '../../../src/agent/sources/source-pods.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { CountedReads } from '../../support/counted-work.ts';
import { testPod } from '../../support/pods.ts';

const SEEN_AT = '2030-01-01T00:00:00Z';

const podOf = (name: string, uid: string, version = 0): Pod => ({
  ...testPod({ name }),
  metadata: { ...testPod({ name }).metadata, uid, labels: { version: String(version) } },
});

/** The order of pods that go at the same time has no meaning. */
const inOrder = ({ pods, ...update }: PodUpdate) => ({
  ...update,
  pods: pods.toSorted((a, b) => a.metadata.uid.localeCompare(b.metadata.uid)),
});

describe('the pods of a source', () => {
  test('differ from those before as the whole lists say, also where names and UIDs stand twice', () => {
    const random = keyedRandom(1);
    const below = (key: string, count: number) => Math.floor(random(key) * count);
    const pods = new SourcePods('api');
    let known: ReturnType<typeof podUpdates>['known'] = new Map();
    let list: readonly Pod[] = [];
    for (let step = 0; step < 500; step += 1) {
      const at = below(`at/${step}`, list.length + 1);
      const name = `pod-${below(`name/${step}`, 12)}`;
      const uid = random(`taken/${step}`) < 0.1 ? `uid-${below(`uid/${step}`, step + 1)}` : `uid-${step}`;
      const before = list[at];
      const changed = before && podOf(before.metadata.name, before.metadata.uid, step);
      const next = [
        [],
        [podOf(name, uid)],
        changed ? [changed] : [],
        before ? [podOf(name, uid), before] : [],
      ];
      list = list.toSpliced(at, 1, ...(next[below(`what/${step}`, 4)] ?? []));
      const uids = list.map(({ metadata }) => metadata.uid);
      const unique = list.filter(({ metadata }, index) => uids.indexOf(metadata.uid) === index);
      const whole = podUpdates(known, 'api', unique, SEEN_AT);
      known = whole.known;
      const { updates, duplicates, repeated } = pods.take(list, SEEN_AT);
      expect(updates.map(inOrder)).toEqual(whole.updates.map(inOrder));
      expect(duplicates).toEqual(whole.duplicates);
      expect(repeated).toEqual(list.filter((pod) => !unique.includes(pod)));
    }
  });

  test.each([
    ['changes', (pod: Pod) => [{ ...pod, status: { phase: 'Running' } }]],
    ['comes', (pod: Pod) => [pod, podOf('new', 'uid-new')]],
    ['goes', () => []],
  ])('are not looked at where another one %s', (_what, next) => {
    const readsOf = (count: number) => {
      const pods = new SourcePods('api');
      const reads = new CountedReads();
      const list = reads.of(
        Array.from({ length: count }, (_, index) => podOf(`pod-${index}`, `uid-${index}`)),
      );
      pods.take(list, SEEN_AT);
      reads.reads = 0;
      const [middle] = list.slice(count / 2);
      expect(
        pods.take(list.toSpliced(count / 2, 1, ...(middle ? next(middle) : [])), SEEN_AT).updates,
      ).toHaveLength(1);
      return reads.reads;
    };
    expect(readsOf(1000)).toBe(readsOf(10));
  });
});
