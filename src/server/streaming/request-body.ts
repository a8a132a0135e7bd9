import type { IncomingMessage } from 'node:http';
import { RequestError } from '../routes/route.ts';

/** The parameters of a command have some hundred bytes. */
const FORM_BYTES_MAX = 1024 * 1024;

/** The form in the body of a request; empty if it has none. */
export async function requestForm(request: IncomingMessage): Promise<string> {
  const type = request.headers['content-type'] ?? '';
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return '';
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > FORM_BYTES_MAX)
      throw new RequestError(413, `the form has more than ${FORM_BYTES_MAX} bytes\n`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
