import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { errnoCode } from './system-errors.ts';
import { outputWritten } from './terminal.ts';

interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** After this time the command is killed, and is not waited for any more: what it has started, or the kernel, may keep it. */
  readonly timeoutMs?: number;
}

/** A command has failed. The message is what it wrote to stderr. */
export class CommandError extends Error {
  readonly isTimeout: boolean;

  constructor(message: string, isTimeout: boolean) {
    super(message);
    this.isTimeout = isTimeout;
  }
}

/** Runs a command. Rejects with a CommandError when it fails, and with the system's error when it cannot be started. */
export async function runCommand(
  command: string,
  args: readonly string[],
  { env = process.env, timeoutMs = 0 }: CommandOptions = {},
): Promise<void> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const output = new BoundedOutput();
  child.stderr.on('data', (chunk: Buffer) => output.add(chunk));
  // Node's own time limit goes on for a command that could not be started.
  let timer: NodeJS.Timeout | undefined;
  let isTimeout = false;
  const ending = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.on('error', reject).once('close', (code, signal) => resolve(code ?? signal));
    const giveUp = () => {
      isTimeout = true;
      child.kill('SIGKILL');
      child.stderr.destroy();
      child.unref();
      resolve('SIGKILL');
    };
    if (timeoutMs > 0) timer = setTimeout(giveUp, timeoutMs);
  }).finally(() => clearTimeout(timer));
  if (ending === 0) return;
  throw new CommandError(output.toString().trim() || `${command} ended with ${ending}`, isTimeout);
}

const NOTIFY_TIMEOUT_MS = 30_000;

export interface ServiceManager {
  /** Reports that the service is up. Rejects with a sentence that says why that failed. */
  ready(): Promise<void>;
}

/**
 * The manager that waits for a message of this process (`Type=notify` of systemd); undefined where none does. Its socket is taken out of `env`:
 * programs that this process starts must not send messages for it. Node cannot write to a datagram socket, so systemd-notify(1) does it.
 */
export function takeServiceManager(env: NodeJS.ProcessEnv): ServiceManager | undefined {
  const socket = env.NOTIFY_SOCKET ?? '';
  delete env.NOTIFY_SOCKET;
  if (socket === '') return undefined;
  return {
    ready: async () => {
      try {
        const options = { env: { ...env, NOTIFY_SOCKET: socket }, timeoutMs: NOTIFY_TIMEOUT_MS };
        await runCommand('systemd-notify', ['--ready'], options);
      } catch (error) {
        throw new Error(problemOf(error), { cause: error });
      }
    },
  };
}

function problemOf(error: unknown): string {
  if (errnoCode(error) === 'ENOENT') return 'the program systemd-notify is not installed';
  return error instanceof CommandError ? `systemd-notify: ${error.message}` : String(error);
}

const SHELL = '/bin/sh';

const lastActs = new Set<() => void>();

/** `act` is called when this process ends itself. It must not wait for anything. Returns a function that takes it back. */
export function beforeEnd(act: () => void): () => void {
  lastActs.add(act);
  process.on('exit', act);
  return () => {
    lastActs.delete(act);
    process.off('exit', act);
  };
}

/**
 * Ends this process at once; output that is not written yet is lost. `process.exit` waits until V8's threads have ended, and one that
 * compiles may wait for the main thread to collect garbage: then the process hangs for ever (nodejs/node issue 54918, seen with Node
 * 24). A shell that takes the place of this process ends it without waiting.
 */
export function endProcess(code: number): never {
  // A process that is replaced calls no listener for its exit.
  for (const act of lastActs) {
    try {
      act();
    } catch {
      // The process ends all the same.
    }
  }
  if (process.execve && existsSync(SHELL)) process.execve(SHELL, ['sh', '-c', `exit ${code}`], {});
  process.exit(code);
}

/** Ends this process when its output is written, or its reader is gone. */
export async function endAfterOutput(code: number): Promise<never> {
  await outputWritten();
  return endProcess(code);
}

/** As the kubelet limits the output of probes and hooks. */
export const OUTPUT_BYTES_MAX = 10 * 1024;

/**
 * Keeps the beginning of a stream of bytes; bytes beyond the limit are dropped. The bytes are copied: a view would keep the
 * whole chunk in memory.
 */
export class BoundedOutput {
  readonly #limit: number;
  #kept = Buffer.alloc(0);
  #length = 0;

  constructor(limit = OUTPUT_BYTES_MAX) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#length === this.#limit;
  }

  add(chunk: Uint8Array): void {
    const part = chunk.subarray(0, this.#limit - this.#length);
    if (part.length === 0) return;
    this.#growTo(this.#length + part.length);
    this.#kept.set(part, this.#length);
    this.#length += part.length;
  }

  /** The bytes that have been kept so far. */
  bytes(): Buffer {
    return this.#kept.subarray(0, this.#length);
  }

  toString(): string {
    return this.bytes().toString('utf8');
  }

  #growTo(bytes: number): void {
    if (bytes <= this.#kept.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(bytes, 2 * this.#kept.length)));
    this.#kept.copy(grown);
    this.#kept = grown;
  }
}
