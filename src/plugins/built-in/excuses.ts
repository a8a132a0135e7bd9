import type { Logger } from '../../types/logger.ts';

/** Why plugins have nothing to say. Each reason is logged once, and again only after the plugin had something to say. */
export class Excuses {
  readonly #logger: Logger;
  readonly #reasons = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  give(plugin: string, reason: string): void {
    if (reason !== this.#reasons.get(plugin)) this.#logger.info({ plugin }, `${plugin}: ${reason}`);
    this.#reasons.set(plugin, reason);
  }

  /** There is none any more. */
  drop(plugin: string): void {
    this.#reasons.delete(plugin);
  }
}
