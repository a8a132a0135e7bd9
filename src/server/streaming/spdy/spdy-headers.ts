/** Header blocks: names and values with their lengths, compressed by one zlib stream for each direction of a connection. */
import { createInflate, type Inflate } from 'node:zlib';
import { SPDY_DICTIONARY } from './spdy-dictionary.ts';
import { SpdyError } from './spdy-error.ts';

/** Names in lower case. Of a header that is given several times, the values stand in one, with NUL between them. */
export type SpdyHeaders = ReadonlyMap<string, string>;

/** Uncompressed: a small block can become a large one. */
export const HEADER_BYTES_MAX = 65_536;

export class SpdyHeaderReader {
  /** Made when it is first needed, as zlib takes 40 KB. */
  #inflate: Inflate | undefined;
  #isClosed = false;

  /** Blocks must be read in the order in which they came, one after the other. Rejects with a `SpdyError`. */
  async read(block: Buffer): Promise<SpdyHeaders> {
    if (this.#isClosed) throw new SpdyError('the connection is closed');
    this.#inflate ??= createInflate({ dictionary: SPDY_DICTIONARY });
    return parseHeaders(await inflated(this.#inflate, block));
  }

  close(): void {
    this.#isClosed = true;
    this.#inflate?.destroy();
  }
}

function inflated(inflate: Inflate, block: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const leave = (): void => {
      inflate.off('data', take).off('error', fail).off('close', close);
    };
    const fail = (error: Error): void => {
      leave();
      reject(new SpdyError(`headers cannot be decompressed: ${error.message}`, { cause: error }));
    };
    const close = (): void => fail(new Error('the connection is closed'));
    const take = (part: Buffer): void => {
      bytes += part.length;
      if (bytes <= HEADER_BYTES_MAX) {
        parts.push(part);
        return;
      }
      fail(new Error(`more than ${HEADER_BYTES_MAX} bytes`));
      inflate.destroy();
    };
    inflate.on('data', take).on('error', fail).on('close', close);
    inflate.write(block, (error) => {
      if (error) return;
      leave();
      resolve(Buffer.concat(parts));
    });
  });
}

function parseHeaders(bytes: Buffer): SpdyHeaders {
  let at = 0;
  const number = (): number => {
    if (at + 4 > bytes.length) throw new SpdyError('a header block is cut off');
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (at + length > bytes.length) throw new SpdyError('a header block is cut off');
    at += length;
    return bytes.toString('utf8', at - length, at);
  };
  const headers = new Map<string, string>();
  for (let left = number(); left > 0; left -= 1) {
    const name = text().toLowerCase();
    headers.set(name, text());
  }
  return headers;
}

/** zlib: no dictionary is needed to read on; the lowest level. */
const ZLIB_HEAD = Buffer.from([0x78, 0x01]);
const STORED_BYTES_MAX = 65_535;
/** A block of no bytes: at this sign, and not before, Go hands on what it has. */
const FLUSH = Buffer.from([0, 0, 0, 0xff, 0xff]);

/**
 * Writes blocks that zlib reads, but that are not compressed: a compressor for each connection would take 260 KB of memory for
 * headers of 60 bytes.
 */
export class SpdyHeaderWriter {
  #begun = false;

  write(headers: SpdyHeaders): Buffer {
    const content = contentOf(headers);
    if (content.length > STORED_BYTES_MAX) throw new RangeError(`headers of ${content.length} bytes`);
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(content.length, 1);
    stored.writeUInt16LE(~content.length & 0xff_ff, 3);
    const block = [stored, content, FLUSH];
    if (!this.#begun) block.unshift(ZLIB_HEAD);
    this.#begun = true;
    return Buffer.concat(block);
  }
}

function contentOf(headers: SpdyHeaders): Buffer {
  const parts = [uint32(headers.size)];
  for (const text of [...headers].flat()) {
    const bytes = Buffer.from(text);
    parts.push(uint32(bytes.length), bytes);
  }
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
