import type { ContainerStatus, PodStatus } from '../types/kubernetes.ts';

export interface EndedInstance {
  readonly name: string;
  readonly exitCode: number;
  readonly reason?: string;
}

/** Container instances that have ended since `previous` was reported; none where nothing was reported before. */
export function endedInstances(previous: PodStatus | undefined, status: PodStatus): readonly EndedInstance[] {
  if (previous === undefined) return [];
  const known = new Set(terminations(previous).map(({ terminated }) => terminated.containerID));
  return terminations(status)
    .filter(({ terminated: { containerID } }) => containerID !== undefined && !known.has(containerID))
    .map(({ name, terminated: { exitCode, reason } }) => ({ name, exitCode, ...(reason && { reason }) }));
}

function terminations({ initContainerStatuses = [], containerStatuses = [] }: PodStatus) {
  return [...initContainerStatuses, ...containerStatuses].flatMap((status) =>
    terminated(status).map((state) => ({ name: status.name, terminated: state })),
  );
}

function terminated({ state, lastState }: ContainerStatus) {
  return [lastState?.terminated, state?.terminated].filter((ended) => ended !== undefined);
}
