/** What is to be done now so that the runtime runs the containers that the spec of a pod asks for. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../types/runtime-pod.ts';
import { initContainerActions } from './init-containers.ts';
import { statusOf } from './pod-facts.ts';
import type { ContainerToKill, PodFacts } from './pod-facts.ts';
import { podSandboxChanged } from './pod-sandbox-changed.ts';
import { regularContainerActions } from './regular-containers.ts';
import { asksToRestartAllContainers } from './restart.ts';

/** An instance of a container that is removed so that the container starts over as if it had never run. */
export interface ContainerToReset {
  readonly id: string;
  readonly name: string;
  readonly container: Container;
  /** The instance runs or may run, so it is killed first. */
  readonly kill: boolean;
}

export interface PodActions {
  /** All containers and the sandbox are stopped, whatever the lists say. With `createSandbox` the pod is started anew. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The id of the sandbox to use or to replace; empty where there is none. */
  readonly sandboxId: string;
  /** Attempt of the sandbox to use or to create. */
  readonly attempt: number;
  /** Indices into the spec's lists, in the order of starting. */
  readonly initContainersToStart: readonly number[];
  readonly containersToStart: readonly number[];
  readonly ephemeralContainersToStart: readonly number[];
  readonly containersToKill: readonly ContainerToKill[];
  /** In the order of removal. Instances that asked for the restart come last, so that the request survives an interruption. */
  readonly containersToReset: readonly ContainerToReset[];
}

type Choice = Partial<PodActions>;

export function computePodActions(facts: PodFacts): PodActions {
  const { changed, attempt, sandboxId } = podSandboxChanged(facts.pod, facts.podStatus);
  const nothing: PodActions = {
    killPod: changed,
    createSandbox: changed,
    sandboxId,
    attempt,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: [],
    containersToReset: [],
  };
  if (facts.restartAllContainers) return { ...nothing, containersToReset: containersToReset(facts) };
  return { ...nothing, ...(changed ? startAnew(facts, attempt) : carryOn(facts)) };
}

/** The sandbox is kept. Ephemeral containers start at once, init containers one after the other, then the regular ones. */
function carryOn(facts: PodFacts): Choice {
  const ephemeralContainersToStart = ephemeralToStart(facts);
  const init = initContainerActions(facts);
  if (init.failed) return { ephemeralContainersToStart, killPod: true };
  const choice = {
    ephemeralContainersToStart,
    initContainersToStart: init.toStart,
    containersToKill: init.toKill,
  };
  return init.initialized ? { ...choice, ...withRegular(facts, init) } : choice;
}

/** When all regular containers have ended and none starts again, the pod is killed and its sidecars are not restarted. */
function withRegular(facts: PodFacts, init: { readonly toKill: readonly ContainerToKill[] }): Choice {
  const { finished, toStart, toKill } = regularContainerActions(facts);
  const containersToKill = [...init.toKill, ...toKill];
  if (finished) return { killPod: true, initContainersToStart: [], containersToKill };
  return { containersToStart: toStart, containersToKill };
}

/** An ephemeral container is started once. */
function ephemeralToStart(facts: PodFacts): readonly number[] {
  const ephemeral = facts.pod.spec.ephemeralContainers ?? [];
  return ephemeral.flatMap((container, index) => (statusOf(facts, container) ? [] : [index]));
}

/** There is no usable sandbox: a new one is created, unless the pod has run and none of its containers may run again. */
function startAnew(facts: PodFacts, attempt: number): Choice {
  const { pod, podStatus } = facts;
  const hasRun = attempt !== 0 && podStatus.containers.length > 0;
  if (hasRun && pod.spec.restartPolicy === 'Never') return { createSandbox: false };
  const containersToStart = pod.spec.containers.flatMap((container, index) =>
    isDone(facts, container) ? [] : [index],
  );
  if (containersToStart.length === 0) return { createSandbox: false };
  return (pod.spec.initContainers ?? []).length > 0 ? { initContainersToStart: [0] } : { containersToStart };
}

/** The container has succeeded, and its policy restarts it only on failure. */
function isDone(facts: PodFacts, container: Container): boolean {
  if ((container.restartPolicy ?? facts.pod.spec.restartPolicy) !== 'OnFailure') return false;
  const status = statusOf(facts, container);
  return status?.state === 'exited' && status.exitCode === 0;
}

/** Every instance of every regular and init container. */
function containersToReset({ pod, podStatus }: PodFacts): readonly ContainerToReset[] {
  const instances = inSpecOrder(pod).flatMap((container) =>
    podStatus.containers
      .filter(({ name }) => name === container.name)
      .map((status) => ({ container, status })),
  );
  const asking = instances.filter(({ container, status }) => asksToRestartAllContainers(container, status));
  const others = instances.filter((instance) => !asking.includes(instance));
  return [...others, ...asking].map(({ container, status }) => toReset(container, status));
}

function toReset(container: Container, { id, name, state }: RuntimeContainerStatus): ContainerToReset {
  return { id, name, container, kill: state === 'running' || state === 'unknown' };
}

function inSpecOrder(pod: Pod): readonly Container[] {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
}
