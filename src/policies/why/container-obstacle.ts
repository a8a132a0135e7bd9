/** What keeps the containers of a pod from running and being ready, in words for people: the first obstacle, in the order of their start. */
import type { Container, ContainerStatus, CoreEvent, Pod, PodStatus } from '../../types/kubernetes.ts';
import { isImageReason } from '../images/image-pull.ts';
import { atApiTime, atTime } from './times.ts';

export interface ObstacleFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** About the pod, the oldest first. */
  readonly events: readonly CoreEvent[];
  /** When the next sync of the pod is due, in Unix milliseconds. */
  readonly nextTryMs: number | undefined;
  readonly nowMs: number;
}

/** Undefined where every container runs and is ready. A part of a sentence whose subject is the pod. */
export function containerObstacle(facts: ObstacleFacts): string | undefined {
  const { pod, status } = facts;
  const { initContainers = [], containers } = pod.spec;
  const isOpen = (container: Container) => !isDone(container, statusOf(status, container.name));
  const open = initContainers.find(isOpen);
  if (open) return initObstacle(open, initContainers, facts);
  for (const container of containers) {
    const text = obstacleOf(container, statusOf(status, container.name), facts);
    if (text !== undefined) return text;
  }
  return gateObstacle(facts);
}

function statusOf(status: PodStatus | undefined, name: string): ContainerStatus | undefined {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.find((one) => one.name === name);
}

/** An init container that has succeeded, or a sidecar that has started. */
function isDone({ restartPolicy }: Container, status: ContainerStatus | undefined): boolean {
  if (restartPolicy === 'Always') return status?.started === true && status.state?.running !== undefined;
  return status?.state?.terminated?.exitCode === 0;
}

function initObstacle(
  container: Container,
  all: readonly Container[],
  facts: ObstacleFacts,
): string | undefined {
  const status = statusOf(facts.status, container.name);
  const place = `init container ${container.name} (${all.indexOf(container) + 1} of ${all.length})`;
  if (status?.state?.running) return `waits for its ${place}, ${runningSince(status, facts.nowMs)}`;
  return waiting(container, place, status, facts);
}

function obstacleOf(
  container: Container,
  status: ContainerStatus | undefined,
  facts: ObstacleFacts,
): string | undefined {
  const place = `container ${container.name}`;
  if (status?.state?.running === undefined) {
    // One that has succeeded and is not started again is no obstacle.
    if (status?.state?.terminated !== undefined && isOver(facts.pod, status)) return undefined;
    return waiting(container, place, status, facts);
  }
  if (status.started === false)
    return `runs, and waits for the startup probe of ${place}${latestProbe(container, facts)}`;
  return status.ready ? undefined : `runs, but ${place} is not ready${latestProbe(container, facts)}`;
}

function isOver({ spec }: Pod, { state }: ContainerStatus): boolean {
  const { restartPolicy = 'Always' } = spec;
  return restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && state?.terminated?.exitCode === 0);
}

function runningSince({ state }: ContainerStatus, nowMs: number): string {
  return `which runs since ${atApiTime(state?.running?.startedAt, nowMs)}`;
}

function waiting(
  container: Container,
  place: string,
  status: ContainerStatus | undefined,
  facts: ObstacleFacts,
): string {
  const { reason = '', message = '' } = status?.state?.waiting ?? {};
  const next = nextTry(facts);
  if (isImageReason(reason)) {
    const image = container.image ?? '';
    return `waits for the image ${image} of ${place}: ${reason}${colon(imageProblem(reason, message, facts))}${next}`;
  }
  const ended = status?.lastState?.terminated ?? status?.state?.terminated;
  if (reason === 'CrashLoopBackOff' || (ended !== undefined && reason === '')) {
    const restarts = status?.restartCount ?? 0;
    const times = restarts > 0 ? `has been restarted ${times_(restarts)} and ` : '';
    return `waits to start ${place} again, which ${times}last ended${endText(ended, facts.nowMs)}${next}`;
  }
  const volumes = latest(facts, ['FailedMount', 'FailedAttachVolume']);
  if (volumes !== undefined && !hasStarted(facts))
    return `waits for its volumes: ${volumes.message ?? ''}${next}`;
  const sandbox = latest(facts, ['FailedCreatePodSandBox', 'NetworkNotReady']);
  if (sandbox !== undefined && !hasStarted(facts))
    return `waits for its sandbox: ${sandbox.message ?? ''}${next}`;
  if (reason === 'ContainerCreating' || reason === 'PodInitializing' || reason === '')
    return `waits for ${place} to be created`;
  return `cannot start ${place}: ${reason}${colon(message)}${next}`;
}

/** While a pull is backed off, the status says only that; the event before says why. */
function imageProblem(reason: string, message: string, facts: ObstacleFacts): string {
  if (reason !== 'ImagePullBackOff') return message;
  return latest(facts, ['Failed'], (text) => text.startsWith('Failed to pull image'))?.message ?? message;
}

const colon = (text: string): string => (text === '' ? '' : `: ${text}`);
const times_ = (count: number): string => (count === 1 ? 'once' : `${count} times`);

function endText(
  ended: NonNullable<ContainerStatus['state']>['terminated'] | undefined,
  nowMs: number,
): string {
  if (ended === undefined) return '';
  const { exitCode, reason, finishedAt } = ended;
  const why = reason === undefined || reason === '' ? '' : ` (${reason})`;
  const at = finishedAt === undefined ? '' : ` at ${atApiTime(finishedAt, nowMs)}`;
  return ` with exit code ${exitCode}${why}${at}`;
}

function nextTry({ nextTryMs, nowMs }: ObstacleFacts): string {
  return nextTryMs === undefined || nextTryMs <= nowMs ? '' : `; next try at ${atTime(nextTryMs, nowMs)}`;
}

function hasStarted({ status }: ObstacleFacts): boolean {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.some(
    ({ state, lastState }) => state?.waiting === undefined || lastState?.terminated !== undefined,
  );
}

function latestProbe({ name }: Container, facts: ObstacleFacts): string {
  const isOf = ({ involvedObject }: CoreEvent) => involvedObject.fieldPath?.endsWith(`{${name}}`) === true;
  const found = facts.events.findLast((event) => event.reason === 'Unhealthy' && isOf(event));
  return found === undefined ? '' : `: ${found.message ?? ''}`;
}

function latest(
  { events }: ObstacleFacts,
  reasons: readonly string[],
  isWanted: (message: string) => boolean = () => true,
): CoreEvent | undefined {
  return events.findLast(({ reason = '', message = '' }) => reasons.includes(reason) && isWanted(message));
}

/** A readiness gate whose condition is not True. */
function gateObstacle({ pod, status }: ObstacleFacts): string | undefined {
  const conditions = [...(status?.conditions ?? []), ...(pod.status?.conditions ?? [])];
  const isTrue = (type: string) => conditions.some((one) => one.type === type && one.status === 'True');
  const gate = pod.spec.readinessGates?.find(({ conditionType }) => !isTrue(conditionType));
  return gate && `runs, but is not ready: its condition ${gate.conditionType} is not True`;
}
