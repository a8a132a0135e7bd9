/** Makes two packages of the same files equal, byte for byte, whoever makes them, when, and where. */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { readProgram } from './run-program.ts';

/** In seconds. Without SOURCE_DATE_EPOCH, the time that npm gives to the files of a package. */
export const MODIFIED_AT = process.env.SOURCE_DATE_EPOCH ?? '499162500';

/** Archives `name`, a folder in `parent`. */
export async function writeArchive(
  file: string,
  parent: string,
  name: string,
  gzipLevel: number,
): Promise<void> {
  const args = ['--create', '--format=gnu', '--sort=name', `--mtime=@${MODIFIED_AT}`]
    .concat(['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'])
    .concat(['--directory', parent, name]);
  const gzip = createGzip({ level: gzipLevel });
  await readProgram('tar', args, { env: { ...process.env, LC_ALL: 'C' } }, (output) =>
    pipeline(output, gzip, createWriteStream(file)),
  );
}
