import type { StatusObject } from '@grpc/grpc-js';
import type { Clock } from '../../../types/clock.ts';
import type { PlegMeasurements } from '../../../types/measurements.ts';
import { sleep } from '../../../system/timer.ts';
import { callError } from '../calls/call-errors.ts';
import type { Channel } from '../calls/channel.ts';
import { criEvents, EVENT_SOURCES, type EventSource } from './event-sources.ts';
import type { RawEvent } from './hints.ts';

/** The wait between two attempts: doubling, as for a runtime that is down. */
const FIRST_DELAY_MS = 100;
const NS_PER_MS = 1e6;
const MAX_DELAY_MS = 5000;
/** A source that has ended this often in a row without an event counts as missing. */
const ATTEMPTS = 5;

export interface EventFeedOptions {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly tell: (raw: RawEvent) => void;
  /** Tells the present states in place of events that were missed. Rejects if the runtime does not answer (yet). */
  readonly repeatStates: () => Promise<void>;
  readonly warn: (message: string) => void;
  readonly measurements?: EventMeasurements;
}

/** As with the kubelet, these are of CRI's events alone. */
export type EventMeasurements = Pick<PlegMeasurements, 'eventsAsked' | 'eventsFailed' | 'eventHeard'>;

interface Ending {
  /** `missing`: the runtime has no such source. `fruitless`: the source ended without an event. */
  readonly how: 'missing' | 'fruitless' | 'lost';
  /** Whether the runtime was up in between. */
  readonly wasUp: boolean;
}

/**
 * Listens to the first source of events that the runtime has, and again after it broke, until `signal` aborts. If the
 * runtime has no source, warns and resolves.
 */
export async function feedEvents(options: EventFeedOptions, signal: AbortSignal): Promise<void> {
  let [source, other] = EVENT_SOURCES;
  let missing = 0;
  let failures = 0;
  let gap = false;
  let delayMs = FIRST_DELAY_MS;
  while (!signal.aborted) {
    const { how, wasUp } = await listen(options, source, gap, signal);
    failures = how === 'fruitless' ? failures + 1 : 0;
    if (how === 'missing' || failures === ATTEMPTS) {
      [source, other] = [other, source];
      missing += 1;
      failures = 0;
      if (missing < EVENT_SOURCES.length) continue;
      options.warn(withoutEvents(options.channel.endpoint));
      return;
    }
    if (how === 'lost') missing = 0;
    gap = true;
    if (wasUp) delayMs = FIRST_DELAY_MS;
    await pause(options.clock, delayMs, signal);
    delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
  }
}

async function listen(
  { channel, clock, tell, repeatStates, measurements }: EventFeedOptions,
  source: EventSource,
  gap: boolean,
  signal: AbortSignal,
): Promise<Ending> {
  const ended = new AbortController();
  const begunAt = clock.now();
  let heard = false as boolean;
  const measured = source === criEvents ? measurements : undefined;
  const stream = source(channel, (raw) => {
    heard = true;
    measured?.eventHeard(clock.now() - raw.createdAt / NS_PER_MS);
    tell(raw);
  });
  measured?.eventsAsked();
  const onAbort = (): void => stream.cancel();
  signal.addEventListener('abort', onAbort);
  if (gap) void untilDone(clock, repeatStates, ended.signal);
  // The status has the same information, and always comes.
  stream.on('error', () => undefined);
  const status = await new Promise<StatusObject>((resolve) => stream.once('status', resolve));
  signal.removeEventListener('abort', onAbort);
  ended.abort();
  if (!signal.aborted) measured?.eventsFailed();
  const { kind } = callError('the stream of events', channel.endpoint, status);
  // An idle runtime has no events: a long stream without one counts as up, too.
  const wasUp = heard || clock.now() - begunAt >= MAX_DELAY_MS;
  if (kind === 'Unimplemented') return { how: 'missing', wasUp };
  return { how: heard || kind === 'Unavailable' || kind === 'Canceled' ? 'lost' : 'fruitless', wasUp };
}

async function untilDone(clock: Clock, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let delayMs = FIRST_DELAY_MS; !signal.aborted; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    try {
      await work();
      return;
    } catch {
      await pause(clock, delayMs, signal);
    }
  }
}

/** Resolves early when the signal aborts. */
const pause = (clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> =>
  sleep(clock, delayMs, signal).catch(() => undefined);

const withoutEvents = (endpoint: string): string =>
  `the container runtime at ${endpoint} tells of no events: changes are seen by relisting alone`;
