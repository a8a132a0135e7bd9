/**
 * A screen that is drawn anew when something changes, at most five times a second, and once a second for the ages. It has the
 * terminal's second screen for itself, so that what was there before comes back. At the end the last frame and the latest lines
 * stay on the first one, and later lines follow there.
 */
import type { DestinationStream } from 'pino';
import type { LiveSize } from './live-frame.ts';

/** The part of `process.stdout` that is used. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

export interface LiveScreenOptions {
  readonly terminal: Terminal;
  readonly hasColours: boolean;
  /** At most as many lines as the terminal has rows. `log`: the oldest first. */
  readonly frame: (log: readonly string[], size: LiveSize) => readonly string[];
}

const FRAME_PERIOD_MS = 200;
const AGE_PERIOD_MS = 1000;
const LOG_LINES_MAX = 1000;
/** Enough for the stack of a defect. */
const LAST_LINES_MAX = 20;
/** The assumed size of a terminal that does not report it. */
const USUAL = { columns: 80, rows: 24 };

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[2K';
const CLEAR = '\u001b[2J';
const CLEAR_BELOW = '\u001b[J';

export class LiveScreen implements DestinationStream {
  readonly #options: LiveScreenOptions;
  readonly #lines: string[] = [];
  readonly #ages: NodeJS.Timeout;
  #next: NodeJS.Timeout | undefined;
  #drawnAt = -Infinity;
  #drawn = '';
  #state: 'shown' | 'paused' | 'closed' = 'shown';

  constructor(options: LiveScreenOptions) {
    this.#options = options;
    options.terminal.write(ENTER);
    options.terminal.on('resize', this.#redraw);
    process.on('SIGTSTP', this.#pause).on('SIGCONT', this.#resume);
    this.#ages = setInterval(() => this.changed(), AGE_PERIOD_MS).unref();
    this.changed();
  }

  /** Lines of the log. */
  write(text: string): void {
    if (this.#state === 'closed') {
      this.#options.terminal.write(text);
      return;
    }
    this.#lines.push(...text.replace(/\n$/u, '').split('\n'));
    if (this.#lines.length > 2 * LOG_LINES_MAX) this.#lines.splice(0, this.#lines.length - LOG_LINES_MAX);
    this.changed();
  }

  /** The next frame may differ. Costs little: it is made later. */
  changed(): void {
    if (this.#next !== undefined || this.#state !== 'shown') return;
    const inMs = Math.max(0, this.#drawnAt + FRAME_PERIOD_MS - performance.now());
    this.#next = setTimeout(() => {
      this.#next = undefined;
      this.#draw();
    }, inMs).unref();
  }

  close(): void {
    if (this.#state === 'closed') return;
    const { terminal, frame } = this.#options;
    if (this.#state === 'shown') terminal.write(LEAVE);
    this.#state = 'closed';
    clearInterval(this.#ages);
    clearTimeout(this.#next);
    terminal.off('resize', this.#redraw);
    process.off('SIGTSTP', this.#pause).off('SIGCONT', this.#resume);
    const last = [...frame([], this.#size), ...this.#lines.slice(-LAST_LINES_MAX)];
    terminal.write(last.map((line) => `${line}\n`).join(''));
  }

  get #size(): LiveSize {
    const { terminal, hasColours } = this.#options;
    return { columns: terminal.columns || USUAL.columns, rows: terminal.rows || USUAL.rows, hasColours };
  }

  #draw(): void {
    this.#drawnAt = performance.now();
    const lines = this.#options.frame(this.#lines, this.#size);
    // A line is cleared before it is written: after a line as wide as the terminal the cursor is still in it.
    const text = `${HOME}${lines.map((line) => CLEAR_LINE + line).join('\r\n')}`;
    const isFull = lines.length >= this.#size.rows;
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#options.terminal.write(isFull ? text : `${text}\r\n${CLEAR_BELOW}`);
  }

  /** The terminal has changed what it shows. */
  readonly #redraw = (): void => {
    if (this.#state === 'shown') this.#options.terminal.write(CLEAR);
    this.#drawn = '';
    this.changed();
  };

  /** Ctrl-Z: the shell gets its screen back. */
  readonly #pause = (): void => {
    this.#state = 'paused';
    this.#options.terminal.write(LEAVE);
    process.kill(process.pid, 'SIGSTOP');
  };

  readonly #resume = (): void => {
    if (this.#state !== 'paused') return;
    this.#state = 'shown';
    this.#options.terminal.write(ENTER);
    this.#redraw();
  };
}
