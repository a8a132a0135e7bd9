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
/** `http:` of `http://HOST/path`, as clients send it to a proxy. */
const SCHEME = /^[a-z][a-z\d+.-]*:/iu;
const AUTHORITY = /^\/\/[^/]*/u;

/** Throws a `RequestError` (400) where it is no path. `*` is the server as a whole. What has a scheme may have an empty path. */
export function requestTarget(url = '/'): RequestTarget {
  if (url === '*') return { rawPath: '*', path: '*', query: '' };
  const [scheme = ''] = SCHEME.exec(url) ?? [];
  const [rest, query] = cut(url.slice(scheme.length), '?');
  const raw = scheme === '' ? rest : pathBehindScheme(rest);
  if ((scheme === '' && !raw.startsWith('/')) || BROKEN_ESCAPE.test(raw))
    throw new RequestError(400, '400 Bad Request', { Connection: 'close' });
  return { rawPath: raw, path: raw.includes('%') ? decoded(raw) : raw, query };
}

/** Without a slash, what is behind the scheme is no path: `mailto:me`. */
function pathBehindScheme(rest: string): string {
  return rest.startsWith('/') ? rest.replace(AUTHORITY, '') : '';
}

function cut(text: string, mark: string): readonly [before: string, behind: string] {
  const place = text.indexOf(mark);
  return place < 0 ? [text, ''] : [text.slice(0, place), text.slice(place + mark.length)];
}

/** Bytes that are not UTF-8 become replacement characters, which no name has. */
function decoded(raw: string): string {
  const bytes = raw.replaceAll(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
