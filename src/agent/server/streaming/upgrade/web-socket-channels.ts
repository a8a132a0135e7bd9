/** Several streams in one WebSocket: the first byte of each message is the number of its stream. */
import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

/** Only in v5: the second byte is the number of the stream that ends. */
const CLOSE_CHANNEL = 255;
const ZERO = '0'.charCodeAt(0);

export interface ChannelFormat {
  /** The number is a digit, and what follows is base64. */
  readonly isBase64: boolean;
  /** The client can end a stream of its own. */
  readonly endsStreams: boolean;
}

/** One stream. Its end is not sent to the client: no version of the protocol has a message for that. */
export class WebSocketChannel extends Duplex {
  readonly #number: number;
  readonly #channels: WebSocketChannels;

  constructor(number: number, channels: WebSocketChannels) {
    super({ allowHalfOpen: true });
    this.#number = number;
    this.#channels = channels;
    // An error without a listener would end the process. The writer learns of a client that is gone from its callback.
    this.on('error', () => undefined);
  }

  override _read(): void {
    this.#channels.goOn(this);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#channels.send(this.#number, chunk, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#channels.goOn(this);
    done(error);
  }
}

export class WebSocketChannels {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #format: ChannelFormat;
  readonly #channels = new Map<number, WebSocketChannel>();
  /** Those whose reader is behind: until they have read, nothing is received. */
  readonly #behind = new Set<WebSocketChannel>();

  constructor(socket: WebSocket, format: ChannelFormat) {
    this.#socket = socket;
    this.#format = format;
    socket.on('message', (data) => this.#receive(bytesOf(data)));
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        // What has come can still be read.
        for (const channel of this.#channels.values()) channel.push(null);
        resolve();
      });
    });
  }

  /** Data for a stream that was never asked for is dropped. */
  channel(number: number): WebSocketChannel {
    const channel = this.#channels.get(number) ?? new WebSocketChannel(number, this);
    this.#channels.set(number, channel);
    return channel;
  }

  send(number: number, chunk: Buffer, done: (error?: Error | null) => void): void {
    const isOpen = this.#socket.readyState === this.#socket.OPEN;
    if (!isOpen) done(new Error('the WebSocket is closed'));
    else if (this.#format.isBase64) {
      this.#socket.send(
        String.fromCharCode(ZERO + number) + chunk.toString('base64'),
        { binary: false },
        done,
      );
    } else this.#socket.send(Buffer.concat([Buffer.from([number]), chunk]), { binary: true }, done);
  }

  goOn(channel: WebSocketChannel): void {
    if (this.#behind.delete(channel) && this.#behind.size === 0) this.#socket.resume();
  }

  /** What was sent before still reaches the client. */
  end(): void {
    // What still comes is dropped: a stream that is not read would hold the connection open.
    for (const channel of this.#channels.values()) channel.resume();
    this.#socket.close(1000);
  }

  #receive(message: Buffer): void {
    const [first] = message;
    if (first === undefined) return;
    if (first === CLOSE_CHANNEL && this.#format.endsStreams) {
      this.endInput(message[1]);
      return;
    }
    const channel = this.#channels.get(this.#format.isBase64 ? first - ZERO : first);
    if (!channel || channel.destroyed || channel.readableEnded) return;
    const data = this.#format.isBase64 ? decoded(message.subarray(1)) : message.subarray(1);
    if (data.length === 0 || channel.push(data)) return;
    this.#behind.add(channel);
    this.#socket.pause();
  }

  /** Data that the client sends from now on is dropped. */
  endInput(number: number | undefined): void {
    const channel = number === undefined ? undefined : this.#channels.get(number);
    if (!channel || channel.destroyed) return;
    this.#channels.delete(number ?? -1);
    channel.push(null);
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/u;

/** Empty for what is no base64. */
function decoded(text: Buffer): Buffer {
  const base64 = text.toString('latin1').replaceAll(/[\r\n]/gu, '');
  return BASE64.test(base64) && base64.length % 4 === 0 ? Buffer.from(base64, 'base64') : Buffer.alloc(0);
}
