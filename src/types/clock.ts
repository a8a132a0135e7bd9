/** Time from outside, so that a whole node can run under a virtual clock. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  setTimeout(callback: () => void, delayMs: number): TimerHandle;
  clearTimeout(handle: TimerHandle): void;
}

export type TimerHandle = NodeJS.Timeout | number;

/** The longest delay that a timer of Node takes: it fires at once for a longer one. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
