/** How long to wait before something that keeps failing is tried again. The caller keeps the entries, by `backOffKey`. */
import type { Container, Pod } from '../types/kubernetes.ts';
import { canonicalJson } from './canonical-json.ts';

/** What is remembered of a container between its restarts. */
export interface BackOffEntry {
  readonly backOffMs: number;
  /** When the entry was made or last doubled, Unix milliseconds. */
  readonly lastUpdate: number;
}

export interface BackOffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Running this long, or being left alone this long, makes the count start over. */
  readonly expiryMs: number;
}

export const CRASH_LOOP_BACK_OFF: BackOffOptions = {
  initialMs: 10_000,
  maxMs: 300_000,
  expiryMs: 600_000,
};

/** With a maximum of one's own (`crashLoopBackOff.maxContainerRestartPeriod`), which the first delay does not exceed either. */
export function crashLoopBackOff(maxMs: number): BackOffOptions {
  return { ...CRASH_LOOP_BACK_OFF, initialMs: Math.min(CRASH_LOOP_BACK_OFF.initialMs, maxMs), maxMs };
}

/** Unix milliseconds; `finishedAt` is the end of the newest exited instance, undefined where there is none. */
export interface BackOffMoment {
  readonly now: number;
  readonly finishedAt: number | undefined;
}

export type BackOffDecision =
  | { readonly inBackOff: true; readonly entry: BackOffEntry; readonly nextRestartAt: number }
  /** Start it now, and remember `entry` in place of the old one. */
  | { readonly inBackOff: false; readonly entry: BackOffEntry | undefined };

/** Whether a container that is to be started has to wait. Its first start never does, and leaves no trace. */
export function decideBackOff(
  entry: BackOffEntry | undefined,
  { now, finishedAt }: BackOffMoment,
  options: BackOffOptions = CRASH_LOOP_BACK_OFF,
): BackOffDecision {
  if (finishedAt === undefined) return { inBackOff: false, entry };
  if (!entry || finishedAt - entry.lastUpdate > options.expiryMs) {
    return { inBackOff: false, entry: { backOffMs: options.initialMs, lastUpdate: now } };
  }
  const nextRestartAt = finishedAt + entry.backOffMs;
  if (now < nextRestartAt) return { inBackOff: true, entry, nextRestartAt };
  const backOffMs = Math.min(entry.backOffMs * 2, options.maxMs);
  return { inBackOff: false, entry: { backOffMs, lastUpdate: now } };
}

/** Garbage collection: the entry, or undefined once nothing has touched it for longer than its expiry. */
export function keepBackOffEntry(
  entry: BackOffEntry | undefined,
  now: number,
  options: BackOffOptions = CRASH_LOOP_BACK_OFF,
): BackOffEntry | undefined {
  return entry && now - entry.lastUpdate > options.expiryMs ? undefined : entry;
}

/** Under which key a container's entry is kept: another image or other resources make the count start over. */
export function backOffKey(pod: Pod, container: Container): string {
  const { namespace, name, uid } = pod.metadata;
  const { name: containerName, image, resources } = container;
  return canonicalJson([namespace, name, uid, containerName, image, resources]);
}

/** What the kubelet writes into the waiting state (CrashLoopBackOff) and into the error of the sync. */
export function crashLoopBackOffMessage(pod: Pod, containerName: string, backOffMs: number): string {
  const { name, namespace, uid } = pod.metadata;
  const backOff = formatDuration(backOffMs);
  return `back-off ${backOff} restarting failed container=${containerName} pod=${name}_${namespace}(${uid})`;
}

/** A duration as Go prints it: `1m20s`, `10s`, `500ms`; the kubelet's messages have it so. */
function formatDuration(durationMs: number): string {
  if (durationMs > 0 && durationMs < 1000) return `${durationMs}ms`;
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor(durationMs / 60_000) % 60;
  const seconds = `${(durationMs % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
