import { describe, expect, test } from '@jest/globals';
import {
  DEFAULT_EVICTION_HARD,
  gracePeriodMs,
  gracePeriods,
  thresholdValues,
  parseThresholds,
  thresholdQuantity,
} from '../../../../src/agent/policies/eviction/thresholds.ts';
import { parseQuantity, quantityString } from '../../../../src/agent/policies/formats/quantity.ts';

describe('hard thresholds', () => {
  test('are quantities, or percentages in single precision', () => {
    const thresholds = thresholdValues({ 'memory.available': '1.5Gi', 'nodefs.available': '10%' });
    expect([...thresholds]).toEqual([
      ['memory.available', { quantity: parseQuantity('1.5Gi') }],
      ['nodefs.available', { percentage: 0.10000000149011612 }],
    ]);
  });

  test('are none at 0% and at 100%', () => {
    expect(thresholdValues({ 'memory.available': '0%', 'nodefs.available': '100%' }).size).toBe(0);
  });

  test("have the kubelet's defaults", () => {
    expect(thresholdValues(DEFAULT_EVICTION_HARD).size).toBe(5);
  });

  test.each([
    ['mem.available', '100Mi', 'unsupported eviction signal mem.available'],
    ['memory.available', '0', 'eviction threshold memory.available must be positive: 0'],
    ['memory.available', '-100Mi', 'eviction threshold memory.available must be positive: -100Mi'],
    ['memory.available', '-10%', 'eviction percentage threshold memory.available must be >= 0%: -10%'],
    ['memory.available', '110%', 'eviction percentage threshold memory.available must be <= 100%: 110%'],
    ['memory.available', 'nan%', 'eviction percentage threshold memory.available must be a number: nan%'],
    ['memory.available', 'NaN%', 'eviction percentage threshold memory.available must be a number: NaN%'],
    ['memory.available', '10%%', 'eviction percentage threshold memory.available must be a number: 10%%'],
    ['memory.available', '%', 'eviction percentage threshold memory.available must be a number: %'],
    ['memory.available', 'abc', 'quantities must match the regular expression'],
    ['memory.available', '', 'quantities must match the regular expression'],
  ])('%s<%s is refused: %s', (signal, text, message) => {
    const expected = expect.objectContaining({
      kind: 'InvalidArgument',
      message: expect.stringContaining(message),
    });
    expect(() => thresholdValues({ [signal]: text })).toThrow(expected);
  });
});

describe('all thresholds', () => {
  const NONE = {
    evictionHard: {},
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforceNodeAllocatable: [],
  };

  test('are ordered: hard thresholds first, then soft ones, each in the order of the settings', () => {
    const thresholds = parseThresholds({
      ...NONE,
      evictionSoft: { 'pid.available': '5%', 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'pid.available': '1m30s', 'memory.available': '0.5h' },
      evictionHard: { 'nodefs.available': '10%', 'memory.available': '100Mi' },
      evictionMinimumReclaim: { 'memory.available': '5%' },
    });
    expect(thresholds.map(({ signal, gracePeriodMs }) => [signal, gracePeriodMs])).toEqual([
      ['nodefs.available', 0],
      ['memory.available', 0],
      ['pid.available', 90_000],
      ['memory.available', 1_800_000],
    ]);
    const minReclaim = { percentage: Math.fround(0.05) };
    expect(thresholds[1]).toMatchObject({ minReclaim });
    expect(thresholds[3]).toMatchObject({ minReclaim });
    expect(thresholds[0]?.minReclaim).toBeUndefined();
  });

  test('memory.available also applies to allocatable memory if node allocatable is enforced for pods', () => {
    const settings = { ...NONE, evictionHard: { 'memory.available': '100Mi' } };
    const signals = (enforceNodeAllocatable: string[]) =>
      parseThresholds({ ...settings, enforceNodeAllocatable }).map(({ signal }) => signal);
    expect(signals(['pods'])).toEqual(['memory.available', 'allocatableMemory.available']);
    expect(signals(['system-reserved'])).toEqual(['memory.available']);
  });

  test.each([
    ['abc', 'eviction grace period of memory.available must be a duration such as "1m30s": "abc"'],
    ['30', 'must be a duration'],
    ['', 'must be a duration'],
    ['30mins', 'must be a duration'],
    ['1m 30s', 'must be a duration'],
    ['-30s', 'invalid eviction grace period specified: -30s, must be a positive value'],
  ])('a grace period of "%s" is refused: %s', (text, message) => {
    const settings = {
      ...NONE,
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': text },
    };
    const expected = expect.objectContaining({
      kind: 'InvalidArgument',
      message: expect.stringContaining(message),
    });
    expect(() => parseThresholds(settings)).toThrow(expected);
  });

  test.each([
    ['-1Mi', 'negative eviction minimum reclaim specified for memory.available'],
    ['0.0%', 'eviction percentage minimum reclaim memory.available must be positive: 0.0%'],
    ['1e400%', 'eviction percentage minimum reclaim memory.available must be a number: 1e400%'],
    ['1Kib', 'quantities must match the regular expression'],
  ])('a minimum reclaim of %s is refused: %s', (text, message) => {
    const settings = { ...NONE, evictionMinimumReclaim: { 'memory.available': text } };
    expect(() => parseThresholds(settings)).toThrow(message);
  });

  test('an unknown signal is refused in every setting', () => {
    const wrong = { 'mem.available': '1m' };
    for (const field of ['evictionHard', 'evictionSoft', 'evictionSoftGracePeriod', 'evictionMinimumReclaim'])
      expect(() => parseThresholds({ ...NONE, [field]: wrong })).toThrow(
        'unsupported eviction signal mem.available',
      );
  });

  test('a soft threshold without a grace period is refused', () => {
    expect(() => parseThresholds({ ...NONE, evictionSoft: { 'memory.available': '1Gi' } })).toThrow(
      'grace period must be specified for the soft eviction threshold memory.available',
    );
  });
});

test.each([
  ['100Mi', '1Gi', '100Mi'],
  ['2Gi', '1Gi', '2Gi'],
  ['25%', '1Gi', '256Mi'],
  // A tenth in single precision is a little more than a tenth.
  ['10%', '264212084Ki', '27055317804'],
  ['0.5%', '1000', '4'],
])('%s of %s is %s', (text, capacity, amount) => {
  const threshold = thresholdValues({ 'memory.available': text }).get('memory.available')!;
  expect(quantityString(thresholdQuantity(threshold, parseQuantity(capacity)))).toBe(amount);
});

test('grace periods are durations, by signal', () => {
  const periods = gracePeriods({ 'memory.available': '1m30s', 'nodefs.available': '0s' });
  expect([...periods]).toEqual([
    ['memory.available', 90_000],
    ['nodefs.available', 0],
  ]);
});

test('an unknown signal is refused', () => {
  expect(() => gracePeriods({ 'memory.free': '1m' })).toThrow('unsupported eviction signal memory.free');
});

test('a grace period that is no duration, or a negative one, is refused', () => {
  expect(() => gracePeriodMs('memory.available', 'soon')).toThrow(
    'eviction grace period of memory.available must be a duration such as "1m30s": "soon"',
  );
  expect(() => gracePeriodMs('memory.available', '-1s')).toThrow(
    'invalid eviction grace period specified: -1s, must be a positive value',
  );
});
