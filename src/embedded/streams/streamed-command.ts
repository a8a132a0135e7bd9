import { closeSync, constants, openSync } from 'node:fs';
import { StateletError } from '../../types/errors.ts';
import { exitOf } from '../containers/exec.ts';
import { launch, type ProcessSpec } from '../containers/launch.ts';
import type { Sweeper } from '../containers/sweeper.ts';
import type { TerminalSize } from '../../agent/runtime/service/streaming-runtime.ts';
import type { StreamName } from '../layout.ts';
import type { StreamsRequest } from '../monitor/protocol.ts';
import { openForProcess } from './container-input.ts';
import { launchInTerminal, resizeTerminal } from './pseudo-terminal.ts';

/** Descriptors. Undefined: the stream was not asked for. */
type Ends = Partial<Record<StreamName, number>>;

/** A command whose streams are named pipes, which a client reads and writes. */
export class StreamedCommand {
  readonly #tty: boolean;
  readonly #ends: Ends = {};
  #pid: number | undefined;
  #size: TerminalSize | undefined;

  /** Opens the command's ends of the pipes. */
  constructor(request: StreamsRequest, pipe: (stream: StreamName) => string) {
    this.#tty = request.tty;
    try {
      openEnds(this.#ends, request, pipe);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Of the terminal. Before the command runs, the size is kept for its start. */
  async resize(size: TerminalSize): Promise<void> {
    this.#size = size;
    if (this.#tty && this.#pid !== undefined) await resizeTerminal(this.#pid, size);
  }

  /** Resolves with the exit code. When the signal aborts, the command is killed with its session. To be called once. */
  async run(spec: ProcessSpec, signal: AbortSignal, sweeper: Sweeper): Promise<number> {
    const child = await this.#launch(spec).finally(() => this.close());
    const exitCode = await exitOf(child, signal);
    if (exitCode !== undefined) return exitCode;
    if (this.#pid !== undefined) await sweeper.clear({ sessionId: this.#pid, sinceTicks: 0 });
    child.kill('SIGKILL');
    throw new StateletError('Canceled', 'the command was given up');
  }

  /** Closes the ends that the command has, or would have got. */
  close(): void {
    for (const stream of ['stdin', 'stdout', 'stderr'] as const) {
      const end = this.#ends[stream];
      if (end !== undefined) closeSync(end);
      this.#ends[stream] = undefined;
    }
  }

  async #launch(spec: ProcessSpec): ReturnType<typeof launch> {
    const { stdin, stdout, stderr } = this.#ends;
    if (this.#tty && stdin !== undefined && stdout !== undefined) {
      const { holder, identity } = await launchInTerminal(spec, { stdin, stdout, size: () => this.#size });
      this.#pid = identity.pid;
      return holder;
    }
    const child = await launch(spec, [stdin ?? 'ignore', stdout ?? 'ignore', stderr ?? 'ignore']);
    this.#pid = child.pid;
    return child;
  }
}

function openEnds(
  ends: Ends,
  { stdin, stdout, stderr, tty }: StreamsRequest,
  pipe: (stream: StreamName) => string,
): void {
  const { O_RDWR, O_WRONLY } = constants;
  if (stdin) ends.stdin = openForProcess(pipe('stdin'), 'reading');
  // A terminal into which no client types: its input has no end.
  else if (tty) ends.stdin = openSync(pipe('stdin'), O_RDWR);
  if (stdout) ends.stdout = openForProcess(pipe('stdout'), 'writing');
  else if (tty) ends.stdout = openSync('/dev/null', O_WRONLY);
  if (stderr && !tty) ends.stderr = openForProcess(pipe('stderr'), 'writing');
}
