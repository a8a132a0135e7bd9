/**
 * When a probe runs. A worker has a beat: from when it came into being, once every period. Liveness and startup probes keep
 * it, so that a container that has only just been started gets some time before it can fail, as with the kubelet; a
 * readiness probe, which kills nobody, runs as soon as the container may be probed.
 */
import type { Probe, ProbeKind, ProbeStep } from './probe.ts';

const DEFAULT_PERIOD_SECONDS = 10;

/** All in Unix ms. */
export interface ProbeBeat {
  readonly agentStartedAt: number;
  /** The first beat. */
  readonly anchorAt: number;
}

export function periodMs({ periodSeconds = 0 }: Probe): number {
  return (periodSeconds > 0 ? periodSeconds : DEFAULT_PERIOD_SECONDS) * 1000;
}

/** The beats of an agent that has just started are spread: it may find many containers at once. `random` is in [0, 1). */
export function beatFrom(now: number, agentStartedAt: number, probe: Probe, random: number): ProbeBeat {
  const spread = now - agentStartedAt < periodMs(probe) ? random * periodMs(probe) : 0;
  return { agentStartedAt, anchorAt: now + Math.floor(spread) };
}

/** How long to wait, from `now` on, with the first run for a container. */
export function firstDelayMs(
  kind: ProbeKind,
  probe: Probe,
  { startedAt, notBefore }: ProbeStep & { readonly kind: 'probe' },
  { agentStartedAt, anchorAt }: ProbeBeat,
  now: number,
): number {
  const soonest = Math.max(now, notBefore);
  if (kind === 'readiness') {
    // What the agent has started by itself comes up spread already.
    const first = startedAt < agentStartedAt ? Math.max(soonest, anchorAt) : soonest;
    return first - now;
  }
  const beats = Math.max(0, Math.ceil((soonest - anchorAt) / periodMs(probe)));
  return anchorAt + beats * periodMs(probe) - now;
}

/** How long to wait, from `now` on, after a run that began at `ranAt`: not at all when it took a period or more. */
export function nextDelayMs(probe: Probe, ranAt: number, now: number): number {
  const tookMs = Math.max(0, now - ranAt);
  return Math.max(0, periodMs(probe) - tookMs);
}
