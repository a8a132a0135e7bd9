/**
 * For tests of the command line as it is published. Importing this builds `dist/` when it is older than its sources: once in a worker,
 * since looking takes half a second. Workers wait for one build, by a lock on the build script.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../scripts/build.ts', import.meta.url));
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'];

/** This module is loaded for each test file; what it has found is kept for the worker. */
const worker = globalThis as { isStateletBuilt?: boolean };

if (worker.isStateletBuilt !== true) {
  execFileSync('flock', [SCRIPT, ...NODE, SCRIPT, '--if-stale'], { stdio: ['ignore', 'inherit', 'inherit'] });
  worker.isStateletBuilt = true;
}

export const BIN = fileURLToPath(new URL('../../bin/statelet.js', import.meta.url));
