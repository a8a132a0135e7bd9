import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errnoCode } from '../../src/system/system-errors.ts';

/** Names the folder of a run of the tests for its workers. */
const FOLDER = 'STATELET_TEST_BUNDLES';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUNDLER = fileURLToPath(new URL('../bundle/bundle-program.ts', import.meta.url));
const LOOK_AGAIN_MS = 20;

/** For a run of the tests: its workers share their bundles. */
export function shareBundles(): void {
  process.env[FOLDER] = makeFolder();
}

/**
 * A program in TypeScript as one file of JavaScript, made once in a run: Node starts it in a third to a fifth of the CPU time, since it
 * finds one file instead of a hundred and has no types to strip. In all of it `import.meta.url` is that of the program.
 */
export function bundled(program: URL): string {
  const source = fileURLToPath(program);
  const folder = (process.env[FOLDER] ??= makeFolder());
  const outfile = join(folder, `${source.slice(ROOT.length).replaceAll('/', '--')}.mjs`);
  while (!existsSync(outfile)) {
    if (!hasTurn(outfile)) continue;
    try {
      bundle(program, source, outfile);
    } finally {
      rmdirSync(lockOf(outfile));
    }
  }
  return outfile;
}

const lockOf = (outfile: string) => `${outfile}.lock`;

/** Whether this process makes the bundle. If not, another one has made it by the time this returns. */
function hasTurn(outfile: string): boolean {
  try {
    mkdirSync(lockOf(outfile));
    return true;
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
    return false;
  }
}

/** In a process of its own: the bundler does not work synchronously. */
function bundle(program: URL, source: string, outfile: string): void {
  const draft = join(dirname(outfile), 'drafts', basename(outfile));
  execFileSync(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    BUNDLER,
    source,
    draft,
    program.href,
  ]);
  renameSync(draft, outfile);
}

function makeFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'statelet-bundles-'));
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  return made;
}
