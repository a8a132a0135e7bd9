/**
 * When a probe runs. A worker has a beat: from when it came into being, once every period. Liveness and startup probes keep
 * it, so that a container that has only just been started gets some time before it can fail, as with the kubelet; a
 * readiness probe, which kills nobody, runs as soon as the container may be probed.
 */
import { periodMs, type Probe, type ProbeKind, type ProbeStep } from './probe.ts';

/** The time over which an agent that has just started spreads the first probes of containers that ran before. */
const CATCH_UP_MS = 1_000;

/** All in Unix ms. */
export interface ProbeBeat {
  readonly agentStartedAt: number;
  /** The first beat. */
  readonly anchorAt: number;
  /** From when on those are probed that ran before the agent did, and of which it does not know whether they are ready. */
  readonly catchUpAt: number;
}

/** The beats of an agent that has just started are spread: it may find many containers at once. `random` is in [0, 1). */
export function beatFrom(now: number, agentStartedAt: number, probe: Probe, random: number): ProbeBeat {
  const spreadMs = now - agentStartedAt < periodMs(probe) ? periodMs(probe) : 0;
  const after = (limitMs: number) => now + Math.floor(random * Math.min(spreadMs, limitMs));
  return { agentStartedAt, anchorAt: after(Infinity), catchUpAt: after(CATCH_UP_MS) };
}

/** How long to wait, from `now` on, with the first run for a container. */
export function firstDelayMs(
  kind: ProbeKind,
  probe: Probe,
  { startedAt, notBefore }: ProbeStep & { readonly kind: 'probe' },
  { agentStartedAt, anchorAt, catchUpAt }: ProbeBeat,
  now: number,
): number {
  const soonest = Math.max(now, notBefore);
  // Until then it would be shown as not ready, though it may have been for long.
  if (kind !== 'liveness' && startedAt < agentStartedAt) return Math.max(soonest, catchUpAt) - now;
  if (kind === 'readiness') return soonest - now;
  const beats = Math.max(0, Math.ceil((soonest - anchorAt) / periodMs(probe)));
  return anchorAt + beats * periodMs(probe) - now;
}

/** How long to wait, from `now` on, after a run that began at `ranAt`: not at all when it took a period or more. */
export function nextDelayMs(probe: Probe, ranAt: number, now: number): number {
  const tookMs = Math.max(0, now - ranAt);
  return Math.max(0, periodMs(probe) - tookMs);
}
