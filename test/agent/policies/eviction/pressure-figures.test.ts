import { expect, test } from '@jest/globals';
import { observe } from '../../../../src/agent/policies/eviction/observations.ts';
import { evaluateEviction, INITIAL_EVICTION_STATE } from '../../../../src/agent/policies/eviction/pass.ts';
import { pressureFigures } from '../../../../src/agent/policies/eviction/pressure-figures.ts';
import { factsWith, type Left, settingsWith, summaryOf, thresholds } from '../../../support/eviction.ts';

const MI = 2 ** 20;
const BOTH = thresholds({
  evictionHard: { 'memory.available': '100Mi' },
  evictionSoft: { 'memory.available': '25%' },
  evictionSoftGracePeriod: { 'memory.available': '30s' },
});

/** The signals that each pass tells, of passes one after another. */
function told(...passes: readonly (readonly [second: number, left: Left])[]): readonly (readonly string[])[] {
  let state = INITIAL_EVICTION_STATE;
  return passes.map(([second, left]) => {
    const nowMs = second * 1_000;
    const summary = summaryOf({ nowMs, ...left });
    const evaluation = evaluateEviction(
      factsWith({ settings: settingsWith({ thresholds: BOTH }), state, nowMs, summary }),
    );
    ({ state } = evaluation);
    return (evaluation.figures ?? []).map(({ signal, left: amount }) => `${signal} ${amount}`);
  });
}

test('figures have what is left beside the hard and the soft threshold, and are of the node and of what has thresholds', () => {
  const figures = (left: Left) => pressureFigures(observe(summaryOf(left)), BOTH);
  expect(figures({ memory: 512, pids: 400, imagefs: 3, ioStall: 5 })).toEqual([
    { signal: 'memory.available', left: 512 * MI, whole: 1024 * MI, hard: 100 * MI, soft: 256 * MI },
    { signal: 'pid.available', left: 400, whole: 1000 },
  ]);
});

test('the first pass has all figures, and a later one those that have changed noticeably', () => {
  const memory = (left: number) => `memory.available ${left * MI}`;
  expect(
    told(
      [0, { memory: 800, pids: 400 }],
      [10, { memory: 790, pids: 400 }],
      [20, { memory: 770, pids: 399 }],
      [30, { memory: 800, pids: 379 }],
    ),
  ).toEqual([[memory(800), 'pid.available 400'], [], [memory(770)], [memory(800), 'pid.available 379']]);
});

test('slow changes add up, small amounts count for more, and a crossed threshold is always recorded', () => {
  const memory = (left: number) => [`memory.available ${left * MI}`];
  expect(
    told(
      ...([800, 790, 779].map((left, index) => [index, { memory: left }]) as [number, Left][]),
      [10, { memory: 101 }],
      [11, { memory: 99 }],
      [12, { memory: 81 }],
      [13, { memory: 79 }],
    ),
  ).toEqual([memory(800), [], memory(779), memory(101), memory(99), [], memory(79)]);
});

test('a figure that does not change is recorded again after ten minutes', () => {
  const left = { memory: 800 };
  expect(told([0, left], [599, left], [600, left], [601, left]).map(({ length }) => length)).toEqual([
    1, 0, 1, 0,
  ]);
});
