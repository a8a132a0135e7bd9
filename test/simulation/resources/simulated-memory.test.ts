import { expect, test } from '@jest/globals';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { SimulatedMemory } from '../../../src/simulation/resources/simulated-memory.ts';
import type { ContainerTruth } from '../../../src/simulation/runtime/witness.ts';

const MI = 2 ** 20;

test('what a container uses is drawn once, and follows its request', () => {
  const draws: string[] = [];
  const drawn = keyedRandom(1);
  const metadata = { name: 'main', attempt: 0 };
  const container = { uid: 'u', metadata, state: 'CONTAINER_RUNNING', startedAt: 0 };
  const sandbox = { ready: false, containers: [container as ContainerTruth] };
  let request = 100 * MI;
  const memory = new SimulatedMemory({
    capacityBytes: 1000 * MI,
    podsBytes: undefined,
    habits: { shares: [0.5], growing: 0, maxPerMs: 0 },
    now: () => 0,
    random: (key) => {
      draws.push(key);
      return drawn(key);
    },
    runtime: { uids: () => ['u'], sandboxesOf: () => [sandbox as never] },
    requestOf: () => request,
  });
  expect(memory.at().bytesOf.get('u')).toBe(50 * MI);
  expect(draws.length).toBeGreaterThan(0);
  draws.length = 0;
  request = 200 * MI;
  expect(memory.at().bytesOf.get('u')).toBe(100 * MI);
  expect(draws).toEqual([]);
});
