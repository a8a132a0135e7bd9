/**
 * How long to wait before something that keeps failing is tried again: containers that end, images that cannot be
 * pulled, syncs of a pod. The caller keeps the entries: `backOffKey` is the key of a container's.
 */
import type { Container, Pod } from '../../../types/kubernetes.ts';
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

/** How an effect ended, as far as the time of the next sync depends on it. */
export type ResyncReason =
  /** The sync succeeded: the next one is due after the sync frequency. */
  | { readonly kind: 'synced' }
  /** The effect failed. */
  | { readonly kind: 'failed' }
  /** The volumes of the pod could not be set up, so many times in a row. `problem`: of all of them, the last time. */
  | { readonly kind: 'notMounted'; readonly failures: number; readonly problem: string }
  | { readonly kind: 'networkNotReady' }
  /** A restart or image pull back-off is under way; `retryAt` (Unix ms) is when the first of them expires. */
  | { readonly kind: 'backOff'; readonly retryAt: number };

/** These are constants in the kubelet too; the sync frequency is a setting. */
const BACK_OFF_PERIOD_MS = 10_000;

const NETWORK_NOT_READY_PERIOD_MS = 1_000;

/** Only for other problems: when an object that the volumes wait for appears, the pod is synced at once. */
const MOUNT_BACK_OFF_MS = 500;

const MOUNT_BACK_OFF_MAX_MS = 122_000;

const JITTER_FACTOR = 0.5;

/** Milliseconds until the next sync. `random`, in [0, 1), makes the delay up to half as long again (lifecycle, Timing). */
export function resyncDelayMs(
  reason: ResyncReason,
  { syncFrequencyMs, now, random }: { syncFrequencyMs: number; now: number; random: number },
): number {
  const jittered = (baseMs: number) => baseMs * (1 + JITTER_FACTOR * random);
  switch (reason.kind) {
    case 'synced':
      return jittered(syncFrequencyMs);
    case 'failed':
      return jittered(BACK_OFF_PERIOD_MS);
    case 'notMounted':
      return Math.min(MOUNT_BACK_OFF_MS * 2 ** (reason.failures - 1), MOUNT_BACK_OFF_MAX_MS);
    case 'networkNotReady':
      return NETWORK_NOT_READY_PERIOD_MS;
    case 'backOff':
      return Math.max(0, reason.retryAt - now);
  }
}

/** After one more failure to set up the pod's volumes. */
export function notMounted(last: ResyncReason, problem: string): ResyncReason {
  return { kind: 'notMounted', failures: last.kind === 'notMounted' ? last.failures + 1 : 1, problem };
}
