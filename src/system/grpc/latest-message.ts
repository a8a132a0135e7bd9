import type { ClientHttp2Stream } from 'node:http2';
import type { Clock } from '../../types/clock.ts';
import { Timer } from '../timer.ts';
import { FrameReader } from './grpc-frames.ts';

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
  readonly #frames: FrameReader;
  #latest: Buffer | undefined;
  #readBytes = 0;
  #stream: ClientHttp2Stream | undefined;

  constructor(listener: LatestMessageListener) {
    this.#listener = listener;
    this.#pause = new Timer(listener.clock);
    this.#frames = new FrameReader(listener.messageBytesMax);
  }

  /** Throws what ends the stream. */
  take(chunk: Buffer, stream: ClientHttp2Stream): void {
    this.#stream = stream;
    this.#readBytes += chunk.length;
    this.#latest = this.#frames.take(chunk).at(-1) ?? this.#latest;
    if (!this.#pause.isArmed) this.#notify();
    else if (this.#readBytes > this.#listener.messageBytesMax) stream.pause();
  }

  stop(): void {
    this.#pause.disarm();
    this.#stream = undefined;
  }

  #notify(): void {
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
      const stream = this.#stream;
      try {
        this.#notify();
        stream?.resume();
      } catch (error) {
        stream?.destroy(error as Error);
      }
    });
  }
}
