import { closeSync } from 'node:fs';
import type { CommandStreams, StreamSelection, TerminalSize } from '../../service/streaming-runtime.ts';
import { openForReading } from '../containers/launch.ts';
import type { RuntimeLayout } from '../layout.ts';
import type { MonitorClient } from '../monitor/monitor-client.ts';
import type { OpenedStreams } from '../monitor/protocol.ts';
import { InputStream } from './input-stream.ts';
import { OutputStream } from './output-stream.ts';
import { openForWriting } from './pipe-ends.ts';

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
    this.stdin?.once('finish', () => void this.#tell('endInput', [id]));
    this.stdout = out?.stream;
    this.stderr = err?.stream;
    this.exit = this.#run();
    // Whoever is interested awaits it; nobody has to.
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
      await this.#tell('resizeTerminal', [this.#id, size]);
    }
    this.#resizing = false;
  }

  /** What fails because the command has ended meanwhile is no error. */
  async #tell(...[method, params]: Notice): Promise<void> {
    if (this.#given.signal.aborted) return;
    await this.#client.call(method, params as never).catch(() => undefined);
  }
}

type Notice = ['endInput', [string]] | ['resizeTerminal', [string, TerminalSize]];
