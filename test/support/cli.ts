import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BIN_ARGS } from './built.ts';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the real command line as a child process. */
export function startCli(...args: string[]) {
  const child = spawn(process.execPath, [...BIN_ARGS, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const finished: Promise<Finished> = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    ...output,
  }));
  return { child, output, finished };
}

export function cli(...args: string[]): Promise<Finished> {
  return startCli(...args).finished;
}
