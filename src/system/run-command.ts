import { spawn } from 'node:child_process';
import { BoundedOutput } from './bounded-output.ts';

interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** After this time the command is killed. */
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
  // Node's own time limit goes on for a command that could not be started.
  const timer = timeoutMs > 0 ? setTimeout(() => child.kill('SIGKILL'), timeoutMs) : undefined;
  const output = new BoundedOutput();
  child.stderr.on('data', (chunk: Buffer) => output.add(chunk));
  const ending = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => resolve(code ?? signal));
  }).finally(() => clearTimeout(timer));
  if (ending === 0) return;
  throw new CommandError(output.toString().trim() || `${command} ended with ${ending}`, child.killed);
}
