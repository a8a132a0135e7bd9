/** Header blocks: names and values with their lengths, compressed by one zlib stream for each direction of a connection. */
import { createInflate, type Inflate } from 'node:zlib';

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
/** An empty block. Go's zlib gives out what it has decompressed only when it reads one. */
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

/** zlib's dictionary in SPDY/3 (draft-mbelshe-httpbis-spdy-00, 2.6.10.1): both sides must have exactly these bytes. */
const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow ' +
  'authorization cache-control connection content-base content-encoding content-language content-length content-location ' +
  'content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match ' +
  'if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range ' +
  'referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method ' +
  'get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin';

const TAIL =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505' +
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden' +
  '404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable' +
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT' +
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,' +
  'publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

function withLength(word: string): Buffer {
  const bytes = Buffer.alloc(4 + word.length);
  bytes.writeUInt32BE(word.length);
  bytes.write(word.replace('_', ' '), 4, 'latin1');
  return bytes;
}

export const SPDY_DICTIONARY = Buffer.concat([
  ...WORDS.split(' ').map(withLength),
  Buffer.from(TAIL, 'latin1'),
]);

/** The peer broke the rules of SPDY/3.1; the connection cannot go on. */
export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}
