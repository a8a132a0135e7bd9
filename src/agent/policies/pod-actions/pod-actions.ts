/** What is to be done now so that the runtime runs the containers that the spec of a pod asks for. */
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type {
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../../types/runtime-pod.ts';
import {
  type ContainerToKill,
  initContainerActions,
  type PodFacts,
  regularContainerActions,
  statusOf,
} from './container-actions.ts';
import { asksToRestartAllContainers } from './restart.ts';
import { NO_RESIZE, type ResizeActions } from '../resize/resize-actions.ts';

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
  /** Changes of what runs on; of a pod that is killed there are none. */
  readonly resize: ResizeActions;
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
    resize: NO_RESIZE,
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
    resize: facts.resize ?? NO_RESIZE,
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
  if (finished) return { killPod: true, resize: NO_RESIZE, initContainersToStart: [], containersToKill };
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
  if (runsOnce(pod, podStatus, attempt)) return { createSandbox: false };
  const containersToStart = pod.spec.containers.flatMap((container, index) =>
    isDone(facts, container) ? [] : [index],
  );
  if (containersToStart.length === 0) return { createSandbox: false };
  return (pod.spec.initContainers ?? []).length > 0 ? { initContainersToStart: [0] } : { containersToStart };
}

function runsOnce({ spec }: Pod, { containers }: RuntimePodStatus, attempt: number): boolean {
  return attempt !== 0 && containers.length > 0 && spec.restartPolicy === 'Never';
}

/** Whether the pod has run, and no container of it starts again: it has no usable sandbox and gets no other one. */
export function startsNoMore(pod: Pod, podStatus: RuntimePodStatus): boolean {
  const { changed, attempt } = podSandboxChanged(pod, podStatus);
  return changed && runsOnce(pod, podStatus, attempt);
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

export interface SandboxVerdict {
  readonly changed: boolean;
  /** The attempt of the sandbox to use: of the present one, or of the next one. */
  readonly attempt: number;
  /** The id of the newest sandbox; empty where there is none, or where its network is not the one that the pod wants. */
  readonly sandboxId: string;
}

/**
 * A new sandbox is needed when there is none, when the newest is not the only one that is ready, when the pod wants the
 * host's network and the sandbox has its own (or the reverse), and when a sandbox that should have an address has none.
 */
export function podSandboxChanged(pod: Pod, { sandboxes }: RuntimePodStatus): SandboxVerdict {
  const newest = sandboxes[0];
  if (!newest) return { changed: true, attempt: 0, sandboxId: '' };
  const replaced = { changed: true, attempt: newest.attempt + 1, sandboxId: newest.id };
  if (!newest.ready || sandboxes.filter(({ ready }) => ready).length > 1) return replaced;
  if (newest.networkMode !== wantedNetworkMode(pod)) return { ...replaced, sandboxId: '' };
  if (lacksAddress(pod, newest)) return replaced;
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}

function wantedNetworkMode(pod: Pod): 'NODE' | 'POD' {
  return pod.spec.hostNetwork === true ? 'NODE' : 'POD';
}

/** An undefined address does not count as missing: such a runtime reports no addresses at all. */
function lacksAddress(pod: Pod, sandbox: RuntimeSandboxStatus): boolean {
  return pod.spec.hostNetwork !== true && sandbox.ip === '';
}
