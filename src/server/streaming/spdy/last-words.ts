import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';

const BYTES_MAX = 65_536;

/** What has come when the stream ends or is reset: runtimes reset it right after their last words. More than 64 KiB is not waited for. */
export async function lastWords(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > BYTES_MAX) stream.destroy();
    else parts.push(part);
  });
  await finished(stream, { writable: false }).catch(() => undefined);
  return Buffer.concat(parts).toString();
}
