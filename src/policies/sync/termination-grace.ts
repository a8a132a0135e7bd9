/** How much time a container gets to end, and who has to end before it. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import { isRestartableInitContainer } from './restart.ts';

/** Why a container is killed; empty for everything that has no bearing on its grace period. */
export type ContainerKillReason = '' | 'LivenessProbe' | 'StartupProbe' | 'Unknown';

/** A runtime is never asked to stop a container faster, lest a plain SIGTERM have no time to work at all. */
const MIN_GRACE_PERIOD_SECONDS = 2;

/**
 * The grace period that the spec grants: that of the deletion before that of the probe that failed before the pod's
 * own. A probe's counts only where the pod has one; 2 s where nothing is said (no defaulting has been applied).
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
  /** From the one who asks for the kill (eviction, say); goes before the spec's. */
  readonly overrideSeconds?: number | undefined;
  /** What the preStop hook, and waiting for other containers, have used up. */
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

/**
 * For each sidecar, the running containers that must end before it is told to: all regular ones, and the sidecar next
 * after it in the spec. So sidecars end after the containers that they serve, the last started first.
 */
export function terminationPrerequisites(
  pod: Pod,
  running: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const regular = pod.spec.containers.map(({ name }) => name);
  const sidecars = (pod.spec.initContainers ?? []).filter(isRestartableInitContainer).map(({ name }) => name);
  return new Map(
    sidecars.map((name, index) => {
      const awaited = [...regular, ...sidecars.slice(index + 1, index + 2)];
      return [name, awaited.filter((other) => running.has(other))];
    }),
  );
}
