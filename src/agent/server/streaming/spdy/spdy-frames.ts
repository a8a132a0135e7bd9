/**
 * Frames of SPDY/3.1, as bytes and as values. Each begins with 8 bytes:
 *
 *     control   1 | version (15 bits) | type (16)       data   0 | stream (31)
 *               flags (8) | length (24)                        flags (8) | length (24)
 */
import { SpdyError } from './spdy-headers.ts';

export type SpdyFrame =
  | { readonly type: 'synStream'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'synReply'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'headers'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'reset'; readonly streamId: number }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway' }
  /** A piece of a data frame; `fin` is only on the last piece. */
  | { readonly type: 'data'; readonly streamId: number; readonly chunk: Buffer; readonly fin: boolean };

export const RESET_PROTOCOL_ERROR = 1;
export const RESET_REFUSED = 3;
export const RESET_CANCEL = 5;

/** A control frame is held in memory whole. Streams of Kubernetes have some hundred bytes of headers. */
export const CONTROL_BYTES_MAX = 65_536;
/** The length has 24 bits. */
const DATA_BYTES_MAX = 0xff_ff_ff;

const HEAD_BYTES = 8;
const VERSION = 3;
const FIN = 1;
const ID_MASK = 0x7f_ff_ff_ff;
const NOTHING = Buffer.alloc(0);

const SYN_STREAM = 1;
const SYN_REPLY = 2;
const RST_STREAM = 3;
const PING = 6;
const GOAWAY = 7;
const HEADERS = 8;
/** How many bytes a control frame has at least. Other types, such as settings and windows, are skipped: they have no meaning here. */
const BODY_BYTES_MIN = new Map([
  [SYN_STREAM, 10],
  [SYN_REPLY, 4],
  [RST_STREAM, 8],
  [PING, 4],
  [GOAWAY, 4],
  [HEADERS, 4],
]);

interface Control {
  readonly type: number;
  readonly flags: number;
  readonly length: number;
}

/** The data frame whose bytes come. */
interface Data {
  readonly streamId: number;
  readonly fin: boolean;
  left: number;
}

/** Takes bytes as they come and gives frames. Data is handed on at once, in pieces, so that a large frame takes no memory. */
export class SpdyFrameReader {
  /** Bytes of the head, or of the control frame, that is not complete. */
  #pending: Buffer = NOTHING;
  #control: Control | undefined;
  #data: Data | undefined;

  /** Throws a `SpdyError` when the bytes are no frames. */
  *push(chunk: Buffer): Generator<SpdyFrame, void, void> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#data) {
        const piece = rest.subarray(0, this.#data.left);
        rest = rest.subarray(piece.length);
        yield this.#pieceOf(this.#data, piece);
        continue;
      }
      const after = this.#gather(rest, this.#control?.length ?? HEAD_BYTES);
      if (!after) return;
      rest = after;
      const frame = this.#control ? this.#endControl(this.#control) : this.#begin();
      if (frame) yield frame;
    }
  }

  /** Fills `#pending` up to `length`; returns what is left over, or undefined while bytes are missing. */
  #gather(chunk: Buffer, length: number): Buffer | undefined {
    const missing = length - this.#pending.length;
    const taken = chunk.subarray(0, missing);
    this.#pending = this.#pending.length === 0 ? taken : Buffer.concat([this.#pending, taken]);
    return taken.length < missing ? undefined : chunk.subarray(missing);
  }

  #pieceOf(data: Data, chunk: Buffer): SpdyFrame {
    data.left -= chunk.length;
    if (data.left === 0) this.#data = undefined;
    return { type: 'data', streamId: data.streamId, chunk, fin: data.fin && data.left === 0 };
  }

  #begin(): SpdyFrame | undefined {
    const first = this.#pending.readUInt32BE(0);
    const flags = this.#pending.readUInt8(4);
    const length = this.#pending.readUIntBE(5, 3);
    this.#pending = NOTHING;
    if (first <= ID_MASK) {
      const fin = (flags & FIN) !== 0;
      if (length === 0) return { type: 'data', streamId: first, chunk: NOTHING, fin };
      this.#data = { streamId: first, fin, left: length };
      return undefined;
    }
    this.#beginControl((first >>> 16) & 0x7fff, { type: first & 0xff_ff, flags, length });
    return undefined;
  }

  #beginControl(version: number, control: Control): void {
    const { type, length } = control;
    if (version !== VERSION) throw new SpdyError(`a frame of SPDY version ${version}; only 3 is spoken here`);
    if (length > CONTROL_BYTES_MAX) {
      throw new SpdyError(`a control frame of ${length} bytes; the most is ${CONTROL_BYTES_MAX}`);
    }
    if (length < (BODY_BYTES_MIN.get(type) ?? 0)) {
      throw new SpdyError(`a control frame of type ${type} is cut off: ${length} bytes`);
    }
    if (length > 0) this.#control = control;
  }

  #endControl({ type, flags }: Control): SpdyFrame | undefined {
    const body = this.#pending;
    this.#pending = NOTHING;
    this.#control = undefined;
    if (!BODY_BYTES_MIN.has(type)) return undefined;
    const streamId = body.readUInt32BE(0) & ID_MASK;
    const fin = (flags & FIN) !== 0;
    switch (type) {
      case SYN_STREAM:
        return { type: 'synStream', streamId, fin, block: body.subarray(10) };
      case SYN_REPLY:
        return { type: 'synReply', streamId, fin, block: body.subarray(4) };
      case HEADERS:
        return { type: 'headers', streamId, fin, block: body.subarray(4) };
      case RST_STREAM:
        return { type: 'reset', streamId };
      case PING:
        return { type: 'ping', id: body.readUInt32BE(0) };
      default:
        return { type: 'goAway' };
    }
  }
}

function control(type: number, bodyBytes: number, flags = 0, moreBytes = 0): Buffer {
  const frame = Buffer.alloc(HEAD_BYTES + bodyBytes);
  frame.writeUInt32BE(((0x80_00 | VERSION) * 0x1_00_00 + type) >>> 0, 0);
  frame.writeUInt8(flags, 4);
  frame.writeUIntBE(bodyBytes + moreBytes, 5, 3);
  return frame;
}

export function synStreamFrame(streamId: number, block: Buffer): Buffer {
  const frame = control(SYN_STREAM, 10, 0, block.length);
  frame.writeUInt32BE(streamId, HEAD_BYTES);
  return Buffer.concat([frame, block]);
}

export function synReplyFrame(streamId: number, block: Buffer): Buffer {
  const frame = control(SYN_REPLY, 4, 0, block.length);
  frame.writeUInt32BE(streamId, HEAD_BYTES);
  return Buffer.concat([frame, block]);
}

export function resetFrame(streamId: number, status: number): Buffer {
  const frame = control(RST_STREAM, 8);
  frame.writeUInt32BE(streamId, HEAD_BYTES);
  frame.writeUInt32BE(status, HEAD_BYTES + 4);
  return frame;
}

export function pingFrame(id: number): Buffer {
  const frame = control(PING, 4);
  frame.writeUInt32BE(id, HEAD_BYTES);
  return frame;
}

export function goAwayFrame(lastStreamId: number): Buffer {
  const frame = control(GOAWAY, 8);
  frame.writeUInt32BE(lastStreamId, HEAD_BYTES);
  return frame;
}

/** The head of a data frame; its bytes follow. */
export function dataHead(streamId: number, length: number, fin: boolean): Buffer {
  if (length > DATA_BYTES_MAX) throw new RangeError(`a data frame of ${length} bytes`);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt8(fin ? FIN : 0, 4);
  head.writeUIntBE(length, 5, 3);
  return head;
}
