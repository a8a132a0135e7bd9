import { describe, expect, test } from '@jest/globals';
import {
  DEFAULT_EVICTION_HARD,
  hardThresholds,
  thresholdQuantity,
} from '../../src/policies/eviction-thresholds.ts';
import { parseQuantity, quantityString } from '../../src/policies/quantity.ts';

describe('hard thresholds', () => {
  test('are quantities, or shares in single precision', () => {
    const thresholds = hardThresholds({ 'memory.available': '1.5Gi', 'nodefs.available': '10%' });
    expect([...thresholds]).toEqual([
      ['memory.available', { quantity: parseQuantity('1.5Gi') }],
      ['nodefs.available', { percentage: 0.10000000149011612 }],
    ]);
  });

  test('are none at 0% and at 100%', () => {
    expect(hardThresholds({ 'memory.available': '0%', 'nodefs.available': '100%' }).size).toBe(0);
  });

  test("have the kubelet's defaults", () => {
    expect(hardThresholds(DEFAULT_EVICTION_HARD).size).toBe(5);
  });

  test.each([
    ['mem.available', '100Mi', 'unsupported eviction signal mem.available'],
    ['memory.available', '0', 'eviction threshold memory.available must be positive: 0'],
    ['memory.available', '-100Mi', 'eviction threshold memory.available must be positive: -100Mi'],
    ['memory.available', '-10%', 'eviction percentage threshold memory.available must be >= 0%: -10%'],
    ['memory.available', '110%', 'eviction percentage threshold memory.available must be <= 100%: 110%'],
    ['memory.available', 'nan%', 'eviction percentage threshold memory.available must be a number: nan%'],
    ['memory.available', '%', 'eviction percentage threshold memory.available must be a number: %'],
    ['memory.available', 'abc', 'quantities must match the regular expression'],
    ['memory.available', '', 'quantities must match the regular expression'],
  ])('%s<%s is none: %s', (signal, text, message) => {
    const expected = expect.objectContaining({
      kind: 'InvalidArgument',
      message: expect.stringContaining(message),
    });
    expect(() => hardThresholds({ [signal]: text })).toThrow(expected);
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
  const threshold = hardThresholds({ 'memory.available': text }).get('memory.available')!;
  expect(quantityString(thresholdQuantity(threshold, parseQuantity(capacity)))).toBe(amount);
});
