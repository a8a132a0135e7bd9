import { expect, test } from '@jest/globals';
import { failByPlan } from '../../../src/hollow/node/outages.ts';

test('what fails by plan comes back and fails again, at times drawn anew, until that is ended', async () => {
  const { promise: failedTwice, resolve } = Promise.withResolvers<undefined>();
  const drawn: string[] = [];
  const told: string[] = [];
  const draw = (what: string) => {
    drawn.push(what);
    return 0;
  };
  const end = failByPlan({ everyMs: [1, 1], downMs: [1, 1] }, draw, {
    fail: () => {
      told.push('fails');
      if (told.length === 3) resolve(undefined);
    },
    recover: () => told.push('comes back'),
  });
  await failedTwice;
  end();
  expect(told).toEqual(['fails', 'comes back', 'fails']);
  expect(drawn).toEqual(['every/1', 'down/1', 'every/2', 'down/2']);
});
