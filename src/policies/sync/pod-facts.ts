/** What the pod actions are decided from, and the small questions that several of their parts ask. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../types/runtime-pod.ts';
import { containerStatusByName } from './restart.ts';
import type { ContainerKillReason } from './termination-grace.ts';

/** UNKNOWN: probed, but the result has not been decisive yet. */
export type ProbeResult = 'Success' | 'Failure' | 'UNKNOWN';

export interface PodFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** Latest results by container id; without an entry it has not been probed. */
  readonly liveness: ReadonlyMap<string, ProbeResult>;
  readonly startup: ReadonlyMap<string, ProbeResult>;
  /** A restart rule asked for all containers to start over (`shouldAllContainersRestart`). */
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

/** Why a container has to go. */
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
