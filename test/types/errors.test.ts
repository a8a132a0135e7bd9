import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { errorKind, errorMessage, StateletError, type ErrorKind } from '../../src/types/errors.ts';

test.each<[ErrorKind, boolean]>([
  ['Unavailable', true],
  ['DeadlineExceeded', true],
  ['Internal', true],
  ['Unknown', true],
  ['ResourceExhausted', true],
  ['Aborted', true],
  ['Canceled', false],
  ['NotFound', false],
  ['AlreadyExists', false],
  ['InvalidArgument', false],
  ['FailedPrecondition', false],
  ['Unimplemented', false],
  ['PermissionDenied', false],
])('%s can be tried again: %s', (kind, retriable) => {
  expect(new StateletError(kind, 'failed').retriable).toBe(retriable);
});

test('an error without a kind is Internal', () => {
  expect(errorKind(new StateletError('NotFound', 'gone'))).toBe('NotFound');
  expect([errorKind(new Error('any')), errorKind('text'), errorKind(undefined)]).toEqual(
    Array(3).fill('Internal'),
  );
});

test('any thrown value has a message, also an error of another realm', () => {
  const foreign: unknown = runInNewContext('new Error("from there")');
  expect([errorMessage(foreign), errorMessage('text'), errorMessage(null)]).toEqual([
    'from there',
    'text',
    'null',
  ]);
});
