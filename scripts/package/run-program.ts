import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a program and ignores its output. Rejects if it fails; its errors are on standard error. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<void> {
  await readProgram(program, args, options, (output) => Promise.resolve(void output.resume()));
}

/** As `runProgram`, with a reader of the output. */
export async function readProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
  read: (output: Readable) => Promise<void>,
): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} ${args[0] ?? ''} ended with ${code ?? signal ?? 'nothing'}`));
    });
  });
  await Promise.all([read(child.stdout), ended]);
}
