/** How pods end while the node shuts down, and what is said of it. The words are the kubelet's. */
import type { Pod, PodPhase } from '../../types/kubernetes.ts';
import type { Rejection } from '../admission/rejection.ts';
import { rfc3339 } from '../formats/time.ts';
import type { KillPodOptions } from '../sync/pod-termination.ts';
import type { ShutdownPeriod } from '../../types/shutdown-settings.ts';

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
          ...(generation !== undefined && { observedGeneration: generation }),
        },
      ],
    },
  };
}
