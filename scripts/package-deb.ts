/**
 * Makes `statelet_<version>_amd64.deb` from the archive. The same files give the same bytes.
 *
 * node scripts/package-deb.ts [--archive FILE] [--destination DIR] [--compression xz|gzip|none]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { MODIFIED_AT } from './package/reproducible.ts';
import { runProgram } from './package/run-program.ts';
import { MANIFEST, NODE, stageArchive } from './package/stage-archive.ts';
import { stageDebianPackage } from './package/stage-debian-package.ts';

const { values } = parseArgs({
  options: {
    archive: { type: 'string' },
    destination: { type: 'string', default: '.' },
    compression: { type: 'string', default: 'xz' },
  },
});

/** Where the files of the archive are, unpacked. */
async function archiveFolder(parent: string): Promise<string> {
  const folder = join(parent, 'archive');
  if (values.archive === undefined) await stageArchive(folder, NODE);
  else {
    mkdirSync(folder);
    await runProgram('tar', ['-xzf', resolve(values.archive), '--strip-components=1', '-C', folder]);
  }
  return folder;
}

const destination = resolve(values.destination);
const staging = mkdtempSync(join(tmpdir(), 'statelet-deb-'));
try {
  const root = join(staging, 'root');
  stageDebianPackage(await archiveFolder(staging), root);
  mkdirSync(destination, { recursive: true });
  const file = join(destination, `statelet_${MANIFEST.version}_amd64.deb`);
  const args = ['--build', '--root-owner-group', `-Z${values.compression}`, root, file];
  // The number of compressing threads changes the bytes.
  const same = { SOURCE_DATE_EPOCH: MODIFIED_AT, DPKG_DEB_THREADS_MAX: '1' };
  await runProgram('dpkg-deb', args, { env: { ...process.env, ...same } });
  console.log(file);
} finally {
  rmSync(staging, { recursive: true });
}
