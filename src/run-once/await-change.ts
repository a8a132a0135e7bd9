import type { AnyActorRef } from 'xstate';
import { Timer } from '../system/timer.ts';
import type { Clock } from '../types/clock.ts';

export interface AwaitChangeOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Unix ms; undefined: no time limit. */
  readonly atMs: number | undefined;
}

/**
 * Resolves when the actor may have changed, when it is `atMs`, or when the signal aborts. May resolve too early: the caller
 * checks again.
 */
export async function awaitChange(
  actor: AnyActorRef,
  { clock, signal, atMs }: AwaitChangeOptions,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const wake = () => resolve(undefined);
  const timer = new Timer(clock);
  timer.arm((atMs ?? Infinity) - clock.now(), wake);
  // An actor that has failed answers each subscription with its error at once: waking on it would make callers spin.
  const subscription = actor.subscribe({ next: wake, error: () => undefined });
  signal.addEventListener('abort', wake);
  await promise;
  signal.removeEventListener('abort', wake);
  subscription.unsubscribe();
  timer.disarm();
}
