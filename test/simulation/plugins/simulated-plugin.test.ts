import { expect, test } from '@jest/globals';
import { SimulatedPlugin } from '../../../src/simulation/plugins/simulated-plugin.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { testPod } from '../../support/pods.ts';

const TIMEOUT_MS = 1_000;
const QUESTIONS = 400;

/** Asks one plugin for each seed, and counts how it answers. */
async function outcomes(misbehaves: boolean): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  const clock = new VirtualClock();
  const pod = testPod();
  for (let seed = 1; seed <= QUESTIONS; seed++) {
    const world = {
      random: keyedRandom(seed),
      nodeName: 'here',
      pods: () => [pod],
      misbehaves: () => misbehaves,
      isQuiet: () => false,
    };
    const witness = {
      asked: () => () => undefined,
      askedClosed: () => undefined,
    };
    const plugin = new SimulatedPlugin({
      name: 'p',
      life: 'p',
      world,
      clock,
      timeoutMs: TIMEOUT_MS,
      witness,
    });
    const signal = new AbortController().signal;
    const asked = clock.now();
    const ask = async () => plugin.getEvictPods({ activePods: { pods: [pod] }, signal });
    void ask().then(
      () => count(clock.now() < asked + TIMEOUT_MS ? 'in time' : 'late'),
      () => count('failed'),
    );
    await clock.advance(2 * TIMEOUT_MS);
  }
  return counts;
}

test('a plugin that does not misbehave answers each question in time', async () => {
  expect(await outcomes(false)).toEqual(new Map([['in time', QUESTIONS]]));
});

test('others fail, come late, or never answer', async () => {
  const counts = await outcomes(true);
  const [inTime = 0, late = 0, failed = 0] = ['in time', 'late', 'failed'].map(
    (what) => counts.get(what) ?? 0,
  );
  expect([inTime, late, failed].every((times) => times > 0)).toBe(true);
  expect(inTime + late + failed).toBeLessThan(QUESTIONS);
});
