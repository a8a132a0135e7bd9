/** Opens a manifest so that whatever stands at its path by now can neither block its reader nor be without end. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { errnoCode } from '../../system/system-errors.ts';
import { MANIFEST_BYTES_MAX } from './manifest-limits.ts';

const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const PIECE_BYTES = 64 * 1024;

/** Why the content is not read, as the end of a sentence about the file. */
export class UnreadManifestError extends Error {
  /** Whether a reader would wait at it. */
  readonly blocks: boolean;

  constructor(message: string, { blocks }: { readonly blocks: boolean }) {
    super(message);
    this.blocks = blocks;
  }
}

export const notAFile = () => new UnreadManifestError('is neither a file nor a folder', { blocks: true });
export const tooLarge = () => new UnreadManifestError('is larger than 10 MiB', { blocks: false });

/** Links are followed, as in a mounted ConfigMap. Throws an UnreadManifestError, or the system's error. */
export async function readManifestContent(path: string): Promise<Buffer> {
  const file = await open(path, FLAGS);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw notAFile();
    // The size says nothing of a file of the kernel, and a file may grow.
    const pieces: Buffer[] = [];
    let length = 0;
    for (let bytes = Math.max(stats.size + 1, PIECE_BYTES); ; bytes = PIECE_BYTES) {
      if (length + bytes > MANIFEST_BYTES_MAX + 1) bytes = MANIFEST_BYTES_MAX + 1 - length;
      const { bytesRead, buffer } = await file.read(Buffer.alloc(bytes));
      if (bytesRead === 0) return Buffer.concat(pieces);
      length += bytesRead;
      if (length > MANIFEST_BYTES_MAX) throw tooLarge();
      pieces.push(buffer.subarray(0, bytesRead));
    }
  } catch (error) {
    if (errnoCode(error) !== 'EAGAIN') throw error;
    throw new UnreadManifestError('has no end: its reader would wait for what is written next', {
      blocks: true,
    });
  } finally {
    await file.close();
  }
}
