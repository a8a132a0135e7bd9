import { setTimeout as delay } from 'node:timers/promises';

/** A machine that does much else takes ten times as long as one that does not. */
export const PATIENCE_MS = 100_000;

export interface WaitOptions {
  /** What is waited for, as the error message names it. */
  readonly what: string;
  /** Nothing is proved by it: it only has to end before the test is given up, however busy the machine is. */
  readonly timeoutMs?: number;
  /** Longer where asking costs those who are to get there. */
  readonly pauseMs?: number;
}

/**
 * Asks again and again until there is an answer other than `undefined` and `false`, and returns it. Only for what has
 * no event to await: a file appears, a process goes.
 */
export async function waitFor<T>(
  check: () => T | undefined | false | Promise<T | undefined | false>,
  { what, timeoutMs = PATIENCE_MS, pauseMs = 10 }: WaitOptions,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await check();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await delay(pauseMs);
  }
}
