/** A pod's status as a real API server stores and serves it, whatever was sent: times in seconds, and its own idea of empty fields. */
import { rfc3339, unixMs } from '../../policies/formats/time.ts';
import type { ContainerState, ContainerStatus, PodCondition, PodStatus } from '../../types/kubernetes.ts';

export function servedPodStatus(status: PodStatus): PodStatus {
  const { podIP = status.podIPs?.[0]?.ip, podIPs } = status;
  return withoutEmpty({
    ...status,
    startTime: status.startTime && inSeconds(status.startTime),
    conditions: status.conditions?.map(servedCondition),
    containerStatuses: status.containerStatuses?.map(servedContainer),
    initContainerStatuses: status.initContainerStatuses?.map(servedContainer),
    ephemeralContainerStatuses: status.ephemeralContainerStatuses?.map(servedContainer),
    podIP,
    // The old field wins over the newer one.
    podIPs: podIP === undefined || podIPs?.[0]?.ip === podIP ? podIPs : [{ ip: podIP }],
  });
}

function servedCondition(condition: PodCondition): PodCondition {
  return {
    ...withoutEmpty(condition),
    // A patch of a condition that is not there may leave it out.
    status: (condition as Partial<PodCondition>).status ?? '',
    lastProbeTime: inSeconds(condition.lastProbeTime),
    lastTransitionTime: inSeconds(condition.lastTransitionTime),
  };
}

function servedContainer(status: ContainerStatus): ContainerStatus {
  return {
    ...withoutEmpty(status),
    image: status.image,
    imageID: status.imageID,
    state: servedState(status.state),
    lastState: servedState(status.lastState),
  };
}

function servedState({ waiting, running, terminated }: ContainerState = {}): ContainerState {
  return {
    ...(waiting && { waiting: withoutEmpty(waiting) }),
    ...(running && { running: { startedAt: inSeconds(running.startedAt) } }),
    ...(terminated && {
      terminated: withoutEmpty({
        ...terminated,
        startedAt: inSeconds(terminated.startedAt),
        finishedAt: inSeconds(terminated.finishedAt),
      }),
    }),
  };
}

/** A time that is missing is served as null. */
function inSeconds<Time extends string | undefined>(time: Time | null): Time {
  const served: unknown = time == null ? null : rfc3339(unixMs(time));
  return served as Time;
}

/** Empty texts and lists are not stored. Null stays: it is a time that is missing. */
function withoutEmpty<T extends object>(value: T): T {
  const isEmpty = (member: unknown) =>
    member === undefined || member === '' || (Array.isArray(member) && member.length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, member]) => !isEmpty(member))) as T;
}
