import { describe, expect, test } from '@jest/globals';
import { periodMs } from '../../../src/policies/probes/probe.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('probes');

describe('the period of a probe', () => {
  test('is 10 s where none is given', () => {
    expect([periodMs({}), periodMs({ periodSeconds: 0 }), periodMs({ periodSeconds: 3 })]).toEqual([
      10_000, 10_000, 3_000,
    ]);
  });
});
