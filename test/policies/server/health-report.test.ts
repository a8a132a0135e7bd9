import { describe, expect, test } from '@jest/globals';
import { checkReport, type HealthCheck, healthReport } from '../../../src/policies/server/health-report.ts';

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

  test('a check that fails is named, and its reason is not told', () => {
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

  test('that fails tells why', () => {
    const text = 'internal server error: the loop is stuck\n';
    expect(checkReport({ name: 'syncloop', problem: 'the loop is stuck' })).toEqual({
      isHealthy: false,
      text,
    });
  });
});
