import { describe, expect, test } from '@jest/globals';
import { dialFailure, isDialFailure } from '../../../src/runtime/probes/connection-errors.ts';

const ADDRESS = { host: '10.0.0.7', port: 80 };
const failed = (code: string, syscall = 'connect') =>
  Object.assign(new Error(`${code} text`), { code, syscall });

describe('the message of a failed connection', () => {
  test.each([
    ['ECONNREFUSED', 'dial tcp 10.0.0.7:80: connect: connection refused'],
    ['EHOSTUNREACH', 'dial tcp 10.0.0.7:80: connect: no route to host'],
    ['ENOTFOUND', 'dial tcp: lookup 10.0.0.7: no such host'],
    ['EODD', 'dial tcp 10.0.0.7:80: connect: EODD text'],
  ])('%s: %s', (code, message) => {
    expect(dialFailure(ADDRESS, failed(code))).toBe(message);
  });

  test('of a name with several addresses is that of the first', () => {
    const error = new AggregateError([failed('ETIMEDOUT'), failed('ECONNREFUSED')]);
    expect(dialFailure(ADDRESS, error)).toBe('dial tcp 10.0.0.7:80: connect: connection timed out');
  });
});

describe('an error', () => {
  test.each([
    ['of connect', failed('ECONNRESET'), true],
    ['of a lookup', failed('EAI_AGAIN', 'getaddrinfo'), true],
    ['after the connection was made', failed('ECONNRESET', 'read'), false],
  ])('%s came before the connection: %j', (_when, error, expected) => {
    expect(isDialFailure(error)).toBe(expected);
  });
});
