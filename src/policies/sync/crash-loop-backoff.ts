/**
 * How long to wait before something that keeps failing is tried again: containers that end, images that cannot be
 * pulled. The caller keeps the entries: `backOffKey` is the key of a container's.
 */
import type { Container, Pod } from '../../types/kubernetes.ts';
import { canonicalJson } from '../formats/canonical-json.ts';
import { goDuration } from '../formats/duration.ts';
import { podText } from '../pod/pod-kinds.ts';

/** What is remembered between one try and the next. */
export interface BackOffEntry {
  readonly backOffMs: number;
  /** When the entry was made or last doubled, Unix milliseconds. */
  readonly lastUpdate: number;
}

export interface BackOffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** A failure this long after the last update of the entry gets the first delay again. */
  readonly expiryMs: number;
}

export const CRASH_LOOP_BACK_OFF: BackOffOptions = {
  initialMs: 10_000,
  maxMs: 300_000,
  expiryMs: 600_000,
};

/** The maximum, that of `crashLoopBackOff.maxContainerRestartPeriod`, also limits the first delay. */
export function crashLoopBackOff(maxMs: number, initialMs = CRASH_LOOP_BACK_OFF.initialMs): BackOffOptions {
  return { ...CRASH_LOOP_BACK_OFF, initialMs: Math.min(initialMs, maxMs), maxMs };
}

/** Unix milliseconds; `finishedAt` is the end of the newest exited instance, undefined where there is none. */
export interface BackOffMoment {
  readonly now: number;
  readonly finishedAt: number | undefined;
}

export type BackOffDecision =
  | { readonly inBackOff: true; readonly entry: BackOffEntry; readonly nextRestartAt: number }
  /** Start it now, and keep `entry` in place of the old one. */
  | { readonly inBackOff: false; readonly entry: BackOffEntry | undefined };

/** Whether a container that is to be started has to wait. The first start never waits, and makes no entry. */
export function decideBackOff(
  entry: BackOffEntry | undefined,
  { now, finishedAt }: BackOffMoment,
  options: BackOffOptions = CRASH_LOOP_BACK_OFF,
): BackOffDecision {
  if (finishedAt === undefined) return { inBackOff: false, entry };
  if (entry && !isExpired(entry, finishedAt, options)) {
    const nextRestartAt = finishedAt + entry.backOffMs;
    if (now < nextRestartAt) return { inBackOff: true, entry, nextRestartAt };
  }
  return { inBackOff: false, entry: nextBackOffEntry(entry, { now, finishedAt }, options) };
}

/** The entry after one more failure, which ended at `finishedAt`: twice the delay, or the first delay again. */
export function nextBackOffEntry(
  entry: BackOffEntry | undefined,
  { now, finishedAt }: { readonly now: number; readonly finishedAt: number },
  options: BackOffOptions,
): BackOffEntry {
  const startsOver = !entry || isExpired(entry, finishedAt, options);
  return {
    backOffMs: startsOver ? options.initialMs : Math.min(entry.backOffMs * 2, options.maxMs),
    lastUpdate: now,
  };
}

function isExpired({ lastUpdate }: BackOffEntry, now: number, { expiryMs }: BackOffOptions): boolean {
  return now - lastUpdate > expiryMs;
}

/** Garbage collection: the entry, or undefined if it was last changed longer ago than its expiry. */
export function keepBackOffEntry(
  entry: BackOffEntry | undefined,
  now: number,
  options: BackOffOptions = CRASH_LOOP_BACK_OFF,
): BackOffEntry | undefined {
  return entry && isExpired(entry, now, options) ? undefined : entry;
}

/** The key of a container's entry. A change of its image or resources makes a new key, so that the first delay applies. */
export function backOffKey(pod: Pod, container: Container): string {
  const { namespace, name, uid } = pod.metadata;
  const { name: containerName, image, resources } = container;
  return canonicalJson([namespace, name, uid, containerName, image, resources]);
}

/** What the kubelet writes into the waiting state (CrashLoopBackOff) and into the error of the sync. */
export function crashLoopBackOffMessage(pod: Pod, containerName: string, backOffMs: number): string {
  return `back-off ${goDuration(backOffMs)} restarting failed container=${containerName} pod=${podText(pod)}`;
}
