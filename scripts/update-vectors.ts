/**
 * `npm run update:vectors`: rewrites `test/vectors` from the full vectors, which are outside the project. From every file with an
 * adapter it takes seeded cases at even distances, so that all files together are below 1 MB.
 */
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  COMMITTED_VECTORS,
  listAdapters,
  listVectors,
  readVectors,
  SHARED_VECTORS,
  type VectorCase,
  type VectorFile,
} from '../test/support/vectors.ts';

const TOTAL_BYTES_MAX = 950_000;

/** One case a line, so that a change of one case is a change of one line. */
function render({ about, cases }: VectorFile): string {
  const lines = cases.map(({ name, input, want }) => JSON.stringify({ name, input, want }));
  return `{"about":${JSON.stringify(about)},"cases":[\n${lines.join(',\n')}\n]}\n`;
}

function sizeBytes(file: VectorFile): number {
  return Buffer.byteLength(render(file));
}

/** Seeded cases have names like `rnd…`, in some files `… #N`. A file without such names has only hand-made cases. */
function seededCases(cases: readonly VectorCase[]): readonly VectorCase[] {
  const random = cases.filter(({ name }) => name.startsWith('rnd'));
  if (random.length > 0) return random;
  const own = cases.filter(({ name }) => !name.startsWith('unit test'));
  const numbered = own.filter(({ name }) => name.includes('#'));
  return numbered.length > 0 ? numbered : own;
}

/** Every n-th case, as many as fit. */
function thinOut(file: VectorFile, bytesMax: number): VectorFile {
  const all = file.cases;
  for (let count = all.length; count > 0; count -= 1) {
    const cases = Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)]!);
    const thinned = { ...file, cases };
    if (sizeBytes(thinned) <= bytesMax) return thinned;
  }
  throw new Error(`${file.name}: not one case fits into ${bytesMax} bytes`);
}

/** Divides the space: small files come first, and what they do not need goes to the larger ones. */
function shareOut(files: readonly VectorFile[]): VectorFile[] {
  let room = TOTAL_BYTES_MAX;
  const smallestFirst = files.toSorted((a, b) => sizeBytes(a) - sizeBytes(b));
  return smallestFirst.map((file, i) => {
    const thinned = thinOut(file, Math.floor(room / (files.length - i)));
    room -= sizeBytes(thinned);
    return thinned;
  });
}

async function main(): Promise<void> {
  if (!existsSync(SHARED_VECTORS)) {
    throw new Error(`${SHARED_VECTORS} is not there: put the full vectors beside the project first`);
  }
  const adapters = new Set(await listAdapters());
  const names = (await listVectors(SHARED_VECTORS)).filter((name) => adapters.has(name));
  const files = await Promise.all(names.map((name) => readVectors(SHARED_VECTORS, name)));
  const compact = shareOut(files.map((file) => ({ ...file, cases: seededCases(file.cases) })));

  for (const name of await listVectors(COMMITTED_VECTORS)) await rm(join(COMMITTED_VECTORS, `${name}.json`));
  for (const file of compact) {
    await writeFile(join(COMMITTED_VECTORS, `${file.name}.json`), render(file));
    console.log(`${file.name.padEnd(24)}${file.cases.length} cases, ${sizeBytes(file)} bytes`);
  }
  const totalBytes = compact.reduce((sum, file) => sum + sizeBytes(file), 0);
  console.log(`${'in all'.padEnd(24)}${totalBytes} bytes`);
}

await main();
