import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';

const BYTES_MAX = 65_536;

/**
 * What has come when the stream ends or is reset: runtimes reset it right after their last words. Words that are whole, by `isWhole`,
 * are not waited for any longer. More than 64 KiB is not waited for either.
 */
export async function lastWords(
  stream: Readable,
  isWhole: (words: string) => boolean = () => false,
): Promise<string> {
  const parts: Buffer[] = [];
  const words = (): string => Buffer.concat(parts).toString();
  let bytes = 0;
  const { promise: whole, resolve } = Promise.withResolvers<undefined>();
  stream.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > BYTES_MAX) stream.destroy();
    else parts.push(part);
    if (isWhole(words())) resolve(undefined);
  });
  await Promise.race([whole, finished(stream, { writable: false }).catch(() => undefined)]);
  return words();
}
