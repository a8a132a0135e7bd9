/** How pods end while the node shuts down: the time that they have, which of them end together, and what their statuses say. */
import { MAX_TIMER_MS } from '../../../types/clock.ts';
import type { Pod, PodPhase } from '../../../types/kubernetes.ts';
import type { ShutdownPeriod, ShutdownSettings } from '../../../types/node-settings.ts';
import type { Rejection } from '../admission/rejection.ts';
import { goDuration } from '../formats/duration.ts';
import { rfc3339 } from '../formats/time.ts';
import type { KillPodOptions } from './pod-termination.ts';

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

export interface ShutdownGroup extends ShutdownPeriod {
  /** In the order in which they were given. */
  readonly pods: readonly Pod[];
}

/**
 * One group for each period, in the order of the periods. A pod belongs to the highest period that is not above its priority; one with
 * a priority below all periods belongs to the lowest.
 */
export function groupByPriority(
  periods: readonly ShutdownPeriod[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  const groups = periods.map((period) => ({ ...period, pods: [] as Pod[] }));
  for (const pod of pods) {
    const priority = pod.spec.priority ?? 0;
    const group = groups.findLast((one) => one.priority <= priority) ?? groups[0];
    group?.pods.push(pod);
  }
  return groups;
}

// What the statuses of the pods and of the node say. The words are the kubelet's.

const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';

/** Of the node's condition Ready. */
export const NODE_SHUTTING_DOWN = 'node is shutting down';

/** For pods that come while the node shuts down. */
export const REJECTED_BY_SHUTDOWN: Rejection = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
};

/** `phase`: what the status says now. A pod that succeeded stays so. `now`: Unix milliseconds. */
export function shutdownKill(
  { metadata, spec }: Pod,
  phase: PodPhase | undefined,
  { shutdownGracePeriodSeconds: groupSeconds }: ShutdownPeriod,
  now: number,
): KillPodOptions {
  const { generation } = metadata;
  return {
    podTerminationGracePeriodSecondsOverride: Math.min(
      groupSeconds,
      spec.terminationGracePeriodSeconds ?? groupSeconds,
    ),
    podStatus: {
      ...(phase !== 'Succeeded' && { phase: 'Failed' as const }),
      reason: 'Terminated',
      message: MESSAGE,
      conditions: [
        {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'TerminationByKubelet',
          message: MESSAGE,
          lastTransitionTime: rfc3339(now),
          observedGeneration: generation,
        },
      ],
    },
  };
}
