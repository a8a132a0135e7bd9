/**
 * The container statuses of a pod: what the runtime reports, what was reported before if the runtime has forgotten a
 * container, and why a container could not be started.
 */
import type { Container, ContainerState, ContainerStatus, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../types/runtime-pod.ts';
import { named } from '../pod/named.ts';
import type { ContainerFacts, ContainerKind } from './container-facts.ts';
import { containerID, containerState } from './container-state.ts';
import { forgottenContainerStatus, inferredCompletion } from './forgotten-container.ts';
import { containerStatusByName, shouldContainerBeRestarted } from '../sync/restart.ts';

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

function byName(a: ContainerStatus, b: ContainerStatus): number {
  return a.name < b.name ? -1 : 1;
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
      const completed = inferredCompletion(facts, kind, container, status);
      return completed ?? withStartFailure(facts, container, status);
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
