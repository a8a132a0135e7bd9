/** Opens a manifest so that whatever stands at its path by now can neither block its reader nor be without end. */
import { NotPlainError, readForeignFile } from '../../system/files/foreign-file.ts';
import { StateletError } from '../../types/errors.ts';
import { MANIFEST_BYTES_MAX } from './manifest-limits.ts';

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
  try {
    return (await readForeignFile(path, { bytesMax: MANIFEST_BYTES_MAX })).content;
  } catch (error) {
    if (!(error instanceof StateletError)) throw error;
    throw new UnreadManifestError(error.message, { blocks: error instanceof NotPlainError });
  }
}
