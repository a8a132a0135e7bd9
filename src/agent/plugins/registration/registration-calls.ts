/** The calls to a plugin when it registers, each with a time limit. */
import {
  GET_INFO_LIMIT_MS,
  NOTIFY_LIMIT_MS,
  TOKEN_LIMIT_MS,
  refusalText,
} from '../../policies/eviction-plugins/plugin-registration.ts';
import { shortDuration } from '../../policies/formats/duration.ts';
import { unlessAborted } from '../../../system/promises.ts';
import { Timer, withDeadline } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import { StateletError } from '../../../types/errors.ts';
import type { RegistrationClient } from '../protocol/registration-client.ts';
import type { PluginInfo } from '../protocol/service-methods.ts';

interface CallOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Rejects if the plugin does not listen, does not answer in time, or answers with what cannot be read. */
export function askForInfo(client: RegistrationClient, options: CallOptions): Promise<PluginInfo> {
  return limited('GetInfo', GET_INFO_LIMIT_MS, options, (signal) => client.getInfo(signal));
}

/** `refusal`: why the plugin is not registered; undefined if it is. */
export function tellStatus(
  client: RegistrationClient,
  refusal: string | undefined,
  options: CallOptions,
): Promise<void> {
  const status =
    refusal === undefined
      ? { registered: true, error: '' }
      : { registered: false, error: refusalText(refusal) };
  return limited('NotifyRegistrationStatus', NOTIFY_LIMIT_MS, options, (signal) =>
    client.notifyRegistrationStatus(status, signal),
  );
}

/** Rejects where the plugin has no token, or does not answer in time. */
export function askForToken(
  ask: (signal: AbortSignal) => Promise<string>,
  options: CallOptions,
): Promise<string> {
  return limited('GetToken', TOKEN_LIMIT_MS, options, ask);
}

function limited<T>(
  call: string,
  limitMs: number,
  { clock, signal }: CallOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = () =>
    new StateletError('DeadlineExceeded', `${call}: no answer within ${shortDuration(limitMs)}`);
  return withDeadline(clock, limitMs, signal, (limit) => unlessAborted(work(limit), limit), late);
}

/** As long as a plugin that listens takes to answer. */
const PLACE_MS = 100;

/**
 * Lets few calls to plugins begin at once: there may be hundreds of plugins, and each call costs the event loop about a millisecond. A call
 * that is not answered soon gives its place up and goes on, so that a plugin that hangs holds up no other.
 */
export class StaggeredQueue {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #places: number;

  constructor(clock: Clock, atOnce: number) {
    this.#clock = clock;
    this.#places = atOnce;
  }

  /** Begins at once where there is a place. Rejects with the signal's reason where it aborts before. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    const begin = () => {
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return;
      this.#places -= 1;
      const timer = new Timer(this.#clock);
      let hasPlace = true;
      const leave = () => {
        timer.disarm();
        if (!hasPlace) return;
        hasPlace = false;
        this.#places += 1;
        this.#next();
      };
      timer.arm(PLACE_MS, leave);
      work().then(resolve, reject).finally(leave);
    };
    this.#waiting.push(begin);
    this.#next();
    return promise;
  }

  #next(): void {
    while (this.#places > 0) {
      const begin = this.#waiting.shift();
      if (begin === undefined) return;
      begin();
    }
  }
}
