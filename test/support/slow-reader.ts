/** Clients that read slowly, as a pipe into a slow program does. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { errnoCode } from '../../src/system/system-errors.ts';

export interface ReadWhole {
  readonly bytes: number;
  readonly hash: string;
}

export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A pause after each chunk. Resolves when the stream has ended, or was reset after what it had. */
export async function readSlowly(stream: Readable, pauseMs: number): Promise<ReadWhole> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      await pause(pauseMs);
    }
  } catch (error) {
    if (errnoCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
  return { bytes, hash: hash.digest('hex') };
}

/** Text in lines of about seventy bytes. No two parts of it are alike. */
export function distinctLines(count: number): Buffer {
  const line = (n: number) => `${n}a${n}b${n}c${n}d${n}e${n}f${n}g${n}h${n}i${n}j\n`;
  return Buffer.from(Array.from({ length: count }, (_, index) => line(index)).join(''));
}

/** No two parts of it are alike, so that what is lost or moved changes the hash. */
export function distinctBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
}
