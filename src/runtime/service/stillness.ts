export interface Watched {
  readonly stillMs: number;
  /** A number that changes with each sign of life, such as the bytes read so far. Without it, only the time counts. */
  readonly progress?: () => number;
  /** Whether this side makes the other one wait. */
  readonly isHeld?: () => boolean;
}

/**
 * Calls once when there has been no progress for so long, although there could have been. Returns the function that ends the watch.
 */
export function onceStill({ stillMs, progress, isHeld }: Watched, callback: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const watch = (): void => {
    const before = progress?.();
    const look = (): void => {
      if (isHeld?.() === true || progress?.() !== before) watch();
      else callback();
    };
    // A busy machine may have held this process itself for so long: what has come meanwhile is read first.
    timer = setTimeout(() => (turn = setImmediate(look)), stillMs);
  };
  watch();
  return () => {
    clearTimeout(timer);
    clearImmediate(turn);
  };
}
