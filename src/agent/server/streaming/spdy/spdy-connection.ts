/**
 * One SPDY/3.1 connection with its streams, as Kubernetes uses it: neither side has windows. A reader that is behind stops the
 * whole connection, so that its peer is slowed by TCP.
 */
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { onceStill, type Watched } from '../../../runtime/service/runtime-service.ts';
import { LINGER_MS, SILENCE_MS } from '../streaming-limits.ts';
import { SpdyError, SpdyHeaderReader, type SpdyHeaders, SpdyHeaderWriter } from './spdy-headers.ts';
import * as frames from './spdy-frames.ts';
import type { SpdyFrame } from './spdy-frames.ts';
import { SpdyStream } from './spdy-stream.ts';

export interface SpdyConnectionOptions {
  readonly side: 'client' | 'server';
  /** Whether the peer may open this stream. */
  readonly accepts?: (headers: SpdyHeaders) => boolean;
  /** Called with each stream that the peer opens. Its data must be read: unread data holds up the whole connection. */
  readonly onStream?: (stream: SpdyStream) => void;
}

/** A forwarded connection has two streams. */
const STREAMS_MAX = 20_000;
/** When more bytes wait to be sent, a frame that needs an answer is answered later, and no further frame is read meanwhile. */
const UNSENT_BYTES_MAX = 262_144;
/** Smaller chunks are copied behind their head, so that one packet or message takes both. */
const COPIED_BYTES_MAX = 8192;
/** Larger chunks are sent as several frames. */
const CHUNK_BYTES_MAX = 65_536;

export class SpdyConnection {
  /** Resolves when the connection is closed, with the error that broke it if there was one. */
  readonly closed: Promise<Error | undefined>;
  readonly #socket: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #reader = new frames.SpdyFrameReader();
  readonly #headerReader = new SpdyHeaderReader();
  readonly #headerWriter = new SpdyHeaderWriter();
  readonly #streams = new Map<number, SpdyStream>();
  #lastPeerId = 0;
  #nextId: number;
  #isEnding = false;
  /** A reader is behind: nothing is read from the peer meanwhile. */
  #isHeld = false;
  /** Read from the peer so far. */
  #chunks = 0;
  #stopWaiting: () => void = () => undefined;
  #endHold: () => void = () => undefined;

  constructor(socket: Duplex, options: SpdyConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.side === 'client' ? 1 : 2;
    if (options.side === 'server') socket.once('close', () => this.#endHold());
    this.closed = this.#run();
  }

  /** Opens a stream. It fails if the peer refuses it. */
  open(headers: SpdyHeaders): SpdyStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#join(new SpdyStream(id, headers, this.#carrier, true));
    this.#send(frames.synStreamFrame(id, this.#headerWriter.write(headers)));
    return stream;
  }

  /**
   * Ends this side of the connection. A server sends what was written before, and lets the client close the connection: closing it
   * first could discard what the client, or a proxy before it, has not read yet. A client reads all that the server sends, and then
   * closes the connection.
   */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    void (this.#options.side === 'server' ? this.#endWriting() : this.#endReading());
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #endWriting(): Promise<void> {
    const progress = () => this.#socket.writableLength;
    this.#onceStill({ stillMs: LINGER_MS, progress }, () => this.#socket.destroy());
    const streams = [...this.#streams.values()];
    await Promise.allSettled(streams.map((stream) => finished(stream.end(), { readable: false })));
    this.#send(frames.goAwayFrame(this.#lastPeerId));
    // What the client still sends is dropped.
    for (const stream of this.#streams.values()) stream.destroy();
  }

  async #endReading(): Promise<void> {
    // Servers end their streams or close the connection right after the outcome of a command. If one does neither, a silence ends it.
    const watched = { stillMs: SILENCE_MS, progress: () => this.#chunks, isHeld: () => this.#isHeld };
    this.#onceStill(watched, () => {
      for (const stream of this.#streams.values()) void stream.receive(Buffer.alloc(0), true);
      this.#socket.destroy();
    });
    await Promise.allSettled(
      [...this.#streams.values()].map((stream) => finished(stream, { writable: false })),
    );
    if (this.#socket.writable) this.#socket.end(frames.goAwayFrame(this.#lastPeerId));
  }

  #onceStill(watched: Watched, callback: () => void): void {
    if (!this.#socket.destroyed) this.#stopWaiting = onceStill(watched, callback);
  }

  readonly #carrier = {
    sendData: (streamId: number, chunk: Buffer | undefined, done: (error?: Error | null) => void): void => {
      if (this.#isEnding && this.#options.side === 'client') done();
      else if (chunk) this.#sendChunk(streamId, chunk, done);
      else this.#send(frames.dataHead(streamId, 0, true), done);
    },
    leave: (stream: SpdyStream): void => {
      this.#streams.delete(stream.id);
      const isEndKnown = stream.isFinished || (this.#isEnding && this.#options.side === 'server');
      if (!isEndKnown) this.#send(frames.resetFrame(stream.id, frames.RESET_CANCEL));
    },
  };

  #sendChunk(streamId: number, chunk: Buffer, done: (error?: Error | null) => void): void {
    const piece = chunk.subarray(0, CHUNK_BYTES_MAX);
    const rest = chunk.subarray(CHUNK_BYTES_MAX);
    const sent = (error?: Error | null): void => {
      if (error != null || rest.length === 0) done(error);
      else this.#sendChunk(streamId, rest, done);
    };
    const head = frames.dataHead(streamId, piece.length, false);
    if (piece.length < COPIED_BYTES_MAX) {
      this.#send(Buffer.concat([head, piece]), sent);
      return;
    }
    this.#socket.cork();
    this.#send(head);
    this.#send(piece, sent);
    this.#socket.uncork();
  }

  #send(bytes: Buffer, done: (error?: Error | null) => void = () => undefined): void {
    if (this.#socket.writable) this.#socket.write(bytes, done);
    else done(new SpdyError('the connection is closed'));
  }

  #join(stream: SpdyStream): SpdyStream {
    this.#streams.set(stream.id, stream);
    // Users of the stream listen to 'close'. An error without a listener would end the process.
    stream.on('error', () => undefined);
    return stream;
  }

  async #run(): Promise<Error | undefined> {
    // The iterator throws an error of the socket only while it is waited for. At other times, without a listener, it would end the process.
    this.#socket.on('error', () => undefined);
    try {
      await this.#readFrames();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#socket.destroy();
      this.#stopWaiting();
      this.#headerReader.close();
      for (const stream of this.#streams.values()) stream.abort();
    }
  }

  async #readFrames(): Promise<void> {
    for await (const chunk of this.#socket) {
      this.#chunks += 1;
      for (const frame of this.#reader.push(chunk as Buffer)) {
        // A server sends this frame after everything else. Its client may still have data to read.
        if (frame.type === 'goAway' && this.#options.side === 'client') return;
        const wait = this.#take(frame);
        if (wait) await this.#hold(wait);
      }
    }
  }

  /** A client that is gone ends the wait: what it has sent is of no use any more. What a server has sent is read to its end. */
  async #hold(wait: Promise<void>): Promise<void> {
    this.#isHeld = true;
    await new Promise<void>((resolve, reject) => {
      wait.then(resolve, reject);
      this.#endHold = resolve;
      if (this.#options.side === 'server' && this.#socket.closed) resolve();
    });
    this.#isHeld = false;
  }

  #take(frame: SpdyFrame): Promise<void> | undefined {
    switch (frame.type) {
      case 'data':
        return this.#streams.get(frame.streamId)?.receive(frame.chunk, frame.fin);
      case 'synStream':
        return this.#opened(frame.streamId, frame.fin, frame.block);
      case 'synReply':
      case 'headers':
        return this.#answered(frame);
      case 'reset':
        this.#streams.get(frame.streamId)?.abort();
        return undefined;
      case 'ping':
        return this.#pinged(frame.id);
      case 'goAway':
        return undefined;
    }
  }

  /** All header blocks must be read, also those that are not wanted: each depends on those before it. */
  async #opened(id: number, fin: boolean, block: Buffer): Promise<void> {
    const headers = await this.#headerReader.read(block);
    const isPeers = id % 2 === (this.#options.side === 'server' ? 1 : 0);
    if (!isPeers || id <= this.#lastPeerId)
      return this.#answer(frames.resetFrame(id, frames.RESET_PROTOCOL_ERROR));
    this.#lastPeerId = id;
    if (this.#isEnding || this.#streams.size >= STREAMS_MAX) {
      return this.#answer(frames.resetFrame(id, frames.RESET_REFUSED));
    }
    const { accepts, onStream } = this.#options;
    if (!onStream || accepts?.(headers) === false) {
      return this.#answer(frames.resetFrame(id, frames.RESET_CANCEL));
    }
    const stream = this.#join(new SpdyStream(id, headers, this.#carrier, false));
    // The peer drops data that comes before the reply.
    await this.#answer(frames.synReplyFrame(id, this.#headerWriter.write(new Map())));
    onStream(stream);
    if (fin) void stream.receive(Buffer.alloc(0), true);
  }

  async #answered(frame: SpdyFrame & { readonly type: 'synReply' | 'headers' }): Promise<void> {
    await this.#headerReader.read(frame.block);
    const stream = this.#streams.get(frame.streamId);
    if (frame.type === 'synReply') stream?.accept();
    if (frame.fin) void stream?.receive(Buffer.alloc(0), true);
  }

  /** Answers the peer's pings; the answers to ours have ids of our side. */
  #pinged(id: number): Promise<void> | undefined {
    const isPeers = id % 2 === (this.#options.side === 'server' ? 1 : 0);
    return isPeers ? this.#answer(frames.pingFrame(id)) : undefined;
  }

  /** Waits if the peer does not read: answers must not pile up in memory. */
  async #answer(bytes: Buffer): Promise<void> {
    const isBehind = this.#socket.writableLength > UNSENT_BYTES_MAX;
    if (!isBehind) {
      this.#send(bytes);
      return;
    }
    await new Promise<void>((resolve) => {
      this.#send(bytes, () => resolve());
    });
  }
}
