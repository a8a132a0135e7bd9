/** How much time a container gets to end, and which containers have to end before it. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import { isRestartableInitContainer } from './restart.ts';

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
