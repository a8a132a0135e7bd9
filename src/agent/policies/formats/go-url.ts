/** URLs as Go's `net/url` reads and writes them. Bytes are texts with one character for each. */

const ENCODER = new TextEncoder();
// oxlint-disable-next-line no-control-regex -- Go refuses URLs with control characters
const CONTROL = /[\0-\x1f\x7f]/;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i;
const HOST = /^(?:\[[^\]]*\]|[^[\]:]*)(?::\d*)?$/;
/** A path of these characters is sent as it is. */
const ESCAPED_PATH = /^[\w\-.~!$&'()*+,;=:@[\]%/]*$/;
/** In any other path, these are escaped. */
const ESCAPED = /[^\w\-.~$&+,/:;=@]/g;
const UNPRINTED = /[^\x21-\x7e]/g;

interface PathAndQuery {
  /** Escaped. */
  readonly path: string;
  /** With its `?`; empty without one. */
  readonly query: string;
}

/**
 * The path and query that Go's HTTP client asks for if its URL is made of this text, as the kubelet does it with the path of a probe or
 * hook: scheme and host of the text do not count. Unlike in a browser, dots and backslashes in a path stay. A text that is no URL is all path.
 */
export function goRequestURI(text: string): string {
  const { path, query } = parsed(text) ?? { path: escapedPath(bytesOf(text)), query: '' };
  return `${path.startsWith('/') ? '' : '/'}${path}${query}`;
}

/** Undefined for a text that `url.Parse` refuses. */
function parsed(text: string): PathAndQuery | undefined {
  if (CONTROL.test(text)) return undefined;
  const [whole, fragment] = cut(text, '#');
  if (BROKEN_ESCAPE.test(fragment ?? '') || whole.startsWith(':')) return undefined;
  const scheme = SCHEME.exec(whole)?.[0] ?? '';
  const [rest, query] = cut(whole.slice(scheme.length), '?');
  const path = withoutAuthority(rest, scheme !== '');
  if (path === undefined || BROKEN_ESCAPE.test(path)) return undefined;
  return {
    path: ESCAPED_PATH.test(path) ? path : escapedPath(unescaped(path)),
    query: query === undefined ? '' : `?${escaped(bytesOf(query), UNPRINTED)}`,
  };
}

/** Undefined where the host is none, or where the text before the first slash would be neither a scheme nor a name. */
function withoutAuthority(rest: string, hasScheme: boolean): string | undefined {
  if (!rest.startsWith('/')) return !hasScheme && cut(rest, '/')[0].includes(':') ? undefined : rest;
  if (!rest.startsWith('//') || (!hasScheme && rest.startsWith('///'))) return rest;
  const [authority, path] = cut(rest.slice(2), '/');
  if (!HOST.test(authority.slice(authority.lastIndexOf('@') + 1))) return undefined;
  return path === undefined ? '' : `/${path}`;
}

function cut(text: string, separator: string): readonly [before: string, after: string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

const bytesOf = (text: string): string =>
  Array.from(ENCODER.encode(text), (byte) => String.fromCharCode(byte)).join('');

function unescaped(path: string): string {
  const byte = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
  return bytesOf(path).replaceAll(/%([0-9a-f]{2})/gi, byte);
}

const escapedPath = (bytes: string): string => escaped(bytes, ESCAPED);

function escaped(bytes: string, which: RegExp): string {
  return bytes.replaceAll(which, (byte) => {
    const hex = byte.charCodeAt(0).toString(16).toUpperCase();
    return `%${hex.padStart(2, '0')}`;
  });
}
