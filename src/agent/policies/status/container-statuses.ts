/**
 * The container statuses of a pod: what the runtime reports, what was reported before if the runtime has forgotten a
 * container, and why a container could not be started.
 */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  EphemeralContainer,
  Pod,
  PodStatus,
} from '../../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { byName, named } from '../formats/lookups.ts';
import type { ProbeResult } from '../probes/probe.ts';
import {
  containerStatusByName,
  isRestartableInitContainer,
  shouldContainerBeRestarted,
} from '../pod-actions/restart.ts';
import { actualResources } from '../resize/actual-resources.ts';
import { containerMountPath } from '../volumes/volume-mounts.ts';
import {
  type ContainerFacts,
  containerID,
  type ContainerKind,
  containerState,
  forgottenContainerStatus,
  inferredCompletion,
  inferredEnd,
} from './container-state.ts';

export type ContainerStatuses = Required<
  Pick<PodStatus, 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses'>
>;

/**
 * `previous` is the status that was reported last. Init containers come in the order of the spec, the others by name. Here
 * no container is `ready`: `withReadiness` adds what the probes say.
 */
export function apiContainerStatuses(
  facts: ContainerFacts,
  previous: PodStatus | undefined,
): ContainerStatuses {
  const { containers, initContainers = [], ephemeralContainers = [] } = facts.pod.spec;
  const ephemeral = ephemeralContainers as readonly Container[];
  return {
    containerStatuses: statusesOf(facts, 'regular', containers, previous?.containerStatuses).sort(byName),
    initContainerStatuses: statusesOf(facts, 'init', initContainers, previous?.initContainerStatuses),
    ephemeralContainerStatuses: statusesOf(
      facts,
      'ephemeral',
      ephemeral,
      previous?.ephemeralContainerStatuses,
    ).sort(byName),
  };
}

function statusesOf(
  facts: ContainerFacts,
  kind: ContainerKind,
  containers: readonly Container[],
  previous: readonly ContainerStatus[] = [],
): ContainerStatus[] {
  const instances = Map.groupBy(facts.podStatus.containers, ({ name }) => name);
  return containers.map((container) => {
    const old = named(previous, container.name);
    const [newest, before] = newestFirst(instances.get(container.name) ?? []);
    if (newest === undefined) {
      const status = forgottenContainerStatus(facts, container, old);
      const ended = inferredCompletion(facts, kind, container, status) ?? inferredEnd(facts, status);
      return ended ?? withStartFailure(facts, container, status);
    }
    const status = knownContainerStatus(facts, newest, before, old);
    return kind === 'init' && hasSucceeded(facts, container)
      ? status
      : withStartFailure(facts, container, status);
  });
}

/** An init container that has succeeded is not started again, so an earlier start failure does not matter. */
function hasSucceeded({ podStatus }: ContainerFacts, { name }: Container): boolean {
  const newest = containerStatusByName(podStatus, name);
  return newest?.state === 'exited' && newest.exitCode === 0;
}

/** Instances of one container. While one instance runs, an instance that was created and never started is left out. */
function newestFirst(instances: readonly RuntimeContainerStatus[]): readonly RuntimeContainerStatus[] {
  const runs = instances.some(({ state }) => state === 'running');
  return instances
    .filter(({ state }) => !runs || state !== 'created')
    .toSorted((a, b) => b.createdAt - a.createdAt);
}

function knownContainerStatus(
  facts: ContainerFacts,
  newest: RuntimeContainerStatus,
  before: RuntimeContainerStatus | undefined,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const id = containerID(facts.runtimeName, newest.id);
  const lastState = before ? containerState(before, facts, old) : formerState(id, old);
  const state = containerState(newest, facts, old);
  return {
    name: newest.name,
    image: newest.image,
    imageID: newest.imageRef,
    containerID: id,
    ready: false,
    restartCount: restartCountOf(newest, old),
    state,
    ...(lastState && { lastState }),
    ...(state.running && old?.started !== undefined && { started: old.started }),
  };
}

/** How the instance before this one ended, by the status that was reported before. */
function formerState(id: string, old: ContainerStatus | undefined): ContainerState | undefined {
  const ended = old?.state?.terminated;
  const terminated = ended && old.containerID !== id ? ended : old?.lastState?.terminated;
  return terminated && { terminated };
}

/** Never less than was reported before: a runtime that has forgotten instances counts from 0 again. */
function restartCountOf(newest: RuntimeContainerStatus, old: ContainerStatus | undefined): number {
  if (!old) return newest.restartCount;
  const next = old.restartCount + 1;
  if (newest.state === 'unknown' && old.state?.running) return next;
  const ranAgain = newest.state === 'running' && old.state?.terminated !== undefined;
  return Math.max(newest.restartCount, ranAgain ? next : old.restartCount);
}

/** A container that is still to be started waits, with the reason why its last start failed. */
function withStartFailure(
  { pod, podStatus, startFailures }: ContainerFacts,
  container: Container,
  status: ContainerStatus,
): ContainerStatus {
  if (!shouldContainerBeRestarted(container, pod, podStatus)) return status;
  const failure = startFailures.get(container.name);
  if (failure === undefined) return status;
  const { reason, message } = failure;
  const ended = status.state?.terminated && { lastState: status.state };
  return { ...status, ...ended, state: { waiting: { reason, message } } };
}

// `started` and `ready` of container statuses, by the results of probes.

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

function ofInstance(
  { resources = {} }: Container | EphemeralContainer,
  instance: RuntimeContainerStatus,
): Details {
  const { user } = instance;
  return {
    ...(resources.requests && { allocatedResources: resources.requests }),
    resources: actualResources(resources, instance),
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

/** Whether mounts below this one are read-only too. The runtime's answer counts, not the spec. */
function recursiveReadOnly(mountPath: string, instance: RuntimeContainerStatus | undefined): string {
  const isRecursive = instance?.recursiveReadOnlyMounts?.includes(containerMountPath(mountPath)) === true;
  return isRecursive ? 'Enabled' : 'Disabled';
}
