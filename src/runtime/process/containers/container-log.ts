import { Socket } from 'node:net';
import { nowNs } from '../monitor/start-clock.ts';
import { CriLogFormatter } from './cri-log-format.ts';
import type { LogFile } from './log-file.ts';

/** How long output may keep coming after the container's end: something that got away may hold the pipe. */
const DRAIN_MS = 2000;

/** Carries what a container writes from its two pipes into its log file. */
export class ContainerLog {
  readonly #file: LogFile | undefined;
  readonly #pumps: readonly Pump[];

  /** Takes the reading ends of the pipes over. Without a file what comes is read and dropped. */
  constructor(fds: { stdout: number; stderr: number }, file: LogFile | undefined) {
    this.#file = file;
    this.#pumps = (['stdout', 'stderr'] as const).map(
      (stream) => new Pump(new CriLogFormatter(stream), fds[stream], file),
    );
  }

  /** Resolves when nobody holds a writing end any more. */
  get ended(): Promise<void> {
    return Promise.all(this.#pumps.map((pump) => pump.ended)).then(() => undefined);
  }

  async reopen(): Promise<void> {
    await this.#file?.reopen();
  }

  /** Reads what is left in the pipes, writes it and closes everything. */
  async finish(): Promise<void> {
    const timer = setTimeout(() => this.#stopReading(), DRAIN_MS);
    await this.ended;
    clearTimeout(timer);
    await this.#file?.close();
  }

  #stopReading(): void {
    for (const pump of this.#pumps) pump.stop();
  }
}

class Pump {
  readonly ended: Promise<void>;
  readonly #socket: Socket;

  constructor(formatter: CriLogFormatter, fd: number, file: LogFile | undefined) {
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.ended = new Promise((resolve) => {
      this.#socket.once('close', () => {
        file?.append(formatter.end(nowNs()));
        resolve();
      });
    });
    // An error closes the socket, which is all that there is to know.
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (chunk: Buffer) => {
      file?.append(formatter.push(chunk, nowNs()));
      if (file?.behind) this.#waitFor(file);
    });
  }

  stop(): void {
    this.#socket.destroy();
  }

  /** Leaves the container's output in the pipe, where it makes the container wait in the end. */
  #waitFor(file: LogFile): void {
    this.#socket.pause();
    void file.whenIdle().then(() => this.#socket.resume());
  }
}
