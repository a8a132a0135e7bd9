import { expect, test } from '@jest/globals';
import { activePodsBytes } from '../../../src/plugins/eviction/active-pods-bytes.ts';
import { activePodsRequest } from '../../../src/plugins/protocol/eviction-plugin-messages.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { randomPod } from '../../support/table-pods.ts';

const pods = Array.from({ length: 20 }, (_, seed) => randomPod(seededRandom(seed)) as unknown as Pod);

test('the pods of a pass are written as the request has them', () => {
  expect(activePodsBytes({ pods })).toEqual(activePodsRequest.encode({ activePods: pods }));
  expect(activePodsBytes({ pods: [] }).length).toBe(0);
});

test('the same pass gives the same bytes, without writing them again', () => {
  const pass = { pods };
  expect(activePodsBytes(pass)).toBe(activePodsBytes(pass));
});

test('a pod that has not changed is not read again', () => {
  let reads = 0;
  const pod = pods[0]!;
  const watched = {
    ...pod,
    get metadata() {
      reads += 1;
      return pod.metadata;
    },
  };
  const first = activePodsBytes({ pods: [watched] });
  const once = reads;
  expect(once).toBeGreaterThan(0);
  expect(activePodsBytes({ pods: [watched] })).toEqual(first);
  expect(reads).toBe(once);
  activePodsBytes({ pods: [{ ...watched }] });
  expect(reads).toBeGreaterThan(once);
});
