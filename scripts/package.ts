/**
 * Makes `statelet-<version>-linux-x64.tar.gz`: everything that Statelet needs, Node too. The same files give the same bytes.
 *
 * node scripts/package.ts [--destination DIR] [--gzip-level 0-9] [--node FILE]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeArchive } from './package/reproducible.ts';
import { ARCHIVE, NODE, stageArchive } from './package/stage-archive.ts';

const { values } = parseArgs({
  options: {
    destination: { type: 'string', default: '.' },
    /** Node's binary. */
    node: { type: 'string', default: NODE },
    'gzip-level': { type: 'string', default: '9' },
  },
});

const destination = resolve(values.destination);
const staging = mkdtempSync(join(tmpdir(), 'statelet-archive-'));
try {
  await stageArchive(join(staging, ARCHIVE), resolve(values.node));
  mkdirSync(destination, { recursive: true });
  const file = join(destination, `${ARCHIVE}.tar.gz`);
  await writeArchive(file, staging, ARCHIVE, Number(values['gzip-level']));
  console.log(file);
} finally {
  rmSync(staging, { recursive: true });
}
