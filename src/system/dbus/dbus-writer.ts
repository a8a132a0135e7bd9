import { ALIGNMENTS, type DBusValue, type DBusVariant, typesIn } from './dbus-types.ts';

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
