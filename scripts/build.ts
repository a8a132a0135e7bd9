/**
 * `node scripts/build.ts`: see `bundle/build-all.ts`. With `--if-stale` nothing is built when `dist/` is newer than everything that it is built from.
 */
import { join } from 'node:path';
import { isStale } from './is-stale.ts';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = [
  'src',
  'package-lock.json',
  'scripts/build.ts',
  'scripts/bundle',
  'scripts/picture',
  'scripts/generate-validators.ts',
].map((name) => join(ROOT, name));

/** What is built last: a build that was interrupted is stale. */
const LAST = join(ROOT, 'dist/THIRD-PARTY-NOTICES.txt');

// Most often nothing is stale, and loading the bundler takes a second.
if (!process.argv.includes('--if-stale') || isStale(LAST, SOURCES)) {
  const { buildAll } = await import('./bundle/build-all.ts');
  await buildAll(LAST);
}
