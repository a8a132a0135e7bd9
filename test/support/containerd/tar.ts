/** The parts of the tar format (ustar) that images need. The same files always give the same archive. */

export interface TarEntry {
  /** A relative path of at most 100 bytes. */
  readonly path: string;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  /** A file has a content, a link has a target, a folder has neither. */
  readonly content?: Buffer | string;
  readonly linkTo?: string;
}

const BLOCK_BYTES = 512;

export function tar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? '');
    const padding = Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES);
    return [header(entry, content.length), content, padding];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function header(entry: TarEntry, sizeBytes: number): Buffer {
  const { path, uid = 0, gid = 0, linkTo = '' } = entry;
  const [type, mode] = kind(entry);
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, offset: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), offset, 'latin1');
  if (Buffer.byteLength(path) > 100) throw new Error(`too long for a tar header: ${path}`);
  block.write(path, 0);
  octal(entry.mode ?? mode, 100, 8);
  octal(uid, 108, 8);
  octal(gid, 116, 8);
  octal(sizeBytes, 124, 12);
  octal(0, 136, 12);
  block.write(type, 156);
  block.write(linkTo, 157);
  block.write('ustar\u000000', 257);
  // The checksum is computed with its own field filled with spaces.
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function kind({ content, linkTo }: TarEntry): [type: string, mode: number] {
  if (linkTo !== undefined) return ['2', 0o777];
  return content === undefined ? ['5', 0o755] : ['0', 0o644];
}
