/**
 * Which containers of a pod are started and killed. Init containers run one after the other, and after them the regular ones together. A
 * sidecar (an init container with restartPolicy Always) is kept running, and the next init container starts once the sidecar has started.
 *
 * Runtimes forget containers that have ended. So all init containers before the last one with a status count as done, and
 * all of them count as done when a regular container has been created.
 */
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import {
  containerShouldRestart,
  containerStatusByName,
  isRestartableInitContainer,
  restartsOnFailure,
  shouldContainerBeRestarted,
} from './restart.ts';
import type { ProbeResult } from '../probes/probe.ts';
import type { ResizeActions } from '../resize/resize-actions.ts';
import type { ContainerKillReason } from '../termination/pod-termination.ts';

export interface InitActions {
  /** Whether regular containers may be started. */
  readonly initialized: boolean;
  /** An init container has failed and is not started again: the pod has failed. */
  readonly failed: boolean;
  /** Indices into the spec's init containers, in the order of starting. */
  readonly toStart: readonly number[];
  readonly toKill: readonly ContainerToKill[];
}

const NOTHING: InitActions = { initialized: false, failed: false, toStart: [], toKill: [] };
const INITIALIZED: InitActions = { ...NOTHING, initialized: true };
const FAILED: InitActions = { ...NOTHING, failed: true };

export function initContainerActions(facts: PodFacts): InitActions {
  const initContainers = facts.pod.spec.initContainers ?? [];
  if (initContainers.length === 0) return INITIALIZED;
  if (anyRegularContainerStarted(facts)) return together(INITIALIZED, keepSidecars(facts, initContainers));

  const current = initContainers.findLastIndex((container) => statusOf(facts, container) !== undefined);
  const container = initContainers[current];
  if (!container) return start(0);
  const progress = advance(facts, container, current);
  return progress.failed ? FAILED : together(keepSidecars(facts, initContainers.slice(0, current)), progress);
}

/** A container that has exited does not count, because it may have run in an earlier sandbox. */
function anyRegularContainerStarted(facts: PodFacts): boolean {
  return facts.pod.spec.containers.some((container) => {
    const state = statusOf(facts, container)?.state;
    return state === 'created' || state === 'running';
  });
}

function keepSidecars(facts: PodFacts, doneContainers: readonly Container[]): InitActions {
  const each = doneContainers.map((container, index) =>
    isRestartableInitContainer(container) ? keepSidecar(facts, container, index) : NOTHING,
  );
  return each.reduce(together, NOTHING);
}

function keepSidecar(facts: PodFacts, container: Container, index: number): InitActions {
  const status = statusOf(facts, container);
  switch (status?.state) {
    case 'running': {
      const fault = sidecarFault(facts, container, status);
      if (fault) return replace(container, status, fault, index);
      // What is left of its start is its postStart hook.
      return status.owesHook ? start(index) : NOTHING;
    }
    case 'unknown':
      return replaceUnknown(container, status, index);
    default:
      return start(index);
  }
}

/** Until its startup probe succeeds, a sidecar has no other fault. Results of probes that it does not have do not count. */
function sidecarFault(
  facts: PodFacts,
  container: Container,
  status: RuntimeContainerStatus,
): Fault | undefined {
  const subject = `Init container ${container.name}`;
  if (!hasStarted(facts, container, status)) {
    const failed = facts.startup.get(status.id) === 'Failure';
    return failed ? { reason: 'StartupProbe', message: `${subject} failed startup probe` } : undefined;
  }
  if (facts.specChanged(container, status)) return { reason: '', message: `${subject} definition changed` };
  const unhealthy = container.livenessProbe && facts.liveness.get(status.id) === 'Failure';
  return unhealthy
    ? { reason: 'LivenessProbe', message: `${subject} failed liveness probe` }
    : resizeFault(facts, status);
}

function hasStarted(facts: PodFacts, container: Container, status: RuntimeContainerStatus): boolean {
  return !container.startupProbe || facts.startup.get(status.id) === 'Success';
}

/** What follows from the last init container that has been started: it runs on, starts again or failed, or the next starts. */
function advance(facts: PodFacts, container: Container, index: number): InitActions {
  const status = statusOf(facts, container);
  if (!status) return start(index);
  return isRestartableInitContainer(container)
    ? advanceSidecar(facts, container, status, index)
    : advancePlain(facts, container, status, index);
}

function advanceSidecar(
  facts: PodFacts,
  container: Container,
  status: RuntimeContainerStatus,
  index: number,
): InitActions {
  const kept = keepSidecar(facts, container, index);
  const started = status.state === 'running' && !status.owesHook && hasStarted(facts, container, status);
  return started ? together(kept, next(facts, index)) : kept;
}

function advancePlain(
  facts: PodFacts,
  container: Container,
  status: RuntimeContainerStatus,
  index: number,
): InitActions {
  switch (status.state) {
    case 'running':
      return NOTHING;
    case 'created':
      return start(index);
    case 'exited':
      if (status.exitCode === 0) return next(facts, index);
      return containerShouldRestart(facts.pod, container, status.exitCode) ? start(index) : FAILED;
    case 'unknown':
      return restartsOnFailure(facts.pod, container) ? replaceUnknown(container, status, index) : FAILED;
  }
}

function next(facts: PodFacts, index: number): InitActions {
  const isLast = index + 1 === facts.pod.spec.initContainers?.length;
  return isLast ? INITIALIZED : start(index + 1);
}

function start(index: number): InitActions {
  return { ...NOTHING, toStart: [index] };
}

function replace(
  container: Container,
  status: RuntimeContainerStatus,
  fault: Fault,
  index: number,
): InitActions {
  return { ...start(index), toKill: [toKill(container, status, fault)] };
}

function replaceUnknown(container: Container, status: RuntimeContainerStatus, index: number): InitActions {
  return replace(container, status, unknownState('Init container'), index);
}

function together(one: InitActions, other: InitActions): InitActions {
  return {
    initialized: one.initialized || other.initialized,
    failed: one.failed || other.failed,
    toStart: [...one.toStart, ...other.toStart],
    toKill: [...one.toKill, ...other.toKill],
  };
}

export interface PodFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** The latest results by container id. A container without an entry has not been probed. */
  readonly liveness: ReadonlyMap<string, ProbeResult>;
  readonly startup: ReadonlyMap<string, ProbeResult>;
  /** All containers start over, because a restart rule asked for it (`shouldAllContainersRestart`). */
  readonly restartAllContainers: boolean;
  /** What differs from what has been allocated to what runs. Default: nothing, or it cannot be changed on this node. */
  readonly resize?: ResizeActions;
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

/** Why a container is killed. */
interface Fault {
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

interface ContainerAction {
  /** The container runs, and keeps running. */
  readonly keep: boolean;
  readonly start: boolean;
  readonly kill?: ContainerToKill;
}

export interface RegularActions {
  /** No container keeps running, and none is to be started. */
  readonly finished: boolean;
  readonly toStart: readonly number[];
  readonly toKill: readonly ContainerToKill[];
}

const KEEP: ContainerAction = { keep: true, start: false };

/** It runs; what is left of its start is its postStart hook. */
const RESUME_START: ContainerAction = { keep: true, start: true };

export function regularContainerActions(facts: PodFacts): RegularActions {
  const actions = facts.pod.spec.containers.map((container) => containerAction(facts, container));
  return {
    finished: !actions.some(({ keep, start }) => keep || start),
    toStart: actions.flatMap(({ start }, index) => (start ? [index] : [])),
    toKill: actions.flatMap(({ kill }) => kill ?? []),
  };
}

function containerAction(facts: PodFacts, container: Container): ContainerAction {
  const status = statusOf(facts, container);
  return status?.state === 'running'
    ? runningAction(facts, container, status)
    : stoppedAction(facts, container, status);
}

function stoppedAction(
  facts: PodFacts,
  container: Container,
  status: RuntimeContainerStatus | undefined,
): ContainerAction {
  const start = shouldContainerBeRestarted(container, facts.pod, facts.podStatus);
  if (!start || status?.state !== 'unknown') return { keep: false, start };
  return { keep: false, start, kill: toKill(container, status, unknownState('Container')) };
}

/** A container that is killed because its spec has changed is always started again; after a failed probe, the policy decides. */
function runningAction(
  facts: PodFacts,
  container: Container,
  status: RuntimeContainerStatus,
): ContainerAction {
  const fault = faultOf(facts, container, status);
  const resize = fault === undefined ? resizeFault(facts, status) : undefined;
  if (resize) return { keep: false, start: true, kill: toKill(container, status, resize) };
  if (!fault) return status.owesHook ? RESUME_START : KEEP;
  const start = fault.reason === '' || restartsOnFailure(facts.pod, container);
  const message = start ? `${fault.message}, will be restarted` : fault.message;
  return { keep: false, start, kill: toKill(container, status, { ...fault, message }) };
}

/** The first fault that the container has: a changed spec, a failed liveness probe, a failed startup probe. */
function faultOf(facts: PodFacts, container: Container, status: RuntimeContainerStatus): Fault | undefined {
  const subject = `Container ${container.name}`;
  if (facts.specChanged(container, status)) return { reason: '', message: `${subject} definition changed` };
  if (facts.liveness.get(status.id) === 'Failure') {
    return { reason: 'LivenessProbe', message: `${subject} failed liveness probe` };
  }
  if (facts.startup.get(status.id) === 'Failure') {
    return { reason: 'StartupProbe', message: `${subject} failed startup probe` };
  }
  return undefined;
}

/** It has other resources than it is to have, and its resizePolicy asks for a restart then, whatever the restartPolicy. */
function resizeFault({ resize }: PodFacts, { id, name }: RuntimeContainerStatus): Fault | undefined {
  const restarts = resize?.restarts.some((restart) => restart.id === id) === true;
  return restarts ? { reason: '', message: `Container ${name} resize requires restart` } : undefined;
}
