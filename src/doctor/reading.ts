/** Reads files and answers, with errors of the system in words for people. */
import { readFile } from 'node:fs/promises';
import type { Reading } from './policies/finding.ts';
import { readProvidedFile } from '../system/files/foreign-file.ts';
import { errnoCode } from '../system/system-errors.ts';
import { errorMessage } from '../types/errors.ts';

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a folder',
  ECONNREFUSED: 'takes no connection: no program listens there',
  ENOTSOCK: 'is not a socket',
  ELOOP: 'is a link that leads in a circle',
};

export async function reading<T>(work: Promise<T>): Promise<Reading<T>> {
  try {
    return { value: await work };
  } catch (error) {
    const code = errnoCode(error) ?? '';
    return { problem: WORDS[code] ?? errorMessage(error), isForbidden: ['EACCES', 'EPERM'].includes(code) };
  }
}

/** A file of an operator, of an installer or of another program. */
export function textOf(path: string): Promise<Reading<string>> {
  return reading(readProvidedFile(path));
}

/** Files of the kernel, which say nothing of their size; all of these end. */
export function kernelText(path: string): Promise<Reading<string>> {
  return reading(readFile(path, 'utf8'));
}

export function mapped<T, U>(read: Reading<T>, change: (value: T) => U): Reading<U> {
  return 'value' in read ? { value: change(read.value) } : read;
}

export function valueOr<T>(read: Reading<T>, otherwise: T): T {
  return 'value' in read ? read.value : otherwise;
}
