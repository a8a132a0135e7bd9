/** Values of a query or a form, decoded as Go's net/url does it. */

export type FormValues = ReadonlyMap<string, readonly string[]>;

/** `query` is without `?`. A pair that cannot be decoded is left out. */
export function formValues(query: string): FormValues {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const equals = pair.indexOf('=');
    const name = unescape(equals < 0 ? pair : pair.slice(0, equals));
    const value = unescape(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === undefined || value === undefined) continue;
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  return values;
}

const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/iu;

function unescape(text: string): string | undefined {
  if (BROKEN_ESCAPE.test(text)) return undefined;
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced.replace(/(?:%[0-9a-f]{2})+/giu, decodeLossily);
  }
}

/** Of bytes that are no UTF-8, the ASCII characters are kept. */
function decodeLossily(escapes: string): string {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return escapes.replace(/%(?<hex>..)/gu, (_, hex: string) => {
      const byte = Number.parseInt(hex, 16);
      return byte < 0x80 ? String.fromCharCode(byte) : '\uFFFD';
    });
  }
}
