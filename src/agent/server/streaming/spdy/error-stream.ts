import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';

const BYTES_MAX = 65_536;

/**
 * The text of an error stream, when the stream ends or is reset: runtimes reset it right after they have written the text. A text that is
 * complete, by `isComplete`, resolves at once, and one of more than 64 KiB is cut.
 */
export async function readErrorStream(
  stream: Readable,
  isComplete: (text: string) => boolean = () => false,
): Promise<string> {
  const parts: Buffer[] = [];
  const text = (): string => Buffer.concat(parts).toString();
  let bytes = 0;
  const { promise: complete, resolve } = Promise.withResolvers<undefined>();
  stream.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > BYTES_MAX) stream.destroy();
    else parts.push(part);
    if (isComplete(text())) resolve(undefined);
  });
  await Promise.race([complete, finished(stream, { writable: false }).catch(() => undefined)]);
  return text();
}
