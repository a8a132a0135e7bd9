/** How much time pods have while the node shuts down, from the settings. */
import type { ShutdownPeriod, ShutdownSettings } from '../../types/shutdown-settings.ts';
import { MAX_TIMER_MS } from '../../types/clock.ts';
import { goDuration } from '../formats/duration.ts';

const DEFAULT_PRIORITY = 0;
/** The priority of `system-cluster-critical`. */
const CRITICAL_PRIORITY = 2_000_000_000;

/** All pods end together, each within its own grace period. */
export const OWN_GRACE_PERIODS: ShutdownPeriod = {
  priority: DEFAULT_PRIORITY,
  shutdownGracePeriodSeconds: Math.floor(MAX_TIMER_MS / 1000),
};

/** By rising priority, each in whole seconds. Empty: the shutdown does not wait for pods. */
export function shutdownPeriods(settings: ShutdownSettings): readonly ShutdownPeriod[] {
  const { shutdownGracePeriodByPodPriority: given } = settings;
  return given.length > 0 ? given.toSorted((a, b) => a.priority - b.priority) : simplePeriods(settings);
}

/** The periods of `shutdownGracePeriod` and `shutdownGracePeriodCriticalPods`. */
export function simplePeriods({
  shutdownGracePeriodMs: all,
  shutdownGracePeriodCriticalPodsMs: critical,
}: ShutdownSettings): readonly ShutdownPeriod[] {
  if (all <= 0 || critical < 0 || critical > all) return [];
  return [
    { priority: DEFAULT_PRIORITY, shutdownGracePeriodSeconds: seconds(all - critical) },
    { priority: CRITICAL_PRIORITY, shutdownGracePeriodSeconds: seconds(critical) },
  ];
}

/** How long a shutdown may take in all. */
export function shutdownSeconds(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds, 0);
}

/** What is wrong with the settings, in the kubelet's words. */
export function shutdownProblems(settings: ShutdownSettings): readonly string[] {
  const { shutdownGracePeriodMs: all, shutdownGracePeriodCriticalPodsMs: critical } = settings;
  const { shutdownGracePeriodByPodPriority: byPriority } = settings;
  const problems: string[] = [];
  if (byPriority.length > 0 && (all > 0 || critical > 0))
    problems.push(
      'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
    );
  if (all < 0 || (all > 0 && all < 1000))
    problems.push(`shutdownGracePeriod ${shown(all)} must be either zero or otherwise >= 1 sec`);
  if (critical < 0 || (critical > 0 && critical < 1000))
    problems.push(
      `shutdownGracePeriodCriticalPods ${shown(critical)} must be either zero or otherwise >= 1 sec`,
    );
  if (critical > all)
    problems.push(
      `shutdownGracePeriodCriticalPods ${shown(critical)} must be <= shutdownGracePeriod ${shown(all)}`,
    );
  return problems;
}

function shown(ms: number): string {
  return ms < 0 ? `{-${goDuration(-ms)}}` : `{${goDuration(ms)}}`;
}

function seconds(ms: number): number {
  return Math.trunc(ms / 1000);
}
