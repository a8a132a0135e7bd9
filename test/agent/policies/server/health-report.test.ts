import { describe, expect, test } from '@jest/globals';
import {
  checkReport,
  type HealthCheck,
  healthReport,
  verbosityOf,
} from '../../../../src/agent/policies/server/health-report.ts';

const passes = (name: string): HealthCheck => ({ name, problem: undefined });
const CHECKS = [passes('ping'), passes('log'), passes('syncloop'), passes('device-plugin')];
const SICK = [passes('ping'), { name: 'syncloop', problem: 'the loop is stuck' }];
const asked = (query: string, checks: readonly HealthCheck[] = CHECKS) =>
  healthReport(checks, new URLSearchParams(query));

describe('all checks together', () => {
  test.each([
    ['', 'ok'],
    ['verbose=0', '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n'],
    [
      'verbose&exclude=ping',
      '[+]ping excluded: ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n',
    ],
    ['exclude=nope', 'ok'],
    [
      'exclude=nope&exclude=a&verbose',
      '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\n' +
        'warn: some health checks cannot be excluded: no matches for "a", "nope"\nhealthz check passed\n',
    ],
  ])('?%s', (query, text) => {
    expect(asked(query)).toEqual({ isHealthy: true, text });
  });

  test('a check that fails is named, and its reason is withheld', () => {
    const text = '[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n';
    expect(asked('', SICK)).toEqual({ isHealthy: false, text });
  });

  test('a check that is excluded may fail', () => {
    expect(asked('exclude=syncloop', SICK)).toEqual({ isHealthy: true, text: 'ok' });
  });
});

describe('one check', () => {
  test('that passes', () => {
    expect(checkReport(passes('ping'))).toEqual({ isHealthy: true, text: 'ok' });
  });

  test('that fails says why', () => {
    const text = 'internal server error: the loop is stuck\n';
    expect(checkReport({ name: 'syncloop', problem: 'the loop is stuck' })).toEqual({
      isHealthy: false,
      text,
    });
  });
});

test.each([
  ['0', 0],
  ['4', 4],
  ['007', 7],
  ['2147483647', 2_147_483_647],
])('%j is a verbosity', (text, level) => {
  expect(verbosityOf(text)).toBe(level);
});

test.each([
  ['', 'strconv.ParseUint: parsing "": invalid syntax'],
  ['abc', 'strconv.ParseUint: parsing "abc": invalid syntax'],
  ['-1', 'strconv.ParseUint: parsing "-1": invalid syntax'],
  ['+2', 'strconv.ParseUint: parsing "+2": invalid syntax'],
  [' 3', 'strconv.ParseUint: parsing " 3": invalid syntax'],
  ['3\n', String.raw`strconv.ParseUint: parsing "3\n": invalid syntax`],
  ['0x3', 'strconv.ParseUint: parsing "0x3": invalid syntax'],
  ['1.5', 'strconv.ParseUint: parsing "1.5": invalid syntax'],
  ['4294967296', 'strconv.ParseUint: parsing "4294967296": value out of range'],
  [
    '2147483648',
    'failed set klog.logging.verbosity 2147483648: strconv.ParseInt: parsing "2147483648": value out of range',
  ],
])('%j is refused as the kubelet refuses it', (text, message) => {
  expect(() => verbosityOf(text)).toThrow(expect.objectContaining({ kind: 'InvalidArgument', message }));
});
