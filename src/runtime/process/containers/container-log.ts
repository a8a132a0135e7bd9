import { Socket } from 'node:net';
import { nowNs } from '../monitor/start-clock.ts';
import { CriLogFormatter } from './cri-log-format.ts';
import type { LogFile } from './log-file.ts';

/** How long output is read after the container's end: a process that escaped may hold the pipe open. */
const DRAIN_MS = 2000;

/** Copies the output of a container from its two pipes to its log file. */
export class ContainerLog {
  readonly #file: LogFile | undefined;
  readonly #pumps: readonly Pump[];

  /** Becomes the owner of the pipes' reading ends. Without a file, the output is read and dropped. */
  constructor(fds: { stdout: number; stderr: number }, file: LogFile | undefined) {
    this.#file = file;
    this.#pumps = (['stdout', 'stderr'] as const).map(
      (stream) => new Pump(new CriLogFormatter(stream), fds[stream], file),
    );
  }

  /** Resolves when all writing ends are closed. */
  get ended(): Promise<void> {
    return Promise.all(this.#pumps.map((pump) => pump.ended)).then(() => undefined);
  }

  async reopen(): Promise<void> {
    await this.#file?.reopen();
  }

  /** Writes what is left in the pipes, and closes pipes and file. */
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
    // An error is followed by `close`, which is handled above.
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (chunk: Buffer) => {
      file?.append(formatter.push(chunk, nowNs()));
      if (file?.behind) this.#waitFor(file);
    });
  }

  stop(): void {
    this.#socket.destroy();
  }

  /** Leaves the output in the pipe meanwhile: when the pipe is full, the container waits. */
  #waitFor(file: LogFile): void {
    this.#socket.pause();
    void file.whenIdle().then(() => this.#socket.resume());
  }
}
