import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { When } from './death.ts';
import type { Stage } from './stage.ts';
import { Storm } from './storm.ts';
import { Succession } from './succession.ts';

/** Other seeds: `SEEDS=3,4,5`; more deaths in each: `DEATHS=20`. */
const SEEDS = (process.env.SEEDS ?? '2').split(',').map(Number);
const DEATHS = Number(process.env.DEATHS ?? '4');

/** Kills a daemon at each of these points, and at seeded points; every time another daemon takes over. */
export function testDeaths(
  openStage: () => Promise<Stage>,
  points: readonly (readonly [when: When, call: string])[],
): void {
  describe('a daemon is killed', () => {
    let stage: Stage;
    let daemons: Succession;

    beforeAll(async () => {
      stage = await openStage();
      daemons = new Succession(stage);
      daemons.world.add('job', 'job');
      daemons.world.add('lasting', 'two');
      daemons.world.add('replaced', 'staged');
      await daemons.start();
    });
    afterAll(() => stage.close());

    test.each(points)('%s %s: I10 holds for the next daemon', async (when, call) => {
      const replace = () => daemons.world.add('replaced', 'staged');
      expect(await daemons.dieAt({ when, calls: [call], nth: 1 }, replace)).toBe(call);
      await daemons.start();
      expect(daemons.violations.splice(0)).toEqual([]);
    });

    test('again and again: nothing is left of the pods of all daemons', async () => {
      await daemons.end();
      expect(daemons.violations).toEqual([]);
    });
  });

  describe('while pods are added, changed and removed, daemons are killed', () => {
    let stage: Stage;

    beforeEach(async () => {
      stage = await openStage();
    });
    afterEach(() => stage.close());

    test.each(SEEDS)('seed %d: I10 holds for each daemon, and nothing is left of the pods', async (seed) => {
      expect(await new Storm(stage, seed).rage(DEATHS)).toEqual([]);
    });
  });
}
