/** What a plugin is asked and told when it registers, each with a time limit. */
import {
  GET_INFO_LIMIT_MS,
  NOTIFY_LIMIT_MS,
  refusalText,
} from '../../policies/eviction-plugins/plugin-registration.ts';
import { shortDuration } from '../../policies/formats/duration.ts';
import { Timer } from '../../system/timer.ts';
import { unlessAborted } from '../../system/promises/unless-aborted.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
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

async function limited<T>(
  call: string,
  limitMs: number,
  { clock, signal }: CallOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = new Timer(clock);
  const problem = `${call}: no answer within ${shortDuration(limitMs)}`;
  timer.arm(limitMs, () => late.abort(new StateletError('DeadlineExceeded', problem)));
  const limit = AbortSignal.any([signal, late.signal]);
  try {
    return await unlessAborted(work(limit), limit);
  } finally {
    timer.disarm();
  }
}
