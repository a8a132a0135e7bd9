/** How an effect ended, as far as the time of the next sync depends on it. */
export type ResyncReason =
  /** The sync succeeded: the next one is due after the sync frequency. */
  | { readonly kind: 'synced' }
  /** The effect failed. */
  | { readonly kind: 'failed' }
  /** The volumes of the pod could not be set up, so many times in a row. */
  | { readonly kind: 'notMounted'; readonly failures: number }
  | { readonly kind: 'networkNotReady' }
  /** A restart or image pull back-off is under way; `retryAt` (Unix ms) is when the first of them expires. */
  | { readonly kind: 'backOff'; readonly retryAt: number };

/** These are constants in the kubelet too; the sync frequency is a setting. */
const BACK_OFF_PERIOD_MS = 10_000;
const NETWORK_NOT_READY_PERIOD_MS = 1_000;
/** A pod is synced at once when an object that its volumes wait for appears: what is left needs no haste. */
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
export function notMounted(last: ResyncReason): ResyncReason {
  return { kind: 'notMounted', failures: last.kind === 'notMounted' ? last.failures + 1 : 1 };
}
