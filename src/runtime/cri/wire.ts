/**
 * The bytes of protocol buffers, without a library: protobufjs costs 8 MB of memory (its 64-bit integers come as
 * WebAssembly), and CRI needs little of it.
 */

export const VARINT = 0;
const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

/** Values of the 28 bits that four bytes of a varint hold, and of the 56 bits of eight. */
const GROUP = 2 ** 28;
const TWO_GROUPS = 2 ** 56;

/** Throws a RangeError where the bytes end too early. */
export class Reader {
  position = 0;
  readonly #bytes: Buffer;
  #more = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Where the nested message ends whose length comes next. */
  enter(): number {
    const end = this.int() + this.position;
    if (end > this.length) throw new RangeError('the message ends within a nested one');
    return end;
  }

  /** An integer of up to 64 bits, signed as an int64; beyond 2^53 as exact as a double is. */
  int(): number {
    const low = this.#group(28);
    if (this.#isComplete()) return low;
    const middle = this.#group(28);
    if (this.#isComplete()) return low + middle * GROUP;
    const high = this.#group(14) & 0xff;
    if (high < 0x80) return low + middle * GROUP + high * TWO_GROUPS;
    return -(GROUP - 1 - low + (GROUP - 1 - middle) * GROUP + (0xff - high) * TWO_GROUPS + 1);
  }

  /** A part of the bytes read, not a copy. */
  bytes(): Buffer {
    const length = this.int();
    const start = this.position;
    return this.#bytes.subarray(start, this.#advance(length));
  }

  string(): string {
    const length = this.int();
    const start = this.position;
    return this.#bytes.toString('utf8', start, this.#advance(length));
  }

  skip(wireType: number): void {
    if (wireType === VARINT) this.int();
    else if (wireType === LENGTH_DELIMITED) this.#advance(this.int());
    else if (wireType === FIXED64) this.#advance(8);
    else if (wireType === FIXED32) this.#advance(4);
    else throw new RangeError(`wire type ${wireType} is not known`);
  }

  #isComplete(): boolean {
    return !this.#more;
  }

  /** The next bits of a varint, `#more` where it goes on behind them. */
  #group(bits: number): number {
    let value = 0;
    for (let shift = 0; shift < bits; shift += 7) {
      const byte = this.#bytes[this.position++];
      if (byte === undefined) throw new RangeError('the message ends within a number');
      value |= (byte & 0x7f) << shift;
      this.#more = byte >= 0x80;
      if (!this.#more) break;
    }
    return value;
  }

  #advance(count: number): number {
    this.position += count;
    if (this.position > this.#bytes.length) throw new RangeError('the message ends within a value');
    return this.position;
  }
}

/** Writes from the end to the front: the length of a nested message is known once it has been written. */
export class Writer {
  #bytes = Buffer.allocUnsafe(1024);
  #start = this.#bytes.length;

  /** How much has been written. */
  get length(): number {
    return this.#bytes.length - this.#start;
  }

  finish(): Buffer {
    return this.#bytes.subarray(this.#start);
  }

  int(value: number): void {
    if (value < 0) {
      this.#negative(value);
      return;
    }
    const digits: number[] = [];
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) digits.push((rest % 0x80) | 0x80);
    digits.push(rest);
    const at = this.#reserve(digits.length);
    for (const [index, digit] of digits.entries()) this.#bytes[at + index] = digit;
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    const at = this.#reserve(length);
    this.#bytes.write(value, at, 'utf8');
    this.int(length);
  }

  bytes(value: Uint8Array): void {
    const at = this.#reserve(value.length);
    this.#bytes.set(value, at);
    this.int(value.length);
  }

  #negative(value: number): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    const at = this.#reserve(10);
    for (let index = 0; index < 10; index++, rest >>= 7n) {
      this.#bytes[at + index] = Number(rest & 0x7fn) | (index < 9 ? 0x80 : 0);
    }
  }

  /** Room for `count` bytes before everything written so far; their position. */
  #reserve(count: number): number {
    if (this.#start < count) this.#grow(count);
    this.#start -= count;
    return this.#start;
  }

  #grow(count: number): void {
    const larger = Buffer.allocUnsafe(2 * (this.#bytes.length + count));
    const start = larger.length - this.length;
    this.#bytes.copy(larger, start, this.#start);
    this.#bytes = larger;
    this.#start = start;
  }
}
