import type { AnyActorRef } from 'xstate';
import { type Clock, MAX_TIMER_MS } from '../types/clock.ts';

export interface NewsOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Unix ms; undefined: never. */
  readonly atMs: number | undefined;
}

/** Resolves when something may have changed about the actor, at that time, or when the signal aborts; sometimes too early. */
export async function news(actor: AnyActorRef, { clock, signal, atMs }: NewsOptions): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const wake = () => resolve(undefined);
  const timer = clock.setTimeout(wake, Math.min(MAX_TIMER_MS, (atMs ?? Infinity) - clock.now()));
  // An actor that has failed tells nothing any more: whoever asks again must not be answered at once for ever.
  const subscription = actor.subscribe({ next: wake, error: () => undefined });
  signal.addEventListener('abort', wake);
  await promise;
  signal.removeEventListener('abort', wake);
  subscription.unsubscribe();
  clock.clearTimeout(timer);
}
