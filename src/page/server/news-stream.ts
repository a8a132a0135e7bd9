/** A stream of messages to a browser (server-sent events), no faster than the browser reads. */
import type { ServerResponse } from 'node:http';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { PageNews } from '../../types/page-views.ts';
import { redact } from '../../agent/server/redact.ts';

const HEADERS = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' };
/** A silent connection would be closed. */
const SIGN_OF_LIFE_MS = 5_000;

export interface NewsStreamOptions {
  readonly clock: Clock;
  /** Sends what is new. Called some time after `wake`, while the browser keeps up. */
  readonly flush: () => void;
  /** The delay between `wake` and `flush`: what happens meanwhile is one message. */
  readonly pauseMs: number;
  /** Called at the latest when the connection is closed. */
  readonly onEnd: () => void;
}

export class NewsStream {
  readonly #response: ServerResponse;
  readonly #options: NewsStreamOptions;
  readonly #pause: Timer;
  readonly #life: Timer;
  #isAwake = false;

  constructor(response: ServerResponse, options: NewsStreamOptions) {
    this.#response = response;
    this.#options = options;
    this.#pause = new Timer(options.clock);
    this.#life = new Timer(options.clock);
    response.writeHead(200, HEADERS);
    response.flushHeaders();
    response.on('drain', () => this.#goOn());
    response.once('close', () => this.#end());
    this.#showLife();
  }

  /** There is something to send. */
  wake(pauseMs = this.#options.pauseMs): void {
    if (this.#pause.isArmed || this.#response.destroyed) return;
    this.#isAwake = true;
    if (this.#response.writableNeedDrain) return;
    this.#pause.arm(pauseMs, () => {
      this.#isAwake = false;
      this.#options.flush();
    });
  }

  /** Values of secrets and of the environment are left out. */
  send(news: PageNews): void {
    this.#response.write(`data: ${JSON.stringify(redact(news))}\n\n`);
  }

  #goOn(): void {
    if (this.#isAwake) this.wake();
  }

  #showLife(): void {
    this.#life.arm(SIGN_OF_LIFE_MS, () => {
      if (!this.#response.writableNeedDrain) this.#response.write(':\n\n');
      this.#showLife();
    });
  }

  #end(): void {
    this.#pause.disarm();
    this.#life.disarm();
    this.#options.onEnd();
  }
}
