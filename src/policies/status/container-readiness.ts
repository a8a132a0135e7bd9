/** `started` and `ready` of container statuses, by the results of probes. */
import type { Container, ContainerStatus, Pod } from '../../types/kubernetes.ts';
import { named } from '../pod/named.ts';
import type { ContainerStatuses } from './container-statuses.ts';
import type { ProbeResult } from '../sync/pod-facts.ts';
import { isRestartableInitContainer } from '../sync/restart.ts';

type Probe = 'startup' | 'readiness';

/** The latest result of a container's probe, by the runtime's id; undefined while it has not been probed. */
export type ProbeResults = (probe: Probe, containerId: string) => ProbeResult | undefined;

/**
 * A container has started if it runs and its startup probe has succeeded; it is ready if its readiness probe has succeeded
 * too. A probe that it does not have counts as succeeded. An init container is ready when it has succeeded.
 */
export function withReadiness(
  { spec }: Pod,
  statuses: ContainerStatuses,
  results: ProbeResults = () => undefined,
): ContainerStatuses {
  const mark = (containers: readonly Container[] = []) => {
    return (status: ContainerStatus): ContainerStatus => {
      const container = named(containers, status.name);
      return container ? markOne(status, container, results) : status;
    };
  };
  return {
    ...statuses,
    containerStatuses: statuses.containerStatuses.map(mark(spec.containers)),
    initContainerStatuses: statuses.initContainerStatuses
      .map(mark(spec.initContainers))
      .map((status) => withCompletion(status, spec.initContainers)),
  };
}

function markOne(status: ContainerStatus, container: Container, results: ProbeResults): ContainerStatus {
  const id = status.containerID?.replace(/^[^:]*:\/\//, '') ?? '';
  const passes = (probe: Probe) => container[`${probe}Probe`] == null || results(probe, id) === 'Success';
  const started = status.state?.running !== undefined && passes('startup');
  return { ...status, started, ready: started && passes('readiness') };
}

function withCompletion(status: ContainerStatus, initContainers: readonly Container[] = []): ContainerStatus {
  const container = named(initContainers, status.name);
  if (!container || isRestartableInitContainer(container)) return status;
  return { ...status, ready: status.state?.terminated?.exitCode === 0 };
}
