/** What pod actions are decided from, and helpers that several parts of the decision share. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../types/runtime-pod.ts';
import { containerStatusByName } from './restart.ts';
import type { ContainerKillReason } from '../termination/pod-termination.ts';

/** UNKNOWN: the container is being probed, but no threshold has been reached yet. */
export type ProbeResult = 'Success' | 'Failure' | 'UNKNOWN';

export interface PodFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** The latest results by container id. A container without an entry has not been probed. */
  readonly liveness: ReadonlyMap<string, ProbeResult>;
  readonly startup: ReadonlyMap<string, ProbeResult>;
  /** All containers start over, because a restart rule asked for it (`shouldAllContainersRestart`). */
  readonly restartAllContainers: boolean;
  /** Whether the container was created from a spec other than the present one. */
  specChanged(container: Container, status: RuntimeContainerStatus): boolean;
}

export interface ContainerToKill {
  readonly id: string;
  readonly name: string;
  readonly container: Container;
  readonly reason: ContainerKillReason;
  readonly message: string;
}

/** Why a container is killed. */
export interface Fault {
  readonly reason: ContainerKillReason;
  readonly message: string;
}

/** A container in an unknown state may still run: it is killed before another instance is started. */
export function unknownState(subject: string): Fault {
  return { reason: 'Unknown', message: `${subject} is in "unknown" state, try killing it before restart` };
}

export function toKill(
  container: Container,
  { id, name }: RuntimeContainerStatus,
  fault: Fault,
): ContainerToKill {
  return { id, name, container, ...fault };
}

/** The container's newest instance. */
export function statusOf(
  { podStatus }: PodFacts,
  { name }: { readonly name: string },
): RuntimeContainerStatus | undefined {
  return containerStatusByName(podStatus, name);
}
