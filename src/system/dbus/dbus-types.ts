/** D-Bus values, by the letters of their signatures. */

/** `v`: a value with its own signature. */
export interface DBusVariant {
  readonly signature: string;
  readonly value: DBusValue;
}

/** `t` and `x` are bigints; arrays, structs and the entries of dictionaries are arrays. */
export type DBusValue = number | bigint | boolean | string | DBusVariant | readonly DBusValue[];

/** Each value begins at a multiple of this many bytes. */
export const ALIGNMENTS: Readonly<Record<string, number>> = {
  y: 1,
  g: 1,
  v: 1,
  n: 2,
  q: 2,
  b: 4,
  i: 4,
  u: 4,
  s: 4,
  o: 4,
  a: 4,
  x: 8,
  t: 8,
  d: 8,
  '(': 8,
  '{': 8,
};

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '{': '}' };

/** The complete types of which a signature consists. Throws for what is no signature. */
export function typesIn(signature: string): readonly string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length;) {
    const end = typeEnd(signature, at);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function typeEnd(signature: string, start: number): number {
  const letter = signature[start] ?? '';
  if (ALIGNMENTS[letter] === undefined) throw new Error(`"${signature}" is no signature of D-Bus`);
  if (letter === 'a') return typeEnd(signature, start + 1);
  const closing = CLOSING[letter];
  if (closing === undefined) return start + 1;
  let end = start + 1;
  while (end < signature.length && signature[end] !== closing) end = typeEnd(signature, end);
  if (end === start + 1 || end >= signature.length) {
    throw new Error(`"${signature}" is no signature of D-Bus`);
  }
  return end + 1;
}
