import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { removePrivateSync } from '../../system/files/remove-tree.ts';
import { StateletError } from '../../types/errors.ts';
import type { TerminalSize } from '../../agent/runtime/service/streaming-runtime.ts';
import type { Copies } from '../containers/container-log.ts';
import type { Container } from '../containers/container.ts';
import type { Engine } from '../containers/engine.ts';
import { userOf } from '../containers/launch.ts';
import type { RuntimeLayout, StreamName } from '../layout.ts';
import type { OpenedStreams, StreamsRequest } from '../monitor/protocol.ts';
import { OutputCopy } from './output-copy.ts';
import { openForWriting } from './container-input.ts';
import { requireTerminals, resizeTerminal } from './pseudo-terminal.ts';
import { StreamedCommand } from './streamed-command.ts';

/** How long a client may take to open its ends of the pipes. */
const OPENING_MS = 30_000;
const OPENING_MAX = 1000;

type Streams = StreamedCommand | AttachedClient;

/** Streams whose pipes are open on this side, but which do not run yet. */
interface Opening {
  readonly streams: Streams;
  readonly run: (signal: AbortSignal) => Promise<number>;
  readonly timer: NodeJS.Timeout;
}

/**
 * The commands with streams and the attached clients of a monitor. Their data does not pass through the monitor's socket: it
 * makes named pipes, the client opens its ends of them, and then asks to run.
 */
export class StreamDesk {
  readonly #layout: RuntimeLayout;
  readonly #engine: Pick<Engine, 'container' | 'pipes'>;
  readonly #opening = new Map<string, Opening>();
  readonly #running = new Map<string, Streams>();

  /** Removes what an earlier monitor has left. */
  constructor(layout: RuntimeLayout, engine: Pick<Engine, 'container' | 'pipes'>) {
    this.#layout = layout;
    this.#engine = engine;
    removePrivateSync(layout.streamsDir);
    mkdirSync(layout.streamsDir, { mode: 0o700 });
  }

  /** Makes the pipes for a command (`request.command`), or for a client of the main process. */
  async open(containerId: string, request: StreamsRequest): Promise<OpenedStreams> {
    const container = this.#engine.container(containerId);
    container.requireRunning();
    if (request.command && request.tty) requireTerminals('the command');
    if (this.#opening.size >= OPENING_MAX) throw tooMany();
    const id = randomBytes(16).toString('hex');
    mkdirSync(this.#dir(id), { mode: 0o700 });
    try {
      const pipes = streamsOf(request).map((stream) => this.#layout.streamPipe(id, stream));
      const user = request.command ? userOf(container.record.config) : undefined;
      await this.#engine.pipes.place(pipes, user);
      const streams = this.#prepare(container, request, (stream) => this.#layout.streamPipe(id, stream));
      this.#opening.set(id, { ...streams, timer: setTimeout(() => this.#giveUp(id), OPENING_MS).unref() });
    } catch (error) {
      this.#removePipes(id);
      throw error;
    }
    const stdin = request.command ? this.#layout.streamPipe(id, 'stdin') : container.inputPipe;
    return request.stdin && stdin !== undefined ? { id, stdin } : { id };
  }

  /**
   * Runs what was opened, once the client has opened its ends. Resolves with the exit code: of the command, or 0 when the
   * container's output has ended.
   */
  async run(id: string, signal: AbortSignal): Promise<number> {
    const opening = this.#opening.get(id);
    if (!opening) throw unknown(id);
    clearTimeout(opening.timer);
    this.#opening.delete(id);
    this.#removePipes(id);
    this.#running.set(id, opening.streams);
    try {
      return await opening.run(signal);
    } finally {
      opening.streams.close();
      this.#running.delete(id);
    }
  }

  async resize(id: string, size: TerminalSize): Promise<void> {
    await this.#running.get(id)?.resize(size);
  }

  /** The client has closed its end of the standard input. */
  endInput(id: string): void {
    const streams = this.#running.get(id);
    if (streams instanceof AttachedClient) streams.endInput();
  }

  #prepare(
    container: Container,
    request: StreamsRequest,
    pipe: (stream: StreamName) => string,
  ): Omit<Opening, 'timer'> {
    const { command } = request;
    if (!command) {
      const client = new AttachedClient(container, request, pipe);
      return { streams: client, run: (signal) => client.run(signal) };
    }
    const streamed = new StreamedCommand(request, pipe);
    return { streams: streamed, run: (signal) => container.runStreamed(streamed, command, signal) };
  }

  #giveUp(id: string): void {
    this.#opening.get(id)?.streams.close();
    this.#opening.delete(id);
    this.#removePipes(id);
  }

  #removePipes(id: string): void {
    removePrivateSync(this.#dir(id));
  }

  #dir(id: string): string {
    return join(this.#layout.streamsDir, id);
  }
}

function streamsOf({ command, stdin, stdout, stderr, tty }: StreamsRequest): StreamName[] {
  const streams: StreamName[] = [];
  // A terminal needs something that it can read from. An attached client writes into the pipe of the container.
  if (command && (stdin || tty)) streams.push('stdin');
  if (stdout) streams.push('stdout');
  if (stderr && !tty) streams.push('stderr');
  return streams;
}

const unknown = (id: string): StateletError =>
  new StateletError(
    'NotFound',
    `there are no opened streams ${id}: they are removed after ${OPENING_MS / 1000} s`,
  );

const tooMany = (): StateletError =>
  new StateletError(
    'ResourceExhausted',
    `${OPENING_MAX} commands and attached clients are about to start already: try again later`,
  );

/** A client of a container's main process. */
class AttachedClient {
  readonly #container: Container;
  readonly #request: StreamsRequest;
  readonly #copies: Partial<Record<keyof Copies, OutputCopy>> = {};
  #detach: () => void = () => undefined;

  /** Opens the pipes of the output. What the container writes from now on is for the client. */
  constructor(container: Container, request: StreamsRequest, pipe: (stream: StreamName) => string) {
    this.#container = container;
    this.#request = request;
    const { stdout, stderr } = request;
    try {
      if (stdout) this.#copies.stdout = new OutputCopy(openForWriting(pipe('stdout')));
      if (stderr) this.#copies.stderr = new OutputCopy(openForWriting(pipe('stderr')));
      this.#detach = container.copyOutput(this.#copies);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Of the container's terminal. */
  async resize(size: TerminalSize): Promise<void> {
    const { process: main, config } = this.#container.record;
    if (main && config.tty) await resizeTerminal(main.pid, size);
  }

  /** Copies the output until the container ends, or the signal aborts: the client is gone then. The exit code is 0. */
  async run(signal: AbortSignal): Promise<number> {
    const copies = Object.values(this.#copies);
    const { promise: left, resolve: leave } = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => leave(undefined), { once: true });
    if (signal.aborted) leave(undefined);
    const allClosed = Promise.all(copies.map((copy) => copy.ended));
    try {
      for (const copy of copies) copy.clientIsOpen();
      await Promise.race([this.#container.ended, left, ...(copies.length > 0 ? [allClosed] : [])]);
      this.#detach();
      for (const copy of copies) copy.end();
      await Promise.race([left, allClosed]);
      return 0;
    } finally {
      this.endInput();
      this.close();
    }
  }

  endInput(): void {
    if (this.#request.stdin) this.#container.clientInputEnded();
  }

  close(): void {
    this.#detach();
    for (const copy of Object.values(this.#copies)) copy.destroy();
  }
}
