/** How gRPC puts messages into a stream: before each, a prefix says whether it is compressed, and how long it is. */
import { StateletError } from '../../types/errors.ts';

export const PREFIX_BYTES = 5;

export function prefixOf(parts: readonly Uint8Array[]): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(
    parts.reduce((length, part) => length + part.length, 0),
    1,
  );
  return prefix;
}

/** Takes messages out of a stream that comes in pieces. */
export class FrameReader {
  readonly #bytesMax: number;
  /** The beginning of a message. */
  #chunks: Buffer[] = [];
  #length = 0;

  /** `bytesMax`: of one message. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether nothing of a further message has come. */
  get isAtEnd(): boolean {
    return this.#length === 0;
  }

  /** The messages that are whole now, as views. Throws for one that is too long or compressed. */
  take(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#nextLength()) return [];
    let bytes = Buffer.concat(this.#chunks, this.#length);
    const messages: Buffer[] = [];
    for (let length = lengthOf(bytes); bytes.length >= length; length = lengthOf(bytes)) {
      if (bytes[0] !== 0)
        throw new StateletError('Internal', 'the answer is compressed, which it must not be');
      messages.push(bytes.subarray(PREFIX_BYTES, length));
      bytes = bytes.subarray(length);
    }
    this.#chunks = [bytes];
    this.#length = bytes.length;
    return messages;
  }

  /** With its prefix, of the message that has begun; infinite while its length is not known. */
  #nextLength(): number {
    const [first] = this.#chunks;
    if (first !== undefined && first.length < PREFIX_BYTES)
      this.#chunks = [Buffer.concat(this.#chunks, this.#length)];
    const length = lengthOf(this.#chunks[0]);
    if (length > this.#bytesMax + PREFIX_BYTES && length !== Number.POSITIVE_INFINITY)
      throw new StateletError('ResourceExhausted', `the answer is longer than ${this.#bytesMax} bytes`);
    return length;
  }
}

/** Of the message at the beginning of the bytes, with its prefix. */
function lengthOf(bytes: Buffer | undefined): number {
  if (bytes === undefined || bytes.length < PREFIX_BYTES) return Number.POSITIVE_INFINITY;
  return PREFIX_BYTES + bytes.readUInt32BE(1);
}
