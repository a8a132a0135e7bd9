import type { AgentContext } from '../../../types/agent-context.ts';

/** More entries are not kept: the oldest goes first. */
const ENTRIES_MAX = 4096;
/** So many questions are under way at most: clients of the node must not hold up the agent's own requests to the API server. */
const QUESTIONS_MAX = 256;

interface Entry<T> {
  readonly answer: T;
  readonly until: number;
}

/** Answers of the API server. A question that is being asked is not asked twice; failures are not kept. */
export class ReviewCache<T> {
  readonly #context: AgentContext;
  readonly #ttlMs: (answer: T) => number;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #asked = new Map<string, Promise<T>>();

  /** `ttlMs`: how long an answer is kept. */
  constructor(context: AgentContext, ttlMs: (answer: T) => number) {
    this.#context = context;
    this.#ttlMs = ttlMs;
  }

  /** Rejects as `ask` does, or where too much is being asked. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const { clock } = this.#context;
    const entry = this.#entries.get(key);
    if (entry !== undefined && clock.now() < entry.until) return Promise.resolve(entry.answer);
    this.#entries.delete(key);
    return this.#asked.get(key) ?? this.#ask(key, ask);
  }

  #ask(key: string, ask: () => Promise<T>): Promise<T> {
    if (this.#asked.size >= QUESTIONS_MAX)
      return Promise.reject(
        new Error('too many requests wait for the API server to authenticate or authorize them'),
      );
    const answer = ask()
      .then((given) => {
        this.#keep(key, given);
        return given;
      })
      .finally(() => this.#asked.delete(key));
    this.#asked.set(key, answer);
    return answer;
  }

  #keep(key: string, answer: T): void {
    this.#entries.set(key, { answer, until: this.#context.clock.now() + this.#ttlMs(answer) });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > ENTRIES_MAX && oldest !== undefined) this.#entries.delete(oldest);
  }
}
