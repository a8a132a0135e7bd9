import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFile } from '../../src/system/file-lock.ts';
import { waitFor } from './wait-for.ts';

/**
 * For a test that uses much of the whole machine: only one runs at a time, in all test runs of the machine. Resolves to the function that lets the
 * next one begin. A lock of a process that has ended is free.
 */
export async function lockMachine(what: string): Promise<() => void> {
  const path = join(tmpdir(), `statelet-tests-${what}.lock`);
  let release: (() => void) | undefined;
  const isLocked = () => {
    const lock = lockFile(path);
    if ('release' in lock) release = () => lock.release();
    return 'release' in lock;
  };
  await waitFor(isLocked, { what: `the turn to take ${what} of this machine`, pauseMs: 200 });
  return () => release?.();
}
