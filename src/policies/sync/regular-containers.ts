/** Which regular containers are started and killed once the pod is initialized. */
import type { Container } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus } from '../../types/runtime-pod.ts';
import { statusOf, toKill, unknownState } from './pod-facts.ts';
import type { ContainerToKill, Fault, PodFacts } from './pod-facts.ts';
import { restartsOnFailure, shouldContainerBeRestarted } from './restart.ts';

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
