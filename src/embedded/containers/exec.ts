import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { MAX_TIMER_MS } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import { whenAborted } from '../../system/promises.ts';
import { BoundedOutput } from '../../system/run-command.ts';
import { onceStill } from '../../agent/runtime/service/runtime-service.ts';
import { exitCodeOf, hasEnded, launch, type ProcessSpec } from './launch.ts';
import type { ExecResult } from '../monitor/protocol.ts';
import type { Sweeper } from './sweeper.ts';

/** How long output is read after the command's end: a process that it left running may hold the pipe open. */
const DRAIN_MS = 1000;

export interface ExecLimits {
  /** 0: no limit. */
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

/**
 * Runs a command as a process group of its own, and collects its output. If it takes too long, or the caller gives
 * up, the whole group is killed.
 */
export async function execCommand(
  spec: ProcessSpec,
  { timeoutSeconds, signal }: ExecLimits,
  sweeper: Sweeper,
): Promise<ExecResult> {
  const child = await launch(spec, ['ignore', 'pipe', 'pipe']);
  const output = [new Output(child.stdout), new Output(child.stderr)] as const;
  const giveUp = [signal];
  if (timeoutSeconds > 0) giveUp.push(AbortSignal.timeout(Math.min(timeoutSeconds * 1000, MAX_TIMER_MS)));
  const exitCode = await exitOf(child, ...giveUp);
  if (exitCode !== undefined) {
    await Promise.all(output.map((stream) => stream.drained()));
    const [stdoutBase64, stderrBase64] = [output[0].base64(), output[1].base64()];
    return { stdoutBase64, stderrBase64, exitCode };
  }
  // A process that the command left running may go on writing.
  for (const stream of output) stream.stop();
  if (child.pid !== undefined) await sweeper.clear({ sessionId: child.pid, sinceTicks: 0 });
  if (signal.aborted) throw new StateletError('Canceled', 'the command was given up');
  throw new StateletError(
    'DeadlineExceeded',
    `command "${spec.command.join(' ')}" did not end within ${timeoutSeconds} s and was killed`,
  );
}

/** The exit code; undefined if the caller gives up before. */
export async function exitOf(
  child: ChildProcess,
  ...giveUp: readonly AbortSignal[]
): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  child.once('exit', (code, signal) => resolve(exitCodeOf(code, signal)));
  if (hasEnded(child)) resolve(exitCodeOf(child.exitCode, child.signalCode));
  const forget = whenAborted(giveUp, () => resolve(undefined));
  try {
    return await promise;
  } finally {
    forget();
  }
}

/** The output of a command to one of its streams. All of it is read; the beginning is kept. */
class Output {
  readonly #stream: Readable | null;
  readonly #closed: Promise<void>;
  readonly #kept = new BoundedOutput();

  constructor(stream: Readable | null) {
    this.#stream = stream;
    this.#closed = new Promise((resolve) => stream?.once('close', resolve));
    stream?.on('error', () => undefined);
    stream?.on('data', (chunk: Buffer) => this.#kept.add(chunk));
  }

  async drained(): Promise<void> {
    const stopWaiting = onceStill({ stillMs: DRAIN_MS }, () => this.stop());
    await this.#closed;
    stopWaiting();
  }

  /** Stops reading. */
  stop(): void {
    this.#stream?.destroy();
  }

  base64(): string {
    return this.#kept.bytes().toString('base64');
  }
}
