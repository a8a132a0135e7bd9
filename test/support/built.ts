/**
 * For tests of the command line as it is published. Importing this builds `dist/` when it is older than its sources: once in a worker,
 * since looking takes half a second. Workers wait for one build, by a lock on the build script.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../scripts/build.ts', import.meta.url));
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'];

/** This module is loaded for each test file. Its result is kept for the worker. */
const worker = globalThis as { isStateletBuilt?: boolean };

if (worker.isStateletBuilt !== true) {
  execFileSync('flock', [SCRIPT, ...NODE, SCRIPT, '--if-stale'], { stdio: ['ignore', 'inherit', 'inherit'] });
  worker.isStateletBuilt = true;
}

export const BIN = fileURLToPath(new URL('../../bin/statelet.js', import.meta.url));

/** The arguments of Node to run it: the flags of its first line, and its path. */
export const BIN_ARGS: readonly string[] = [...flagsOf(readFileSync(BIN, 'utf8')), BIN];

function flagsOf(program: string): readonly string[] {
  const [, flags = ''] = /^#!.* node (.+)$/m.exec(program) ?? [];
  return flags.split(' ').filter(Boolean);
}
