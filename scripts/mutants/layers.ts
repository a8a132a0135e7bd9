/** The layers of tests. Each runs in a copy of the tree, and says whether it notices a defect there. */
import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

export const LAYERS = ['simulation', 'paths', 'unit'] as const;
export type Layer = (typeof LAYERS)[number];

/** How a mutant was caught; undefined if it was not. */
export type Catch = string | undefined;

const SEEDS = 200;
const NODE_FLAGS = ['--disable-warning=ExperimentalWarning'];
/** The embedded suite is left out: it would leave its processes behind when it is killed, and tests the same charts. */
const PATH_SUITES = ['test/paths/', '--testPathIgnorePatterns', 'embedded'];

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `file`: the mutated one. The unit layer runs its tests as well. */
export async function runLayer(layer: Layer, root: string, file: string, limitMs: number): Promise<Catch> {
  switch (layer) {
    case 'simulation':
      return simulation(root, limitMs);
    case 'paths':
      return jest(root, PATH_SUITES, limitMs, { FAIL_FAST: '1' });
    case 'unit':
      return jest(root, await unitSuites(root, file), limitMs, {});
  }
}

/** Whether the tree has tests of that layer. */
export async function hasLayer(layer: Layer, root: string): Promise<boolean> {
  return layer !== 'paths' || (await filesIn(join(root, 'test/paths'))).some(isSuite);
}

async function simulation(root: string, limitMs: number): Promise<Catch> {
  const outcome = await run(root, ['scripts/mutants/simulate.ts', String(SEEDS)], limitMs);
  if (outcome.code === 0) return undefined;
  if (outcome.stdout === '') return reasonOf(outcome);
  const { seed, invariant, name, uid, what } = JSON.parse(outcome.stdout) as Record<
    string,
    string | undefined
  >;
  const who = [name, uid].filter((part) => part !== undefined).join(' ');
  return `${String(invariant)}, seed ${String(seed)}${who === '' ? '' : `, ${who}`}: ${String(what)}`;
}

async function jest(
  root: string,
  suites: readonly string[],
  limitMs: number,
  env: Readonly<Record<string, string>>,
): Promise<Catch> {
  const reporter = join(root, 'scripts/mutants/first-failure-reporter.ts');
  // Only the limit of the whole layer counts: on a busy machine, a single test may be slow.
  const flags = [
    '--runInBand',
    '--bail',
    '--silent',
    '--testTimeout',
    String(limitMs),
    '--reporters',
    reporter,
  ];
  const outcome = await run(root, ['node_modules/jest/bin/jest.js', ...suites, ...flags], limitMs, env);
  if (outcome.code === 0) return undefined;
  const [failure = ''] = outcome.stdout.split('\n');
  return failure.startsWith('“') ? failure : reasonOf(outcome);
}

/** The tests of all machines, and those with the name of the file. */
async function unitSuites(root: string, file: string): Promise<string[]> {
  const folder = dirname(file).replace(/^src/, 'test');
  const name = basename(file, '.ts');
  const own = (await filesIn(join(root, folder))).filter(
    (suite) => isSuite(suite) && (suite === `${name}.test.ts` || suite.startsWith(`${name}-`)),
  );
  return ['test/agent/machines/', ...own.map((suite) => join(folder, suite))];
}

/** The paths of the files below the folder, relative to it; none if the folder does not exist. */
async function filesIn(folder: string): Promise<string[]> {
  return readdir(folder, { recursive: true }).catch(() => []);
}

const isSuite = (name: string): boolean => name.endsWith('.test.ts');

function reasonOf({ code, stdout, stderr }: Outcome): string {
  if (code === null) return 'does not end';
  const lines = stripVTControlCharacters(`${stdout}\n${stderr}`).split('\n');
  const error =
    lines.find((line) => /^\s*\w*Error\b.*: /.test(line)) ?? lines.find((line) => line.includes('Error'));
  return error?.trim() ?? `ends with code ${String(code)}`;
}

/** `code` is null if the process took too long and was killed. */
function run(
  root: string,
  args: readonly string[],
  limitMs: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(process.execPath, [...NODE_FLAGS, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.on('error', reject);
  child.on('close', (code) => resolve({ code, stdout, stderr }));
  return promise;
}
