import type { ClientHttp2Stream } from 'node:http2';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import { Timer } from '../timer.ts';
import { PREFIX_BYTES } from './grpc-connection.ts';

export interface LatestMessageListener {
  readonly clock: Clock;
  /** A longer message ends the stream. */
  readonly messageBytesMax: number;
  /** The stream ends with what it throws. */
  readonly onMessage: (message: Buffer) => void;
}

/** A message is looked at no sooner than this after the one before, and not before that has cost this share of the time. */
const PAUSE_MS = 50;
const PAUSES_A_COST = 20;

/**
 * Reads the messages of a stream of gRPC. A server that sends many costs no more than one that sends few: while a pause lasts only the
 * latest message is kept, and a server that has sent as much as one message may have is not read until it is over.
 */
export class LatestMessage {
  readonly #listener: LatestMessageListener;
  readonly #pause: Timer;
  /** The beginning of a message. */
  #chunks: Buffer[] = [];
  #length = 0;
  #latest: Buffer | undefined;
  #readBytes = 0;
  #stream: ClientHttp2Stream | undefined;

  constructor(listener: LatestMessageListener) {
    this.#listener = listener;
    this.#pause = new Timer(listener.clock);
  }

  read(stream: ClientHttp2Stream): void {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.#orEnd(() => this.#add(chunk));
    });
  }

  stop(): void {
    this.#pause.disarm();
    this.#stream = undefined;
  }

  #add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    this.#readBytes += chunk.length;
    this.#takeWhole();
    if (!this.#pause.isArmed) this.#tell();
    else if (this.#readBytes > this.#listener.messageBytesMax) this.#stream?.pause();
  }

  #takeWhole(): void {
    if (this.#length < this.#nextLength()) return;
    let bytes = Buffer.concat(this.#chunks, this.#length);
    for (let length = lengthOf(bytes); bytes.length >= length; length = lengthOf(bytes)) {
      if (bytes[0] !== 0)
        throw new StateletError('Internal', 'the answer is compressed, which it must not be');
      this.#latest = bytes.subarray(PREFIX_BYTES, length);
      bytes = bytes.subarray(length);
    }
    this.#chunks = [bytes];
    this.#length = bytes.length;
  }

  /** With its prefix, of the message that has begun; infinite while its length is not known. */
  #nextLength(): number {
    const [first] = this.#chunks;
    if (first !== undefined && first.length < PREFIX_BYTES)
      this.#chunks = [Buffer.concat(this.#chunks, this.#length)];
    const length = lengthOf(this.#chunks[0]);
    const { messageBytesMax } = this.#listener;
    if (length > messageBytesMax + PREFIX_BYTES && length !== Number.POSITIVE_INFINITY)
      throw new StateletError('ResourceExhausted', `the answer is longer than ${messageBytesMax} bytes`);
    return length;
  }

  #tell(): void {
    const latest = this.#latest;
    if (latest === undefined) return;
    this.#latest = undefined;
    this.#readBytes = 0;
    const { clock, onMessage } = this.#listener;
    const began = clock.now();
    // A copy: a view would keep alive what came after it.
    onMessage(Buffer.from(latest));
    const costMs = Math.max(0, clock.now() - began);
    this.#pause.arm(Math.max(PAUSE_MS, PAUSES_A_COST * costMs), () => {
      this.#orEnd(() => this.#tell());
      this.#stream?.resume();
    });
  }

  #orEnd(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#pause.disarm();
      this.#stream?.destroy(error as Error);
    }
  }
}

/** Of the message at the beginning of the bytes, with its prefix. */
function lengthOf(bytes: Buffer | undefined): number {
  if (bytes === undefined || bytes.length < PREFIX_BYTES) return Number.POSITIVE_INFINITY;
  return PREFIX_BYTES + bytes.readUInt32BE(1);
}
