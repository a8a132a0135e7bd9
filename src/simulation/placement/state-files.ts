/** The files in which agents of a simulated node keep which container has which CPUs and memory. They outlive the agents. */
import type { StoredText } from '../../system/newest-file.ts';
import { sleep } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import type { KeyedRandom } from '../resources/growth.ts';

export interface StateFilesOptions {
  readonly random: KeyedRandom;
  readonly mayDie: () => boolean;
  readonly killAgent: () => void;
}

const WRITE_MS = 20;
const DIES_AT_WRITE = 0.04;

export class StateFiles {
  readonly #options: StateFilesOptions;
  readonly #texts = new Map<string, string>();
  #writes = 0;

  constructor(options: StateFilesOptions) {
    this.#options = options;
  }

  text(name: string): string | undefined {
    return this.#texts.get(name);
  }

  /** For the agent with that clock. It may be killed before the disk has what it writes, and before it learns that the disk has it. */
  file(name: string, clock: Clock): StoredText {
    const { random, mayDie, killAgent } = this.#options;
    return {
      path: name,
      read: () => this.#texts.get(name),
      replace: async (text) => {
        const key = `placement/write/${String(++this.#writes)}`;
        await sleep(clock, 1 + Math.floor(WRITE_MS * random(`${key}/ms`)), new AbortController().signal);
        const fate = mayDie() ? random(`${key}/fate`) : 1;
        if (fate >= DIES_AT_WRITE / 2) this.#texts.set(name, text);
        if (fate >= DIES_AT_WRITE) return;
        killAgent();
        await new Promise(() => undefined);
      },
    };
  }
}
