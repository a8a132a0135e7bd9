/** A program in a terminal of its own, of a given size, and what is on the screen. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TerminalOptions {
  /** For files of the terminal. */
  readonly dir: string;
  readonly columns: number;
  readonly rows: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export class TestTerminal {
  readonly #child: ChildProcess;
  readonly #dir: string;
  readonly #closed: Promise<unknown>;
  /** Everything that was written to it. */
  output = '';

  constructor(command: readonly string[], { dir, columns, rows, env, cwd }: TerminalOptions) {
    this.#dir = dir;
    const words = command.map((word) => `'${word}'`).join(' ');
    // The shell outlives a Ctrl-C that is meant for the program.
    const script = `trap : INT; tty > '${join(dir, 'tty')}'; stty cols ${columns} rows ${rows}; ${words}; echo $? > '${join(dir, 'code')}'`;
    this.#child = spawn('script', ['--quiet', '--flush', '--command', script, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
      ...(cwd !== undefined && { cwd }),
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.#closed = once(this.#child, 'close');
  }

  /** As a person types. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  resize(columns: number, rows: number): void {
    const tty = readFileSync(join(this.#dir, 'tty'), 'utf8').trim();
    execFileSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
  }

  /** Of the program; undefined while it runs. */
  get exitCode(): number | undefined {
    const file = join(this.#dir, 'code');
    // The shell makes the file before it writes the number.
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return text === '' ? undefined : Number(text);
  }

  get screen(): Screen {
    return screenOf(this.output);
  }

  /** At once. */
  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

export interface Screen {
  /** The lines on the screen that is shown, without colours, up to the last that is not empty. */
  readonly lines: readonly string[];
  readonly isSecond: boolean;
  readonly hasCursor: boolean;
}

// oxlint-disable-next-line no-control-regex -- what a terminal acts on
const PARTS = /\u001b\[(\??[\d;]*)([A-Za-z])|\r|\n|[^\u001b\r\n]+/gu;

interface Cells {
  lines: string[];
  row: number;
  column: number;
}

/** Knows only the sequences that are used here, and rejects others. No line may be wider than the terminal, so that nothing wraps. */
export function screenOf(output: string): Screen {
  const screens: [Cells, Cells] = [blank(), blank()];
  let [isSecond, hasCursor] = [false, true];
  for (const [part, parameters = '', command] of output.matchAll(PARTS)) {
    const cells = screens[isSecond ? 1 : 0];
    if (command === undefined) put(cells, part);
    else if (parameters === '?1049') {
      isSecond = command === 'h';
      if (isSecond) screens[1] = blank();
    } else if (parameters === '?25') hasCursor = command === 'h';
    else act(cells, parameters + command);
  }
  const { lines } = screens[isSecond ? 1 : 0];
  const last = lines.findLastIndex((line) => line.trim() !== '');
  return { lines: lines.slice(0, last + 1).map((line) => line.trimEnd()), isSecond, hasCursor };
}

function blank(): Cells {
  return { lines: [''], row: 0, column: 0 };
}

function put(cells: Cells, part: string): void {
  if (part === '\r') cells.column = 0;
  else if (part === '\n') cells.row += 1;
  else {
    const before = (cells.lines[cells.row] ?? '').padEnd(cells.column);
    cells.lines[cells.row] = before.slice(0, cells.column) + part + before.slice(cells.column + part.length);
    cells.column += part.length;
  }
  while (cells.lines.length <= cells.row) cells.lines.push('');
}

function act(cells: Cells, command: string): void {
  if (command === 'H') Object.assign(cells, { row: 0, column: 0 });
  else if (command === '2K') cells.lines[cells.row] = '';
  else if (command === '2J') cells.lines = [''];
  else if (command === 'J') cells.lines.splice(cells.row + (cells.column > 0 ? 1 : 0));
  else if (!command.endsWith('m')) throw new Error(`a terminal is asked for ${JSON.stringify(command)}`);
  while (cells.lines.length <= cells.row) cells.lines.push('');
}
