/** Time as a dependency, so that a whole node can run under a virtual clock. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  setTimeout(callback: () => void, delayMs: number): TimerHandle;
  clearTimeout(handle: TimerHandle): void;
}

export type TimerHandle = NodeJS.Timeout | number;

/** The longest delay of a Node timer: a timer with a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
