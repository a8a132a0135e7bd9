/** Random writes by two clients: the double answers as a real server does, and its watches send the same events. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ControlPlane, describeOnControlPlane } from '../../control-plane.ts';
import { startControlPlane } from '../../control-plane/control-plane.ts';
import { compareSeed, firstDifference } from './compare-servers.ts';
import { playSteps } from './play-steps.ts';
import { randomSteps } from './random-steps.ts';
import { RECORDED_SEEDS, RECORDED_STEPS, recordedSteps } from './recorded-steps.ts';

const SEEDS = [11, 12, 13];
const STEPS = 60;

describeOnControlPlane('random writes that a real server has answered', { programs: 'double' }, (double) => {
  test.each(RECORDED_SEEDS)('of seed %i are answered alike, step by step', async (seed) => {
    const steps = randomSteps(seed, RECORDED_STEPS);
    const answers = { real: recordedSteps(seed), double: await playSteps(double, steps, seed) };
    expect(answers.real).toHaveLength(steps.length);
    expect(firstDifference(seed, steps, answers)).toBeUndefined();
  });
});

describeOnControlPlane(
  'random writes to both servers',
  { needsReal: 'it is compared with the double' },
  (real) => {
    let double: ControlPlane;
    beforeAll(async () => {
      double = await startControlPlane({ programs: 'double' });
    });
    afterAll(() => double.stop());

    test.each(SEEDS)('of seed %i are answered alike, step by step', async (seed) => {
      expect(await compareSeed({ real, double }, seed, STEPS)).toBeUndefined();
    });
  },
);

describe('a difference between two servers', () => {
  test('is reported with its seed, the steps up to it, and both answers', () => {
    const steps = randomSteps(5, 3);
    const same = { code: 200, warnings: [], answer: { kind: 'Pod' }, events: [] };
    const real = [same, { ...same, answer: { kind: 'Pod', spec: { a: 1 } } }, same, same];
    const text = firstDifference(5, steps, { real, double: [same, same, same, same] }) ?? '';
    expect(text.split('\n')).toEqual([
      'Seed 5, step 1:',
      expect.stringMatching(/^0: admin: POST \/api\/v1\/namespaces /),
      expect.stringMatching(/^1: (?:admin|node): /),
      'The real server and the double differ:',
      '  .answer.spec',
      '    real:   {"a":1}',
      '    double: undefined',
    ]);
  });
});
