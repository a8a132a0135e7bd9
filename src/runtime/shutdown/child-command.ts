import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { BoundedOutput } from '../../system/run-command.ts';

/** A command that runs until it is closed. */
export class ChildCommand {
  readonly #child: ChildProcess;
  /** Resolves when the command has ended, with what it wrote to stderr. */
  readonly ended: Promise<string>;

  constructor(command: string, args: readonly string[], onLine?: (line: string) => void) {
    const child = spawn(command, args, {
      stdio: ['pipe', onLine === undefined ? 'ignore' : 'pipe', 'pipe'],
      env: process.env,
    });
    this.#child = child;
    const problem = new BoundedOutput();
    child.stderr?.on('data', (chunk: Buffer) => problem.add(chunk));
    // A command that has ended takes no input.
    child.stdin?.on('error', () => undefined);
    if (child.stdout && onLine) createInterface({ input: child.stdout }).on('line', onLine);
    this.ended = new Promise((resolve) => {
      child.once('error', ({ message }) => resolve(message));
      child.once('close', () => resolve(problem.toString().trim()));
    });
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    this.#child.kill();
    await this.ended;
  }
}
