/**
 * When a probe runs. The worker of a probe has a beat: once every period from when the worker was created. As with the
 * kubelet, liveness and startup probes run at a beat, so that a container that has just been started gets some time before it
 * can fail. A readiness probe kills no container, so it runs as soon as the container may be probed.
 */
import { periodMs, type Probe, type ProbeKind, type ProbeStep } from './probe.ts';

/** The time over which an agent that has just started spreads the first probes of containers that ran before. */
const CATCH_UP_MS = 1_000;

/** All in Unix ms. */
export interface ProbeBeat {
  readonly agentStartedAt: number;
  /** The first beat. */
  readonly anchorAt: number;
  /** When containers are probed first that ran before the agent started, so that it does not know whether they are ready. */
  readonly catchUpAt: number;
}

/** The beats of an agent that has just started are spread, since it may find many containers. `random` is in [0, 1). */
export function beatFrom(now: number, agentStartedAt: number, probe: Probe, random: number): ProbeBeat {
  const spreadMs = now - agentStartedAt < periodMs(probe) ? periodMs(probe) : 0;
  const after = (limitMs: number) => now + Math.floor(random * Math.min(spreadMs, limitMs));
  return { agentStartedAt, anchorAt: after(Infinity), catchUpAt: after(CATCH_UP_MS) };
}

/** The delay from `now` to the first probe of a container. */
export function firstDelayMs(
  kind: ProbeKind,
  probe: Probe,
  { startedAt, notBefore }: ProbeStep & { readonly kind: 'probe' },
  { agentStartedAt, anchorAt, catchUpAt }: ProbeBeat,
  now: number,
): number {
  const soonest = Math.max(now, notBefore);
  // Until the first probe the container is shown as not ready, although it may have been ready for long.
  if (kind !== 'liveness' && startedAt < agentStartedAt) return Math.max(soonest, catchUpAt) - now;
  if (kind === 'readiness') return soonest - now;
  const beats = Math.max(0, Math.ceil((soonest - anchorAt) / periodMs(probe)));
  return anchorAt + beats * periodMs(probe) - now;
}

/** The delay from `now` to the next probe, after one that began at `ranAt`: none if that took a period or longer. */
export function nextDelayMs(probe: Probe, ranAt: number, now: number): number {
  const tookMs = Math.max(0, now - ranAt);
  return Math.max(0, periodMs(probe) - tookMs);
}
