/**
 * For tests of the command line as it is published. Importing this builds `dist/` when it is older than its sources; test files that
 * run at the same time wait for one build, by a lock on the build script.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../scripts/build.ts', import.meta.url));
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'];

execFileSync('flock', [SCRIPT, ...NODE, SCRIPT, '--if-stale'], { stdio: ['ignore', 'inherit', 'inherit'] });

export const BIN = fileURLToPath(new URL('../../bin/statelet.js', import.meta.url));
