/** Golden vectors as tests of a policy. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import {
  defaultVectorFolder,
  describeFailure,
  loadAdapter,
  OWN_VECTORS,
  readVectors,
  runVectors,
} from './vectors.ts';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const CALL = /^\s*testVectors\('(\w+)'\);$/gmu;

/** Adds one test for each folder with vectors: our policy answers every case of the vector file NAME as the kubelet does. */
export function testVectors(name: string): void {
  testFolder(name, defaultVectorFolder());
  if (existsSync(join(OWN_VECTORS, `${name}.json`))) testFolder(name, OWN_VECTORS);
}

function testFolder(name: string, folder: string): void {
  const which = folder === OWN_VECTORS ? 'own' : 'golden';
  test(`equals the kubelet on the ${which} vectors ${name}`, async () => {
    const vectors = await readVectors(folder, name);
    const { passed, failures } = runVectors(vectors, await loadAdapter(name));
    expect(failures.slice(0, 5).map(describeFailure)).toEqual([]);
    expect(passed).toBeGreaterThan(0);
  });
}

/** The names of the vector files that test files run by a line `testVectors('NAME');`, once for each such line. */
export async function vectorsOfTestFiles(): Promise<string[]> {
  const files = (await readdir(TESTS, { recursive: true })).filter((file) => file.endsWith('.test.ts'));
  const texts = await Promise.all(files.map((file) => readFile(join(TESTS, file), 'utf8')));
  return texts.flatMap((text) => Array.from(text.matchAll(CALL), ([, name = '']) => name)).sort();
}
