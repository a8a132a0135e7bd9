import { setTimeout as delay } from 'node:timers/promises';

/** A slow machine that is busy takes thirty times as long as a fast idle one. */
export const PATIENCE_MS = 240_000;
/** The same, for a command of kubectl that waits. */
export const KUBECTL_PATIENCE = `--timeout=${PATIENCE_MS / 1000}s`;

export interface WaitOptions {
  /** What the caller waits for; shown in the error message. */
  readonly what: string;
  /** A limit so that a test that fails ends with this error; it asserts no time. */
  readonly timeoutMs?: number;
  /** The first pause. Choose a longer one when each check slows down the awaited work. */
  readonly pauseMs?: number;
  /** Resolves when it is worth to check again. Default: after a pause. */
  readonly news?: () => Promise<void>;
}

/** A pause is this part of the time waited so far, up to a limit: what comes soon is seen at once, and what takes long is checked rarely. */
const PAUSE_SHARE = 0.1;
const PAUSE_MAX_MS = 100;
/** A check that starts a process takes time from what is awaited: it is made again after a few times as long as it took, up to a limit. */
const CHECK_SHARE = 3;
const CHECK_PAUSE_MAX_MS = 600;

/**
 * Polls until the answer is neither `undefined` nor `false`, and returns it. Only for things without an event to await: a file
 * that appears, a process that ends.
 */
export async function waitFor<T>(
  check: () => T | undefined | false | Promise<T | undefined | false>,
  { what, timeoutMs = PATIENCE_MS, pauseMs = 10, news }: WaitOptions,
): Promise<T> {
  const begun = performance.now();
  for (;;) {
    const checkedAt = performance.now();
    const answer = await check();
    if (answer !== undefined && answer !== false) return answer;
    const now = performance.now();
    if (now - begun > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    const soon = Math.min((now - begun) * PAUSE_SHARE, PAUSE_MAX_MS);
    const rarely = Math.min((now - checkedAt) * CHECK_SHARE, CHECK_PAUSE_MAX_MS);
    await (news?.() ?? delay(Math.max(pauseMs, soon, rarely)));
  }
}
