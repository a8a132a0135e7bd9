/** ResourceSlices that are kept without their driver, or deleted while it is there, are reported. */
import { expect, test } from '@jest/globals';
import { SlicesJudge } from '../../../src/simulation/judges/slices-judge.ts';

function bed() {
  const violations: string[] = [];
  const world = {
    nowMs: 0,
    isThere: false,
    goneAt: 0,
    wasRegistered: true,
    isPublished: true,
    registeredAt: undefined as number | undefined,
  };
  const judge = new SlicesJudge({
    now: () => world.nowMs,
    isPublished: () => world.isPublished,
    registeredAt: () => world.registeredAt,
    isThere: () => world.isThere,
    goneAt: () => world.goneAt,
    wasRegistered: () => world.wasRegistered,
    isReachable: () => true,
    violated: (what) => violations.push(what),
  });
  const passes = (seconds: number, isAtWork = true) => {
    for (let second = 0; second < seconds; second += 2) {
      judge.housekeeping(isAtWork);
      world.nowMs += 2_000;
    }
  };
  return { judge, world, passes, reported: () => [...new Set(violations.splice(0))] };
}

test('slices that stay for too long without their driver are reported', () => {
  const { passes, reported } = bed();
  passes(44);
  expect(reported()).toEqual([]);
  passes(6);
  expect(reported()).toEqual(['its ResourceSlices are kept, and it is gone']);
});

test('slices may stay that a driver publishes after the first deletion, if it goes before it is registered', () => {
  const { judge, world, passes, reported } = bed();
  world.wasRegistered = false;
  passes(50);
  expect(reported()).toEqual(['its ResourceSlices are kept, and it is gone']);
  judge.asked(1);
  judge.deleted(1);
  judge.answered(1, true);
  passes(50);
  expect(reported()).toEqual([]);
  judge.asked(2);
  judge.answered(2, false);
  passes(50);
  expect(reported()).toHaveLength(1);
});

test.each<[string, (given: ReturnType<typeof bed>) => void]>([
  [
    'the driver is back',
    ({ world, passes }) => {
      world.isThere = true;
      passes(2);
      world.isThere = false;
    },
  ],
  [
    'the driver was back for a moment',
    ({ world }) => {
      world.goneAt = world.nowMs;
    },
  ],
  ['no agent is at work', ({ passes }) => passes(2, false)],
  [
    'the agent has waited for an answer',
    ({ judge, passes }) => {
      judge.asked(1);
      passes(60);
      judge.answered(1, false);
    },
  ],
  ['the agent has had an answer', ({ judge }) => judge.answered(1, false)],
])('the time starts again when %s', (_, happens) => {
  const given = bed();
  given.passes(40);
  happens(given);
  given.passes(40);
  expect(given.reported()).toEqual([]);
});

test('slices of a driver that has long been registered are not deleted, except by what an agent does first', () => {
  const { judge, world, reported } = bed();
  Object.assign(world, { isThere: true, registeredAt: 0, nowMs: 100_000 });
  const deletes = (isDone = true) => {
    judge.asked(1);
    if (isDone) judge.deleted(1);
    judge.answered(1, isDone);
    world.nowMs += 10_000;
  };
  deletes(false);
  deletes();
  expect(reported()).toEqual([]);
  deletes();
  expect(reported()).toEqual(['its ResourceSlices are deleted, and it is there']);
  world.registeredAt = world.nowMs;
  deletes();
  world.registeredAt = undefined;
  deletes();
  expect(reported()).toEqual([]);
});
