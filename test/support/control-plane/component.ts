/** A program of the control plane that runs as long as a test wants. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { holdStill, threadStates } from '../hold-still.ts';
import { PATIENCE_MS, waitFor } from '../wait-for.ts';

const SHOWN_LOG_CHARACTERS = 4000;
/** A program that ends is noticed at once. One that runs is only slow, on a busy machine. */
const START_MS = 2 * PATIENCE_MS;

export interface ComponentOptions {
  /** Default: that of the program. */
  readonly name?: string;
  /** Path of the program. */
  readonly command: string;
  readonly args: readonly string[];
  /** The log and the process id are kept here. */
  readonly dir: string;
  /** Rejects where the question could not be sent. */
  readonly isReady: () => Promise<boolean>;
  /** Between two questions whether it is ready. Default 100. */
  readonly pauseMs?: number;
}

export class Component {
  readonly name: string;
  readonly #options: ComponentOptions;
  #child: ChildProcess | undefined;
  /** Why the question whether it is ready could not be sent. */
  #unasked: unknown;

  constructor(options: ComponentOptions) {
    this.#options = options;
    this.name = options.name ?? basename(options.command);
  }

  /** The program with its arguments, for tests that start it in another way. */
  get commandLine(): readonly string[] {
    return [this.#options.command, ...this.#options.args];
  }

  get pid(): number | undefined {
    const child = this.#child;
    return child?.exitCode === null && child.signalCode === null ? child.pid : undefined;
  }

  get log(): string {
    return existsSync(this.#logFile) ? readFileSync(this.#logFile, 'utf8') : '';
  }

  /** Resolves when the program is ready. */
  async start(): Promise<void> {
    if (this.pid !== undefined) return;
    const { command, args, dir, pauseMs = 100 } = this.#options;
    const log = openSync(this.#logFile, 'a');
    // Without the variables of a proxy: all connections are on loopback.
    const env = { PATH: process.env.PATH, HOME: dir };
    const child = spawn(command, args, { stdio: ['ignore', log, log], detached: true, env });
    closeSync(log);
    this.#child = child;
    const ended = new Promise<never>((_resolve, reject) => {
      const fail = (what: string) => reject(new Error(`${this.name} ${what}:\n${this.#logEnd()}`));
      child.once('error', ({ message }) => fail(`could not be started: ${message}`));
      child.once('exit', (code, signal) => fail(`ended with ${code ?? signal}`));
    });
    ended.catch(() => undefined);
    if (child.pid !== undefined) writeFileSync(join(dir, `${this.name}.pid`), String(child.pid));
    const ready = waitFor(() => this.#isReady(), {
      what: `${this.name} to be ready`,
      timeoutMs: START_MS,
      pauseMs,
    });
    await Promise.race([ready.catch((error: unknown) => this.#failed(error)), ended]);
  }

  /** Default: killed, as in a crash. Connections to it break. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.pid === undefined || this.#child === undefined) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    if (signal !== 'SIGKILL') this.resume();
    await ended;
  }

  /** Connections stay open, new ones are accepted by the kernel, and nothing is answered until `resume`. */
  async pause(): Promise<void> {
    if (this.pid === undefined) throw new Error(`${this.name} does not run`);
    await holdStill(this.pid);
  }

  resume(): void {
    if (this.pid !== undefined) this.#child?.kill('SIGCONT');
  }

  get #logFile(): string {
    return join(this.#options.dir, `${this.name}.log`);
  }

  async #isReady(): Promise<boolean> {
    try {
      return await this.#options.isReady();
    } catch (error) {
      this.#unasked = error;
      return false;
    }
  }

  /** Adds the states of the program's threads, and its log. */
  #failed(error: unknown): never {
    const states = this.pid === undefined ? '' : threadStates(this.pid).join('');
    const what = `${error instanceof Error ? error.message : String(error)}; asked last: ${String(this.#unasked)}; its threads: ${states}; its log:`;
    throw new Error(`${what}\n${this.#logEnd()}`, { cause: error });
  }

  #logEnd(): string {
    return this.log.slice(-SHOWN_LOG_CHARACTERS);
  }
}
