import { Socket } from 'node:net';
import { onceStill } from '../../agent/runtime/service/runtime-service.ts';
import type { OutputCopy } from '../streams/output-copy.ts';
import { nowNs } from '../../agent/runtime/logs/start-clock.ts';
import { CriLogFormatter } from '../../agent/runtime/logs/cri-log-format.ts';
import type { LogFile } from './log-file.ts';

/** How long output is read after the container's end: a process that escaped may hold the pipe open. */
const DRAIN_MS = 2000;

type Output = 'stdout' | 'stderr';

/** For each stream, the copy that an attached client gets. */
export type Copies = Readonly<Partial<Record<Output, OutputCopy>>>;

/** Copies the output of a container from its pipes to its log file, and to attached clients. */
export class ContainerLog {
  readonly #file: LogFile | undefined;
  readonly #pumps: ReadonlyMap<Output, Pump>;

  /** Becomes the owner of the pipes' reading ends. Without a file, the output is read and dropped. */
  constructor(fds: { stdout: number; stderr?: number }, file: LogFile | undefined) {
    this.#file = file;
    const pump = (stream: Output, fd: number): [Output, Pump] => [
      stream,
      new Pump(new CriLogFormatter(stream), fd, file),
    ];
    this.#pumps = new Map([
      pump('stdout', fds.stdout),
      ...(fds.stderr === undefined ? [] : [pump('stderr', fds.stderr)]),
    ]);
  }

  /** Copies the output from now on, until the function that is returned is called. */
  copyTo(copies: Copies): () => void {
    for (const [stream, pump] of this.#pumps) pump.add(copies[stream]);
    return () => {
      for (const [stream, pump] of this.#pumps) pump.remove(copies[stream]);
    };
  }

  /** Resolves when all writing ends are closed. */
  get ended(): Promise<void> {
    return Promise.all([...this.#pumps.values()].map((pump) => pump.ended)).then(() => undefined);
  }

  async reopen(): Promise<void> {
    await this.#file?.reopen();
  }

  /** Writes what is left in the pipes, and closes pipes and file. */
  async finish(): Promise<void> {
    for (const pump of this.#pumps.values()) pump.hurry();
    const isHeld = () => [...this.#pumps.values()].some((pump) => pump.isHeld);
    const stopWaiting = onceStill({ stillMs: DRAIN_MS, isHeld }, () => this.#stopReading());
    await this.ended;
    stopWaiting();
    await this.#file?.close();
  }

  #stopReading(): void {
    for (const pump of this.#pumps.values()) pump.stop();
  }
}

class Pump {
  readonly ended: Promise<void>;
  readonly #socket: Socket;
  readonly #copies = new Set<OutputCopy>();
  readonly #hurried = Promise.withResolvers<undefined>();

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
      for (const copy of this.#copies) copy.write(chunk);
      if (file?.behind || [...this.#copies].some((copy) => copy.behind)) void this.#wait(file);
    });
  }

  /** It waits for the log file or for a client, and has left output in the pipe. */
  get isHeld(): boolean {
    return this.#socket.isPaused();
  }

  add(copy: OutputCopy | undefined): void {
    if (copy) this.#copies.add(copy);
  }

  remove(copy: OutputCopy | undefined): void {
    if (copy) this.#copies.delete(copy);
  }

  /** The container has ended: what is left in the pipe goes to the log without waiting for clients. */
  hurry(): void {
    this.#hurried.resolve(undefined);
  }

  stop(): void {
    this.#socket.destroy();
  }

  /** Leaves the output in the pipe meanwhile: when the pipe is full, the container waits. */
  async #wait(file: LogFile | undefined): Promise<void> {
    this.#socket.pause();
    const caughtUp = Promise.all([...this.#copies].map((copy) => copy.caughtUp()));
    await Promise.all([file?.whenIdle(), Promise.race([caughtUp, this.#hurried.promise])]);
    this.#socket.resume();
  }
}
