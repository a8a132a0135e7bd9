/** The path and the query of a request, read as the kubelet reads them. */
import { RequestError } from '../routes/route.ts';

export interface RequestTarget {
  /** The path as it was sent. */
  readonly rawPath: string;
  /** Decoded once: `%2F` is a slash, `%252F` is `%2F`. Not cleaned: `..` stays. */
  readonly path: string;
  /** As it was sent, without `?`. */
  readonly query: string;
}

const BROKEN_ESCAPE = /%(?![\da-f]{2})/iu;
const ESCAPED = /%([\da-f]{2})/giu;
/** `http://HOST/path`, as clients send it to a proxy. */
const ABSOLUTE = /^https?:\/\/[^/?]*\/?/iu;

/** Throws a `RequestError` (400) where it is no path. */
export function requestTarget(url = '/'): RequestTarget {
  const local = url.replace(ABSOLUTE, '/');
  const mark = local.indexOf('?');
  const raw = mark < 0 ? local : local.slice(0, mark);
  const query = mark < 0 ? '' : local.slice(mark + 1);
  if (!raw.startsWith('/') || BROKEN_ESCAPE.test(raw))
    throw new RequestError(400, '400 Bad Request', { Connection: 'close' });
  return { rawPath: raw, path: raw.includes('%') ? decoded(raw) : raw, query };
}

/** Bytes that are not UTF-8 become replacement characters, which no name has. */
function decoded(raw: string): string {
  const bytes = raw.replaceAll(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
