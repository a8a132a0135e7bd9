/** How a pod is ended: with how much time, in which order its containers, by which deadline, and what its last status says of it. */
import type { Container, Pod, PodCondition, PodStatus } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { unixMs } from '../formats/time.ts';
import { isRestartableInitContainer } from '../pod-actions/restart.ts';

/** What a kill writes into the final status of a pod. It is data, not a function, so that tests can compare decisions. */
export interface PodStatusOverride {
  readonly phase?: 'Failed' | 'Succeeded';
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly PodCondition[];
}

/** How a pod is to be ended. Options of several kills accumulate (lifecycle 2, 4, 5). */
export interface KillPodOptions {
  readonly podTerminationGracePeriodSecondsOverride?: number;
  readonly evict?: boolean;
  readonly podStatus?: PodStatusOverride;
}

/** Grace period of a pod whose spec names none (the API server's default). */
const DEFAULT_GRACE_PERIOD_SECONDS = 30;

/** Grace period of a pod that only the runtime knows. */
export const RUNTIME_ONLY_GRACE_PERIOD_SECONDS = 1;

const MINIMUM_GRACE_PERIOD_SECONDS = 1;

/** Whether the pod's own object says that it must not run: it is being deleted, or its phase is terminal (lifecycle 3). */
export function isEnding(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp != null || isTerminalPhase(pod.status?.phase);
}

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

/**
 * The grace period of a stop, in seconds (lifecycle 4): the shortest of the period in force, the API server's deletion
 * grace period and the kill's override. The spec's own period counts only if none of these is given. At least 1 s.
 */
export function effectiveGracePeriodSeconds(
  current: number | undefined,
  pod: Pod | undefined,
  overrideSeconds?: number,
): number {
  const known = [current, pod?.metadata.deletionGracePeriodSeconds, overrideSeconds].filter(
    (seconds) => seconds != null,
  );
  const chosen =
    known.length > 0
      ? Math.min(...known)
      : (pod?.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_PERIOD_SECONDS);
  return Math.max(chosen, MINIMUM_GRACE_PERIOD_SECONDS);
}

// A pod may be active for at most `spec.activeDeadlineSeconds` from its start time on.

/** The kubelet's words for a pod that has exceeded its deadline. */
export const DEADLINE_EXCEEDED = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const satisfies PodStatusOverride;

/** Unix milliseconds; undefined where there is no deadline, or the pod has not started. */
export function activeDeadline({ spec }: Pod, status: PodStatus | undefined): number | undefined {
  if (spec.activeDeadlineSeconds == null || status?.startTime === undefined) return undefined;
  return unixMs(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

/** Whether the pod's deadline, if it has one, has passed. */
export function isPastDeadline(pod: Pod, status: PodStatus | undefined, nowMs: number): boolean {
  const deadline = activeDeadline(pod, status);
  return deadline !== undefined && deadline <= nowMs;
}

/**
 * Whether a pod whose deadline has passed ran beyond it. A pod whose containers ended in time has not, even if an agent sees
 * their end only later. `status` is the status that the pod would have without a deadline.
 */
export function hasExceededDeadline(pod: Pod, status: PodStatus, { containers }: RuntimePodStatus): boolean {
  if (!isTerminalPhase(status.phase)) return true;
  const ended = containers.filter(({ state }) => state === 'exited').map(({ finishedAt }) => finishedAt);
  return ended.length > 0 && isPastDeadline(pod, status, Math.max(...ended));
}

export interface EndStatus extends Pick<PodStatus, 'phase' | 'reason' | 'message'> {
  /** Of a pod that has failed: the containers by which it has. */
  readonly failed?: readonly FailedRun[];
}

export interface FailedRun {
  readonly name: string;
  readonly exitCode: number;
  readonly reason?: string;
}

export function endStatus(status: PodStatus): EndStatus {
  const { phase, reason, message } = status;
  const failed = phase === 'Failed' ? failedRuns(status) : [];
  return {
    phase,
    reason,
    message,
    ...(failed.length > 0 && { failed }),
  };
}

/** Init containers count where no other container has run. */
function failedRuns({ containerStatuses = [], initContainerStatuses = [] }: PodStatus): readonly FailedRun[] {
  const [failed, ofInit] = [containerStatuses, initContainerStatuses].map((all) =>
    all.flatMap(({ name, state }) => {
      const { exitCode = 0, reason } = state?.terminated ?? {};
      return exitCode === 0 ? [] : [{ name, exitCode, reason }];
    }),
  );
  return failed?.length ? failed : (ofInit ?? []);
}

/** Why a container is killed; empty for every reason that does not change its grace period. */
export type ContainerKillReason = '' | 'LivenessProbe' | 'StartupProbe' | 'Unknown';

/** A runtime is never asked to stop a container faster: the container needs some time to react to SIGTERM. */
const MIN_GRACE_PERIOD_SECONDS = 2;

/**
 * The grace period by the pod's object: that of its deletion, else that of the failed probe, else that of its spec. The
 * probe's counts only if the spec has one too. 2 s where none is given (no defaulting has been applied).
 */
export function containerGracePeriodSeconds(
  pod: Pod,
  container: Container,
  reason: ContainerKillReason,
): number {
  const deletion = pod.metadata.deletionGracePeriodSeconds;
  if (deletion != null) return deletion;
  const podWide = pod.spec.terminationGracePeriodSeconds;
  if (podWide == null) return MIN_GRACE_PERIOD_SECONDS;
  return failedProbe(container, reason)?.terminationGracePeriodSeconds ?? podWide;
}

function failedProbe(container: Container, reason: ContainerKillReason): Container['livenessProbe'] {
  switch (reason) {
    case 'LivenessProbe':
      return container.livenessProbe;
    case 'StartupProbe':
      return container.startupProbe;
    default:
      return undefined;
  }
}

export interface StopTime {
  readonly gracePeriodSeconds: number;
  /** Given by the cause of the kill, such as eviction; takes the place of `gracePeriodSeconds`. */
  readonly overrideSeconds?: number | undefined;
  /** How much of it the preStop hook and waiting for other containers have used up. */
  readonly spentSeconds?: number;
}

/** Seconds to hand to the runtime's StopContainer. */
export function stopTimeoutSeconds({
  gracePeriodSeconds,
  overrideSeconds,
  spentSeconds = 0,
}: StopTime): number {
  const granted = overrideSeconds ?? gracePeriodSeconds;
  return Math.max(MIN_GRACE_PERIOD_SECONDS, granted - spentSeconds);
}

export interface TerminationPrerequisites {
  /** The running regular containers: every sidecar ends after them. */
  readonly regular: readonly string[];
  /** For each sidecar, the next one in the spec, if that is running. It ends before. */
  readonly nextOf: ReadonlyMap<string, string | undefined>;
}

/** Sidecars end after the containers that they serve, in the reverse order of their start. `running`: names. */
export function terminationPrerequisites(pod: Pod, running: ReadonlySet<string>): TerminationPrerequisites {
  const isRunning = (name: string | undefined) => name !== undefined && running.has(name);
  const sidecars = (pod.spec.initContainers ?? []).filter(isRestartableInitContainer).map(({ name }) => name);
  const next = sidecars.map((_, index) => sidecars[index + 1]);
  return {
    regular: pod.spec.containers.map(({ name }) => name).filter(isRunning),
    nextOf: new Map(
      sidecars.map((name, index) => [name, isRunning(next[index]) ? next[index] : undefined] as const),
    ),
  };
}
