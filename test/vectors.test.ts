import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  COMMITTED_VECTORS,
  describeFailure,
  firstDifference,
  listAdapters,
  listVectors,
  runVectors,
} from './support/vectors.ts';
import { testVectors, vectorsOfTestFiles } from './support/test-vectors.ts';

const adapters = await listAdapters();
const ofTestFiles = await vectorsOfTestFiles();

describe('vectors that no other test file runs', () => {
  for (const name of adapters.filter((name) => !ofTestFiles.includes(name))) testVectors(name);
});

test('each vector file is run once: by the test file of its policy, or by this one', () => {
  expect(ofTestFiles).not.toEqual([]);
  expect(ofTestFiles).toEqual(adapters.filter((name) => ofTestFiles.includes(name)));
});

describe('test/vectors', () => {
  test('has a vector file for every adapter (npm run update:vectors makes them)', async () => {
    expect(await listVectors(COMMITTED_VECTORS)).toEqual(adapters);
  });

  test('is below 1 MB', async () => {
    const paths = adapters.map((name) => join(COMMITTED_VECTORS, `${name}.json`));
    const sizesBytes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
    expect(sizesBytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_000_000);
  });
});

describe('the vector runner', () => {
  const file = {
    name: 'doubles',
    about: '',
    cases: [
      { name: 'rnd 1', input: { n: 1 }, want: { double: 2 } },
      { name: 'rnd 2', input: { n: 2 }, want: { double: 5 } },
      { name: 'odd one', input: { n: 0.5 }, want: { double: 7 } },
    ],
  };
  const adapt = ({ n }: { n: number }) => ({ double: 2 * n });

  test('counts cases, names the place of a difference, and leaves out cases that the adapter skips', () => {
    const report = runVectors(file, { adapt, skip: { odd: 'no fractions' } });
    expect(report).toEqual({
      name: 'doubles',
      passed: 1,
      failures: [{ caseName: 'rnd 2', path: 'double', got: 4, want: 5 }],
      skipped: new Map([['no fractions', 1]]),
    });
    expect(report.failures.map(describeFailure)).toEqual(['rnd 2: double: got 4, want 5']);
  });

  test("uses the adapter's own comparison if it has one", () => {
    const matches = () => true;
    expect(runVectors(file, { adapt, matches }).passed).toBe(3);
    expect(runVectors(file, { adapt, matches: () => false }).failures).toHaveLength(3);
  });

  test('fails a case whose adapter throws or changes its input', () => {
    const mutate = (input: { n: number }) => ({ double: (input.n *= 2) });
    expect(runVectors(file, { adapt: mutate }).failures).toHaveLength(3);
  });

  test('ignores the order of keys and undefined members, but not null, the order of items, or types', () => {
    expect(firstDifference({ a: 1, b: undefined }, { a: 1 })).toBeUndefined();
    expect(firstDifference({ a: 1, b: [{ c: 2 }] }, { b: [{ c: 2 }], a: 1 })).toBeUndefined();
    expect(firstDifference({ a: null }, {})).toEqual({ path: 'a', got: null, want: undefined });
    expect(firstDifference([1, 2], [2, 1])).toEqual({ path: '0', got: 1, want: 2 });
    expect(firstDifference([1], [1, 2])).toEqual({ path: '1', got: undefined, want: 2 });
    expect(firstDifference({ a: [] }, { a: {} })).toEqual({ path: 'a', got: [], want: {} });
    expect(firstDifference('1', 1)).toEqual({ path: '', got: '1', want: 1 });
  });
});

describe('npm run vectors', () => {
  let scratch: string;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'statelet-vectors-'));
  });
  afterAll(() => rm(scratch, { recursive: true }));

  async function folderWith(files: Record<string, unknown>): Promise<string> {
    const path = await mkdtemp(join(scratch, 'case-'));
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(path, name), typeof content === 'string' ? content : JSON.stringify(content));
    }
    return path;
  }

  function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const script = fileURLToPath(new URL('../scripts/vectors.ts', import.meta.url));
    return new Promise((resolve) => {
      execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
      });
    });
  }

  const priority = (want: boolean) => ({
    name: 'priority #1',
    input: { kind: 'priority', priority: 2_000_000_000 },
    want: { critical: want },
  });

  test('exits 0 when all cases pass, and lists the files that have no adapter', async () => {
    const path = await folderWith({
      'critical.json': { about: '', cases: [priority(true)] },
      'withoutAdapter.json': { about: '', cases: [] },
    });
    const { code, stdout } = await run(path);
    expect(stdout).toMatch(/^critical +1 passed, 0 failed, 0 skipped\nNo adapter yet: withoutAdapter\n$/);
    expect(code).toBe(0);
  });

  test('exits 1 on a difference and shows it', async () => {
    const path = await folderWith({ 'critical.json': { about: '', cases: [priority(false)] } });
    const { code, stdout } = await run(path);
    expect(stdout).toContain('priority #1: critical: got true, want false');
    expect(code).toBe(1);
  });

  test('exits 1 on a malformed file, names it, and runs the others', async () => {
    const path = await folderWith({
      'critical.json': '{"cases": [',
      'quantity.json': { about: '', cases: [{ name: 's=1', input: { s: '1' }, want: { valid: true } }] },
    });
    const { code, stdout } = await run(path);
    expect(stdout).toContain(join(path, 'critical.json'));
    expect(stdout).toMatch(/^quantity +1 passed/m);
    expect(code).toBe(1);
  });

  test('exits 2 with a message when there is nothing to run', async () => {
    const missing = await run(join(scratch, 'missing'));
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot read the folder') });
    const empty = await run(await folderWith({}));
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('holds no vector file') });
    const foreign = await run(await folderWith({ 'package.json': '{}' }));
    expect(foreign).toMatchObject({ code: 2, stderr: expect.stringContaining('has an adapter') });
    const unknown = await run('--loud');
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('--loud') });
  });
});
