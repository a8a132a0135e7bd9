/** A set of objects is followed through everything that can go wrong between a node and its API server. */
import { expect, test } from '@jest/globals';
import { reflect, type Reflection } from '../../../../src/agent/cluster/watches/reflect.ts';
import { type ApiFaults, NO_API_FAULTS } from '../../../../src/simulation/api/api-faults.ts';
import { keyedRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { ApiBed, apiPod, NODE, podAt, pods } from '../../../simulation/api/api-bed.ts';

const FAULTS: ApiFaults = {
  fail: 0.2,
  lostAnswer: 0.05,
  hang: 0.05,
  slow: 0.1,
  lateEvents: 0.1,
  brokenWatch: 0.7,
  oldList: 0.5,
  lateRights: 0.2,
};
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const STEPS = 300;
/** Longer than a watch that fell silent, a list and all back-offs take. */
const QUIET_MS = 30 * 60_000;

/** What users and controllers do at the server, and what becomes of the server. */
function disturb({ server }: ApiBed, chance: (question: string) => number): void {
  const name = NAMES[Math.floor(chance('name') * NAMES.length)] ?? 'a';
  const known = server.store.get('pods', podAt(name));
  const what = chance('what');
  if (what < 0.1) server.goDownFor(90_000 * chance('down'), { forgetful: chance('forgetful') < 0.3 });
  else if (what < 0.15) server.store.compact();
  else if (!known) server.operations.create(pods, apiPod(name));
  else if (what < 0.5) server.operations.delete(podAt(name), { gracePeriodSeconds: 0 });
  else server.operations.patch(podAt(name), { metadata: { labels: { step: String(what) } } });
}

const told = (list: readonly Pod[]) =>
  list
    .map(({ metadata: { name, uid, resourceVersion } }) => `${name} ${uid} ${resourceVersion ?? ''}`)
    .sort();

test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'no existing object disappears, no object goes back to an older version, and in the end all are known (seed %d)',
  async (seed) => {
    const random = keyedRandom(seed);
    const bed = new ApiBed((key) => random(key));
    bed.server.operations.create({ resource: 'nodes' }, { metadata: { name: NODE } });
    const stored = () => bed.server.store.list('pods') as unknown as readonly Pod[];
    const mistakes: string[] = [];
    let last: Reflection<Pod> = {};
    const check = (next: Reflection<Pod>) => {
      const here = new Map((next.objects ?? []).map((pod) => [pod.metadata.uid, pod]));
      for (const { metadata } of last.objects ?? []) {
        const now = here.get(metadata.uid)?.metadata;
        const exists = stored().some((pod) => pod.metadata.uid === metadata.uid);
        if (now === undefined && exists) mistakes.push(`${metadata.name} (${metadata.uid}) disappeared`);
        if (now && Number(now.resourceVersion) < Number(metadata.resourceVersion))
          mistakes.push(`${metadata.name} went back to ${now.resourceVersion ?? ''}`);
      }
      last = next;
    };
    let asked = 0;
    const options = { clock: bed.clock, random: () => random(`reflector/${asked++}`) };
    const fieldSelector = `spec.nodeName=${NODE}`;
    const following = reflect<Pod>(bed.node, { resource: 'pods' }, { ...options, fieldSelector }).subscribe(
      check,
    );

    bed.faults = FAULTS;
    for (let step = 0; step < STEPS; step += 1) {
      disturb(bed, (question) => random(`${step}/${question}`));
      await bed.clock.advance(20_000 * random(`${step}/pause`) ** 2);
    }
    bed.faults = NO_API_FAULTS;
    await bed.clock.advance(QUIET_MS);
    expect(mistakes).toEqual([]);
    expect(told(last.objects ?? [])).toEqual(told(stored()));
    expect(last.problem).toBeUndefined();
    following.unsubscribe();
    expect([...bed.server.watches]).toEqual([]);
  },
);
