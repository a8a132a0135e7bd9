import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { PassThrough, type Readable, Writable } from 'node:stream';
import { onceStill } from '../../agent/runtime/service/runtime-service.ts';
import type {
  CommandStreams,
  StreamSelection,
  TerminalSize,
} from '../../agent/runtime/service/streaming-runtime.ts';
import { openForReading } from '../containers/pipes.ts';
import type { RuntimeLayout } from '../layout.ts';
import type { MonitorClient } from '../monitor/monitor-client.ts';
import type { OpenedStreams } from '../monitor/protocol.ts';
import { openForWriting } from './container-input.ts';

type Client = Pick<MonitorClient, 'call'>;

/** Opens the client's ends of the pipes, and runs the command or attaches to the main process. */
export function runStreams(
  client: Client,
  layout: RuntimeLayout,
  opened: OpenedStreams,
  selection: StreamSelection,
): CommandStreams {
  return new PipedStreams(client, openEnds(layout, opened, selection), opened.id);
}

interface Ends {
  readonly stdin: number | undefined;
  readonly stdout: number | undefined;
  readonly stderr: number | undefined;
  readonly takesInput: boolean;
}

function openEnds(layout: RuntimeLayout, { id, stdin }: OpenedStreams, selection: StreamSelection): Ends {
  const fds: number[] = [];
  const open = (isAsked: boolean, how: (pipe: string) => number, pipe: string): number | undefined => {
    if (!isAsked) return undefined;
    const fd = how(pipe);
    fds.push(fd);
    return fd;
  };
  try {
    return {
      stdout: open(selection.stdout, openForReading, layout.streamPipe(id, 'stdout')),
      stderr: open(selection.stderr && !selection.tty, openForReading, layout.streamPipe(id, 'stderr')),
      stdin: open(stdin !== undefined, openForWriting, stdin ?? ''),
      takesInput: selection.stdin,
    };
  } catch (error) {
    for (const fd of fds) closeSync(fd);
    throw error;
  }
}

class PipedStreams implements CommandStreams {
  readonly stdin: InputStream | undefined;
  readonly stdout;
  readonly stderr;
  readonly exit: Promise<number>;
  readonly #client: Client;
  readonly #id: string;
  readonly #outputs: readonly OutputStream[];
  readonly #given = new AbortController();
  #size: TerminalSize | undefined;
  #resizing = false;

  constructor(client: Client, { stdin, stdout, stderr, takesInput }: Ends, id: string) {
    this.#client = client;
    this.#id = id;
    const [out, err] = [stdout, stderr].map((fd) => (fd === undefined ? undefined : new OutputStream(fd)));
    this.#outputs = [out, err].filter((output) => output !== undefined);
    this.stdin = takesInput ? new InputStream(stdin) : undefined;
    this.stdin?.once('finish', () => void this.#send('endInput', [id]));
    this.stdout = out?.stream;
    this.stderr = err?.stream;
    this.exit = this.#run();
    // A rejection that no caller awaits must not end the process.
    this.exit.catch(() => undefined);
  }

  resize(size: TerminalSize): void {
    this.#size = size;
    if (!this.#resizing) void this.#resize();
  }

  abandon(): void {
    this.#given.abort();
    this.stdin?.destroy();
    for (const output of this.#outputs) output.destroy();
  }

  async #run(): Promise<number> {
    try {
      const exitCode = await this.#client.call('runStreams', [this.#id], {
        signal: this.#given.signal,
        timeoutMs: 0,
      });
      for (const output of this.#outputs) output.commandEnded();
      await Promise.all(this.#outputs.map((output) => output.ended));
      return exitCode;
    } finally {
      this.stdin?.destroy();
      for (const output of this.#outputs) output.end();
    }
  }

  /** One after another, and the last size alone: dragging a window causes many. */
  async #resize(): Promise<void> {
    this.#resizing = true;
    for (let size = this.#size; size !== undefined; size = this.#size) {
      this.#size = undefined;
      await this.#send('resizeTerminal', [this.#id, size]);
    }
    this.#resizing = false;
  }

  /** What fails because the command has ended meanwhile is no error. */
  async #send(...[method, params]: Notice): Promise<void> {
    if (this.#given.signal.aborted) return;
    await this.#client.call(method, params as never).catch(() => undefined);
  }
}

type Notice = ['endInput', [string]] | ['resizeTerminal', [string, TerminalSize]];

/**
 * The client's end of a standard input. What comes after the command has closed its end is dropped, as it is with other
 * runtimes. Without a descriptor, everything is dropped.
 */
class InputStream extends Writable {
  readonly #pipe: Socket | undefined;

  /** Becomes the owner of the descriptor, which does not block. */
  constructor(fd: number | undefined) {
    super();
    this.#pipe = fd === undefined ? undefined : new Socket({ fd, readable: false, writable: true });
    this.#pipe?.on('error', () => undefined);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // A failed write is followed by the end of the command, or it does not read: neither is an error of the client.
    if (this.#pipe?.writable) this.#pipe.write(chunk, () => done());
    else done();
  }

  override _final(done: () => void): void {
    // All that was written is in the pipe.
    if (this.#pipe && !this.#pipe.destroyed) this.#pipe.once('close', () => done()).destroy();
    else done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#pipe?.destroy();
    done(error);
  }
}

/** How long output is awaited after the command's end: a process that it left running may hold the pipe open. */
const DRAIN_MS = 1000;

/** The client's end of an output pipe. */
class OutputStream {
  readonly stream: Readable;
  /** Resolves when no output comes any more and all that came has been read, or the stream was destroyed. */
  readonly ended: Promise<void>;
  readonly #pipe: Socket;
  readonly #through = new PassThrough();
  #stopWaiting: () => void = () => undefined;

  /** Becomes the owner of the descriptor, which does not block. */
  constructor(fd: number) {
    this.stream = this.#through;
    this.#pipe = new Socket({ fd, readable: true, writable: false });
    this.#pipe.on('error', () => undefined);
    this.#pipe.pipe(this.#through);
    this.#through.once('close', () => this.#release());
    this.ended = new Promise((resolve) => {
      this.#through.once('end', resolve).once('close', resolve);
      this.#pipe.once('close', () => {
        this.#through.end();
        // A stream without data does not pass its end on to a client that does not read it.
        if (this.#through.readableLength + this.#through.writableLength === 0) resolve();
      });
    });
  }

  /** The command has ended: what it wrote is read, but no process that it has left is waited for. */
  commandEnded(): void {
    if (this.#pipe.destroyed) return;
    const progress = () => this.#pipe.bytesRead;
    const isHeld = () => this.#through.writableNeedDrain;
    this.#stopWaiting = onceStill({ progress, isHeld, stillMs: DRAIN_MS }, () => this.#pipe.destroy());
  }

  /** What has not been read from the pipe yet is lost. */
  end(): void {
    this.#pipe.destroy();
  }

  destroy(): void {
    this.#through.destroy();
  }

  #release(): void {
    this.#stopWaiting();
    this.#pipe.destroy();
  }
}
