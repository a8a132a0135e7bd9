import { expect, test } from '@jest/globals';
import { inOrder, hasErrors } from '../../../src/doctor/policies/diagnosis.ts';
import { CHECKS, findingsOf } from '../../../src/doctor/policies/finding.ts';

test('findings stand in the order of the checks', () => {
  const findings = CHECKS.map((check) => findingsOf(check).ok(''));
  expect(inOrder(findings.toReversed()).map(({ check }) => check)).toEqual(CHECKS);
});

test('only an error keeps a node from working', () => {
  const { ok, warning, error, unknown } = findingsOf('runtime');
  expect(hasErrors([ok(''), warning('', ''), unknown('')])).toBe(false);
  expect(hasErrors([ok(''), error('', '')])).toBe(true);
});
