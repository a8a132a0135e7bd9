import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { errnoCode, ifThere, isAbsence, isOutOfSpace } from '../../src/system/system-errors.ts';

const failure = (code: string) => Object.assign(new Error(code), { code });

test('a full disk and a used up quota are out of space; other errors are not', () => {
  expect([failure('ENOSPC'), failure('EDQUOT'), failure('EACCES'), undefined].map(isOutOfSpace)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(errnoCode(new Error('any'))).toBeUndefined();
});

test('a path that does not exist is undefined; other errors are passed on', async () => {
  expect(await ifThere(readFile('/no/such/file'))).toBeUndefined();
  await expect(ifThere(readFile('/'))).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await ifThere(Promise.resolve('content'))).toBe('content');
});

test('a missing file and a file in place of a folder mean absence; other errors do not', () => {
  expect(['ENOENT', 'ENOTDIR', 'EACCES'].map((code) => isAbsence(failure(code)))).toEqual([
    true,
    true,
    false,
  ]);
});
