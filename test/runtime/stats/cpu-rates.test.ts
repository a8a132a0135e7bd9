import { beforeEach, expect, test } from '@jest/globals';
import { CpuRates } from '../../../src/runtime/stats/cpu-rates.ts';

const SECOND_NS = 1e9;
let rates: CpuRates;
beforeEach(() => {
  rates = new CpuRates();
});

const rateAt = (nowMs: number, usageCoreNanoSeconds: number, name = 'pod') =>
  rates.withRate(name, { time: '', usageCoreNanoSeconds }, nowMs)?.usageNanoCores;

test('the first figure has no rate; the second figure has the rate since the first', () => {
  expect(rateAt(0, 0)).toBeUndefined();
  expect(rateAt(2_000, SECOND_NS)).toBe(SECOND_NS / 2);
});

test('within a second the last rate stays, and the next rate covers the whole time', () => {
  rateAt(0, 0);
  rateAt(1_000, SECOND_NS);
  expect(rateAt(1_500, 3 * SECOND_NS)).toBe(SECOND_NS);
  expect(rateAt(3_000, 5 * SECOND_NS)).toBe(2 * SECOND_NS);
});

test.each([
  ['a usage that is lower than before', 2_000, 0],
  ['a clock that was set back', 500, 2 * SECOND_NS],
])('%s starts a new rate', (_what, nowMs, usage) => {
  rateAt(1_000, SECOND_NS);
  expect(rateAt(nowMs, usage)).toBeUndefined();
  expect(rateAt(nowMs + 1_000, usage + SECOND_NS)).toBe(SECOND_NS);
});

test('each name has its own rate', () => {
  rateAt(0, 0, 'a');
  expect(rateAt(1_000, SECOND_NS, 'b')).toBeUndefined();
});

test('a sample that was not used for ten minutes is dropped', () => {
  rateAt(0, 0, 'old');
  rateAt(1, 0, 'new');
  rates.forgetOld(600_001);
  expect(rateAt(600_001, SECOND_NS, 'old')).toBeUndefined();
  expect(rateAt(600_001, SECOND_NS, 'new')).toBeDefined();
});

test('figures without a usage pass unchanged', () => {
  expect(rates.withRate('pod', undefined, 0)).toBeUndefined();
  expect(rates.withRate('pod', { time: 't' }, 0)).toEqual({ time: 't' });
});
