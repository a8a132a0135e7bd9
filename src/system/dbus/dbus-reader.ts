import { ALIGNMENTS, type DBusValue, typesIn } from './dbus-types.ts';

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
