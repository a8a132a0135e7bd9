/** What container statuses show beside the state: resources and volumes of the spec, and the user that the container runs as. */
import type { Container, ContainerStatus, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../types/runtime-pod.ts';
import { named } from '../pod/named.ts';
import { containerID } from './container-state.ts';
import type { ContainerStatuses } from './container-statuses.ts';
import { containerMountPath } from '../volumes/volume-mounts.ts';

interface Facts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** The first part of container ids: `<runtimeName>://<id>`. */
  readonly runtimeName: string;
}

type Details = Pick<ContainerStatus, 'allocatedResources' | 'resources' | 'user' | 'volumeMounts'>;

export function withDetails(
  { containerStatuses, initContainerStatuses, ephemeralContainerStatuses }: ContainerStatuses,
  facts: Facts,
): ContainerStatuses {
  const { containers, initContainers = [], ephemeralContainers = [] } = facts.pod.spec;
  return {
    containerStatuses: each(containerStatuses, containers, facts),
    initContainerStatuses: each(initContainerStatuses, initContainers, facts),
    ephemeralContainerStatuses: each(ephemeralContainerStatuses, ephemeralContainers, facts),
  };
}

function each(
  statuses: readonly ContainerStatus[],
  containers: readonly (Container | EphemeralContainer)[],
  { podStatus, runtimeName }: Facts,
): ContainerStatus[] {
  const instances = new Map(podStatus.containers.map((one) => [containerID(runtimeName, one.id), one]));
  return statuses.map((status) => {
    const container = named(containers, status.name);
    if (container === undefined) return status;
    const instance = instances.get(status.containerID ?? '');
    return {
      ...status,
      ...(instance && ofInstance(container, instance)),
      ...volumeMounts(container, instance),
    };
  });
}

/** The resources are those of the spec, because resources of a running container never change here. */
function ofInstance(
  { resources = {} }: Container | EphemeralContainer,
  { user }: RuntimeContainerStatus,
): Details {
  return {
    ...(resources.requests && { allocatedResources: resources.requests }),
    resources,
    ...(user && { user: { linux: user } }),
  };
}

function volumeMounts(
  { volumeMounts: mounts = [] }: Container | EphemeralContainer,
  instance: RuntimeContainerStatus | undefined,
): Details {
  if (mounts.length === 0) return {};
  return {
    volumeMounts: mounts.map(({ name, mountPath, readOnly }) => ({
      name,
      mountPath,
      ...(readOnly === true && { readOnly, recursiveReadOnly: recursiveReadOnly(mountPath, instance) }),
    })),
  };
}

/** Whether mounts below this one are read-only too. The runtime tells; what the spec asks for does not count. */
function recursiveReadOnly(mountPath: string, instance: RuntimeContainerStatus | undefined): string {
  const isRecursive = instance?.recursiveReadOnlyMounts?.includes(containerMountPath(mountPath)) === true;
  return isRecursive ? 'Enabled' : 'Disabled';
}
