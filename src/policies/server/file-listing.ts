/** How Go's FileServer shows files: the list of a folder, types of content, and parts of files. */

export interface ListedFile {
  readonly name: string;
  readonly isFolder: boolean;
}

/** A page with a link to each file, by name. */
export function fileListing(files: readonly ListedFile[]): string {
  const names = files.map(({ name, isFolder }) => (isFolder ? `${name}/` : name));
  const links = byBytes(names).map((name) => `<a href="${linkTo(name)}">${htmlEscaped(name)}</a>\n`);
  const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n';
  return `${head}<pre>\n${links.join('')}</pre>\n`;
}

/** Go compares names without the slash that marks folders, which sorts before all letters but after some signs. */
function byBytes(names: readonly string[]): readonly string[] {
  const bare = (name: string) => name.replace(/\/$/, '');
  return names.toSorted((a, b) => compared(bare(a), bare(b)));
}

function compared(a: string, b: string): number {
  const [left, right] = [a, b].map((name) => new TextEncoder().encode(name)) as [Uint8Array, Uint8Array];
  const differing = left.findIndex((byte, index) => byte !== right[index]);
  return differing < 0 ? left.length - right.length : (left[differing] ?? 0) - (right[differing] ?? -1);
}

function linkTo(name: string): string {
  const escaped = encodeURIComponent(name)
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll(/%(?:2[46BCF]|3[ABD]|40)/g, (sign) => decodeURIComponent(sign));
  // What stands before a colon would be a scheme.
  return /^[^/]*:/.test(escaped) ? `./${escaped}` : escaped;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

function htmlEscaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/**
 * By the beginning of a file. A log is never HTML to a browser, although Go would say so of one that looks like it: pods choose what is
 * in their logs.
 */
export function contentType(beginning: Uint8Array): string {
  if ([0x1f, 0x8b, 0x08].every((byte, index) => beginning[index] === byte)) return 'application/x-gzip';
  return beginning.some(isBinary) ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}

/** As browsers sniff: control characters besides tab, line feed, form feed, carriage return and escape. */
function isBinary(byte: number): boolean {
  return byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f);
}

export interface ByteRange {
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
}

/** The part that the header `Range` asks for; undefined: the whole file, as for several parts at once; `none`: there is no such part. */
export function byteRange(header: string | undefined, sizeBytes: number): ByteRange | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'none' : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= sizeBytes
    ? 'none'
    : { start, end: Math.min(last === '' ? Infinity : Number(last), sizeBytes - 1) };
}
