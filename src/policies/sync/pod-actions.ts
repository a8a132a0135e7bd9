/** What is to be done to a pod now, so that the runtime holds what its spec asks for. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../types/runtime-pod.ts';
import { initContainerActions } from './init-containers.ts';
import { statusOf } from './pod-facts.ts';
import type { ContainerToKill, PodFacts } from './pod-facts.ts';
import { podSandboxChanged } from './pod-sandbox-changed.ts';
import { regularContainerActions } from './regular-containers.ts';
import { asksToRestartAllContainers } from './restart.ts';

/** Removed with its instance, so that the pod starts over as if it had never run. */
export interface ContainerToReset {
  readonly id: string;
  readonly name: string;
  readonly container: Container;
  /** It runs, or may run, and is killed first. */
  readonly kill: boolean;
}

export interface PodActions {
  /** All containers and the sandbox go, whatever the lists say; with `createSandbox` the pod starts anew. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox to use or to replace; empty where there is none. */
  readonly sandboxId: string;
  /** Attempt of the sandbox to use or to create. */
  readonly attempt: number;
  /** Indices into the spec's lists, in the order of starting. */
  readonly initContainersToStart: readonly number[];
  readonly containersToStart: readonly number[];
  readonly ephemeralContainersToStart: readonly number[];
  readonly containersToKill: readonly ContainerToKill[];
  /** In the order of removal: those that asked for the restart last, so that the request survives an interruption. */
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

/** The sandbox is kept: ephemeral containers at once, init containers in turn, then the regular ones. */
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

/** A pod whose regular containers have all ended for good ends; its sidecars do not come back. */
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

/** The sandbox is gone or unfit: a new one, unless the pod has run and nothing of it may run again. */
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

/** It has succeeded, and runs again on failure only. */
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
  const askers = instances.filter(({ container, status }) => asksToRestartAllContainers(container, status));
  const others = instances.filter((instance) => !askers.includes(instance));
  return [...others, ...askers].map(({ container, status }) => toReset(container, status));
}

function toReset(container: Container, { id, name, state }: RuntimeContainerStatus): ContainerToReset {
  return { id, name, container, kill: state === 'running' || state === 'unknown' };
}

function inSpecOrder(pod: Pod): readonly Container[] {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
}
