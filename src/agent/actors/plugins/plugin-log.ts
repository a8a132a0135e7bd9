/** Logs about plugins with a limit: many plugins at once, or one that comes and goes, do not fill the log. */
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Logger } from '../../../types/logger.ts';

type Level = Exclude<keyof Logger, 'trace'>;

/** So many lines in a minute. Further ones are counted, and logged at trace level. */
const LINES_MAX = 20;
const WINDOW_MS = 60_000;
/** Lines left out within this time are counted together. */
const SUMMARY_MS = 2_000;
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

export class PluginLog {
  readonly #context: AgentContext;
  readonly #timer: Timer;
  #began = -Infinity;
  #lines = 0;
  #left = 0;
  /** The highest level of a line that was left out. */
  #level: Level = 'debug';

  constructor(context: AgentContext) {
    this.#context = context;
    this.#timer = new Timer(context.clock);
  }

  tell(level: Level, fields: object, line: string): void {
    const { clock, logger } = this.#context;
    const now = clock.now();
    if (now - this.#began >= WINDOW_MS) [this.#began, this.#lines] = [now, 0];
    this.#lines += 1;
    if (this.#lines <= LINES_MAX) {
      logger[level](fields, line);
      return;
    }
    logger.trace(fields, line);
    if (LEVELS.indexOf(level) > LEVELS.indexOf(this.#level) || this.#left === 0) this.#level = level;
    this.#left += 1;
    if (this.#left === 1)
      this.#timer.arm(this.#lines === LINES_MAX + 1 ? SUMMARY_MS : WINDOW_MS, () => this.#sum());
  }

  stop(): void {
    this.#timer.disarm();
  }

  #sum(): void {
    const text = `Eviction plugins: ${this.#left} more lines about them are left out; statelet explain-eviction shows the state of each, and -v 6 every line`;
    this.#context.logger[this.#level]({}, text);
    this.#left = 0;
  }
}
