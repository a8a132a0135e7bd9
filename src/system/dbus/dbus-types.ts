/** D-Bus values, by the letters of their signatures. */

/** `v`: a value with its own signature. */
export interface DBusVariant {
  readonly signature: string;
  readonly value: DBusValue;
}

/** `t` and `x` are bigints; arrays, structs and the entries of dictionaries are arrays. */
export type DBusValue = number | bigint | boolean | string | DBusVariant | readonly DBusValue[];

/** Each value begins at a multiple of this many bytes. */
const ALIGNMENTS: Readonly<Record<string, number>> = {
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

/** A peer may nest variants in variants. */
const DEPTH_MAX = 16;

/** Reads values of D-Bus. Throws for bytes that are not such values, and reads nothing beyond them. */
export class DBusReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #isLittleEndian: boolean;
  #at = 0;
  #depth = 0;

  constructor(bytes: Buffer, isLittleEndian: boolean) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#isLittleEndian = isLittleEndian;
  }

  values(signature: string): readonly DBusValue[] {
    if (++this.#depth > DEPTH_MAX) throw new Error('too many values within values');
    const values = typesIn(signature).map((type) => this.#value(type));
    this.#depth--;
    return values;
  }

  #value(type: string): DBusValue {
    const letter = type[0] ?? '';
    this.#align(ALIGNMENTS[letter] ?? 1);
    if (letter === 'a') return this.#array(type.slice(1));
    if (letter === '(' || letter === '{') return this.values(type.slice(1, -1));
    if (letter === 'v') return this.#variant();
    if (letter === 'g') return this.#text(this.#number('y'));
    if (letter === 's' || letter === 'o') return this.#text(this.#number('u'));
    if (letter === 'b') return this.#number('u') !== 0;
    if (letter === 'x') return this.#view.getBigInt64(this.#take(8), this.#isLittleEndian);
    if (letter === 't') return this.#view.getBigUint64(this.#take(8), this.#isLittleEndian);
    return this.#number(letter);
  }

  #number(letter: string): number {
    const at = this.#take(ALIGNMENTS[letter] ?? 1);
    const [view, isLittleEndian] = [this.#view, this.#isLittleEndian];
    if (letter === 'y') return view.getUint8(at);
    if (letter === 'n') return view.getInt16(at, isLittleEndian);
    if (letter === 'q') return view.getUint16(at, isLittleEndian);
    if (letter === 'i') return view.getInt32(at, isLittleEndian);
    if (letter === 'd') return view.getFloat64(at, isLittleEndian);
    return view.getUint32(at, isLittleEndian);
  }

  #variant(): DBusValue {
    const signature = this.#text(this.#number('y'));
    const [value, ...more] = this.values(signature);
    if (value === undefined || more.length > 0) throw new Error('a variant with another number of values');
    return { signature, value };
  }

  #array(type: string): readonly DBusValue[] {
    const length = this.#number('u');
    this.#align(ALIGNMENTS[type[0] ?? ''] ?? 1);
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Error('an array longer than its message');
    if (++this.#depth > DEPTH_MAX) throw new Error('too many values within values');
    const values: DBusValue[] = [];
    while (this.#at < end) values.push(this.#value(type));
    this.#depth--;
    return values;
  }

  #text(length: number): string {
    const at = this.#take(length + 1);
    return this.#bytes.toString('utf8', at, at + length);
  }

  #align(bytes: number): void {
    this.#take((bytes - (this.#at % bytes)) % bytes);
  }

  #take(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#bytes.length) throw new Error('a message that ends too early');
    this.#at += bytes;
    return at;
  }
}

const INITIAL_BYTES = 512;

/** Writes values in D-Bus's form, with the least significant byte first. */
export class DBusWriter {
  #bytes = Buffer.alloc(INITIAL_BYTES);
  #length = 0;

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  values(signature: string, values: readonly DBusValue[]): void {
    const types = typesIn(signature);
    if (types.length !== values.length) throw new Error(`${values.length} values for "${signature}"`);
    types.forEach((type, index) => this.#value(type, values[index] ?? ''));
  }

  align(bytes: number): void {
    // New bytes are zero already.
    this.#grow((bytes - (this.#length % bytes)) % bytes);
  }

  #value(type: string, value: DBusValue): void {
    const letter = type[0] ?? '';
    this.align(ALIGNMENTS[letter] ?? 1);
    if (letter === 'a') this.#array(type.slice(1), value as readonly DBusValue[]);
    else if (letter === '(' || letter === '{') {
      this.values(type.slice(1, -1), value as readonly DBusValue[]);
    } else if (letter === 'v') {
      const { signature, value: inner } = value as DBusVariant;
      this.#signature(signature);
      this.values(signature, [inner]);
    } else if (letter === 'g') this.#signature(value as string);
    else if (letter === 's' || letter === 'o') this.#string(value as string);
    else this.#number(letter, value as number | bigint | boolean);
  }

  #number(letter: string, value: number | bigint | boolean): void {
    const at = this.#length;
    this.#grow(ALIGNMENTS[letter] ?? 1);
    const bytes = this.#bytes;
    if (letter === 'y') bytes.writeUInt8(Number(value), at);
    else if (letter === 'n') bytes.writeInt16LE(Number(value), at);
    else if (letter === 'q') bytes.writeUInt16LE(Number(value), at);
    else if (letter === 'i') bytes.writeInt32LE(Number(value), at);
    else if (letter === 'x') bytes.writeBigInt64LE(BigInt(value), at);
    else if (letter === 't') bytes.writeBigUInt64LE(BigInt(value), at);
    else if (letter === 'd') bytes.writeDoubleLE(Number(value), at);
    else bytes.writeUInt32LE(Number(value), at);
  }

  #array(type: string, values: readonly DBusValue[]): void {
    const lengthAt = this.#length;
    this.#grow(4);
    this.align(ALIGNMENTS[type[0] ?? ''] ?? 1);
    const start = this.#length;
    for (const value of values) this.#value(type, value);
    this.#bytes.writeUInt32LE(this.#length - start, lengthAt);
  }

  #string(text: string): void {
    this.#number('u', Buffer.byteLength(text));
    this.#text(text);
  }

  #signature(signature: string): void {
    this.#number('y', signature.length);
    this.#text(signature);
  }

  #text(text: string): void {
    const at = this.#length;
    this.#grow(Buffer.byteLength(text) + 1);
    this.#bytes.write(text, at, 'utf8');
  }

  #grow(bytes: number): void {
    this.#length += bytes;
    if (this.#length <= this.#bytes.length) return;
    const larger = Buffer.alloc(this.#length * 2);
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }
}
