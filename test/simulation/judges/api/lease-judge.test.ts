import { expect, test } from '@jest/globals';
import { LeaseJudge } from '../../../../src/simulation/judges/api/lease-judge.ts';

function bed() {
  const time = { now: 1_000_000 };
  const reported: string[] = [];
  const judge = new LeaseJudge({ now: () => time.now, violated: (what) => reported.push(what) });
  const after = (seconds: number) => {
    time.now += seconds * 1000;
    return judge;
  };
  return { judge, reported, after };
}

test('a lease is renewed within 40 s', () => {
  const { judge, reported, after } = bed();
  judge.renewed();
  after(40).renewed();
  expect(reported).toEqual([]);
  after(45).renewed();
  expect(reported).toEqual(['the lease is renewed 5 s too late']);
});

test('a failed request gives it the same time again', () => {
  const { judge, reported, after } = bed();
  judge.renewed();
  after(39).delayed();
  after(40).renewed();
  expect(reported).toEqual([]);
});

test('before the first renewal of an agent, nothing is due', () => {
  const { judge, reported, after } = bed();
  after(100).delayed();
  expect(after(100).overdueMs).toBe(0);
  judge.renewed();
  expect(after(50).overdueMs).toBe(10_000);
  judge.abandoned();
  after(100).renewed();
  expect(reported).toEqual([]);
});
