/** What keeps the containers of a pod from running and being ready, in words for people: the first obstacle, in the order of their start. */
import type { Container, ContainerStatus, CoreEvent, Pod, PodStatus } from '../../../types/kubernetes.ts';
import { humanDuration } from '../formats/duration.ts';
import { named } from '../formats/lookups.ts';
import { isImageReason } from '../images/image-pull.ts';
import { atApiTime, atTime, withoutStop } from './end-cause.ts';
import { UNHEALTHY, unhealthyDevices } from './unhealthy-devices.ts';
import { missingObjects, otherProblems } from './missing-object.ts';

export interface ObstacleFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** About the pod, the oldest first. */
  readonly events: readonly CoreEvent[];
  /** Why its volumes could not be set up, where the last sync failed by that. */
  readonly mountProblem?: string | undefined;
  /** When the next sync of the pod is due, in Unix milliseconds. */
  readonly nextTryMs: number | undefined;
  readonly nowMs: number;
}

export interface Obstacle {
  /** A part of a sentence whose subject is the pod. */
  readonly text: string;
  /** What does not go on because of it, where the text does not say it. */
  readonly effect?: string;
}

/** Undefined where every container runs and is ready. */
export function containerObstacle(facts: ObstacleFacts): Obstacle | undefined {
  const { pod, status } = facts;
  const { initContainers = [], containers } = pod.spec;
  const isOpen = (container: Container) => !isDone(container, statusOf(status, container.name));
  const open = initContainers.find(isOpen);
  if (open) return initObstacle(open, initContainers, facts);
  for (const container of containers) {
    const obstacle = obstacleOf(container, statusOf(status, container.name), facts);
    if (obstacle !== undefined) return obstacle;
  }
  return gateObstacle(facts) ?? deviceObstacle(facts);
}

function statusOf(status: PodStatus | undefined, name: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return named(initContainerStatuses, name) ?? named(containerStatuses, name);
}

/** An init container that has succeeded, or a sidecar that has started. */
function isDone({ restartPolicy }: Container, status: ContainerStatus | undefined): boolean {
  if (restartPolicy === 'Always') return status?.started === true && status.state?.running !== undefined;
  return status?.state?.terminated?.exitCode === 0;
}

function initObstacle(container: Container, all: readonly Container[], facts: ObstacleFacts): Obstacle {
  const status = statusOf(facts.status, container.name);
  const place = `init container ${container.name} (${all.indexOf(container) + 1} of ${all.length})`;
  if (status?.state?.running) return { text: `waits for its ${place}, ${runningSince(status, facts.nowMs)}` };
  const image = imageObstacle(container, place, status, facts);
  if (image !== undefined) return { text: image, effect: 'No other container starts before it' };
  return { text: waiting(container, place, status, facts) };
}

function obstacleOf(
  container: Container,
  status: ContainerStatus | undefined,
  facts: ObstacleFacts,
): Obstacle | undefined {
  const place = `container ${container.name}`;
  if (status?.state?.running === undefined) {
    // One that has succeeded and is not started again is no obstacle.
    if (status?.state?.terminated !== undefined && isOver(facts.pod, status)) return undefined;
    const image = imageObstacle(container, place, status, facts);
    if (image !== undefined) return { text: image, effect: 'The container cannot start without it' };
    return { text: waiting(container, place, status, facts) };
  }
  const probe = latestProbe(container, facts);
  if (status.started === false) return { text: `runs, and waits for the startup probe of ${place}${probe}` };
  return status.ready ? undefined : { text: `runs, but ${place} is not ready${probe}` };
}

/** A container that has ended, and is not started again. */
export function isOver({ spec }: Pod, { state }: ContainerStatus): boolean {
  const { restartPolicy = 'Always' } = spec;
  return restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && state?.terminated?.exitCode === 0);
}

function runningSince({ state }: ContainerStatus, nowMs: number): string {
  return `which runs since ${atApiTime(state?.running?.startedAt, nowMs)}`;
}

/** What a pod needs before its first container, by the reasons of the events that say why it is not there. */
const BEFORE_CONTAINERS: Readonly<Record<string, string>> = {
  FailedCreatePodContainer: 'its cgroup',
  FailedPrepareDynamicResources: 'its resource claims',
  FailedMount: 'its volumes',
  FailedAttachVolume: 'its volumes',
  FailedCreatePodSandBox: 'its sandbox',
  NetworkNotReady: 'its sandbox',
};

function waiting(
  container: Container,
  place: string,
  status: ContainerStatus | undefined,
  facts: ObstacleFacts,
): string {
  const { reason = '', message = '' } = status?.state?.waiting ?? {};
  const next = nextTry(facts);
  const ended = status?.lastState?.terminated ?? status?.state?.terminated;
  if (reason === 'CrashLoopBackOff' || (ended !== undefined && reason === '')) {
    const restarts = status?.restartCount ?? 0;
    const restarted = restarts > 0 ? `has been restarted ${timesText(restarts)} and ` : '';
    return `waits to start ${place} again, which ${restarted}last ended${endText(ended, facts.nowMs)}${next}`;
  }
  const lacking = lackingBefore(facts);
  if (lacking !== undefined) return `waits for ${lacking}${next}`;
  if (reason === 'ContainerCreating' || reason === 'PodInitializing' || reason === '')
    return `waits for ${place} to be created`;
  const problems = message.split('; ');
  if (missingObjects(problems, facts.pod) !== undefined)
    return `waits for ${lackingText(problems, place, facts.pod, waitingProblems(facts))}${next}`;
  return `cannot start ${place}: ${reason}${colon(message)}${next}`;
}

/**
 * What the pod needs before its first container and does not have. Events stay when the missing thing exists by now: the result of the last sync is
 * newer.
 */
function lackingBefore(facts: ObstacleFacts): string | undefined {
  if (hasStarted(facts)) return undefined;
  const { reason: failure = '', message = '' } = latest(facts, Object.keys(BEFORE_CONTAINERS)) ?? {};
  const problems = (facts.mountProblem ?? message).split('; ');
  const what = BEFORE_CONTAINERS[facts.mountProblem === undefined ? failure : 'FailedMount'];
  return what === undefined ? undefined : lackingText(problems, what, facts.pod);
}

/** `elsewhere`: of these problems only the objects are named. */
function lackingText(
  problems: readonly string[],
  what: string,
  pod: Pod,
  elsewhere: readonly string[] = [],
): string {
  const missing = missingObjects([...problems, ...elsewhere], pod);
  const others = otherProblems(problems, pod).join('; ');
  const rest = others === '' ? undefined : `${what}: ${others}`;
  return [missing, rest].filter((part) => part !== undefined).join('; and for ');
}

/** Of the containers that are started side by side. */
function waitingProblems({ status }: ObstacleFacts): readonly string[] {
  return (status?.containerStatuses ?? []).flatMap(({ state }) => state?.waiting?.message?.split('; ') ?? []);
}

/** Undefined where the container does not wait for its image. */
function imageObstacle(
  { name, image = '' }: Container,
  place: string,
  status: ContainerStatus | undefined,
  facts: ObstacleFacts,
): string | undefined {
  const { reason = '', message = '' } = status?.state?.waiting ?? {};
  if (!isImageReason(reason)) return undefined;
  const problem = imageProblem(reason, image, message, facts);
  const said = registryAnswer(problem, image) ?? `${reason}${colon(problem)}`;
  return `waits for the image ${image} of ${place}: ${said}${nextTry(facts)}${triesText(name, facts)}`;
}

/** `, the 4th in 3m`: which try the next one is, and in which time. Empty where the events do not show it. */
function triesText(name: string, { events, nextTryMs, nowMs }: ObstacleFacts): string {
  const pulls = events.filter(
    ({ reason, involvedObject }) =>
      reason === 'Pulling' && involvedObject.fieldPath?.endsWith(`{${name}}`) === true,
  );
  const first = Math.min(...pulls.map(({ firstTimestamp = '' }) => Date.parse(firstTimestamp)));
  if (nextTryMs === undefined || nextTryMs <= nowMs || !Number.isFinite(first)) return '';
  const next = 1 + pulls.reduce((sum, { count = 1 }) => sum + count, 0);
  return `, the ${ordinal(next)} in ${humanDuration(nextTryMs - first)}`;
}

function ordinal(count: number): string {
  const isTeen = count % 100 > 10 && count % 100 < 14;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${ending}`;
}

/** While a pull is backed off, the status says only that; the event before says why. */
function imageProblem(reason: string, image: string, message: string, facts: ObstacleFacts): string {
  if (reason !== 'ImagePullBackOff') return message;
  const isOfImage = (text: string) => text.startsWith(`Failed to pull image "${image}"`);
  return latest(facts, ['Failed'], isOfImage)?.message ?? message;
}

const colon = (text: string): string => (text === '' ? '' : `: ${text}`);
const timesText = (count: number): string => (count === 1 ? 'once' : `${count} times`);

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
function gateObstacle({ pod, status }: ObstacleFacts): Obstacle | undefined {
  const conditions = [...(status?.conditions ?? []), ...(pod.status?.conditions ?? [])];
  const isTrue = (type: string) => conditions.some((one) => one.type === type && one.status === 'True');
  const gate = pod.spec.readinessGates?.find(({ conditionType }) => !isTrue(conditionType));
  return gate && { text: `runs, but is not ready: its condition ${gate.conditionType} is not True` };
}

/** The container does not notice it: it runs on with the device. */
function deviceObstacle({ status }: ObstacleFacts): Obstacle | undefined {
  const [first] = unhealthyDevices(status);
  if (first === undefined) return undefined;
  return {
    text: `runs, but ${UNHEALTHY}: ${first.device} of ${first.resource}, in container ${first.container}`,
  };
}

const STATUS =
  /(?:status code(?: \[[^\]]*\])?|unexpected status(?: code)?(?: from \w+ request to \S+)?): (?<code>\d{3})(?: (?<words>[A-Z][\w' -]*))?/u;

const HOST = /(?:pulling from host |request to https?:\/\/|(?:Head|Get) "https?:\/\/)(?<host>[^\s/"]+)/u;

const NOT_REACHED = /: dial tcp(?: \S+)?: (?<why>.+)$/u;

/** `registry.example answered 403 (Forbidden)`; undefined for a message of another form. `image`: the reference that was pulled. */
export function registryAnswer(message: string, image: string): string | undefined {
  const text = withoutStop(message);
  const host = HOST.exec(text)?.groups?.host ?? hostOf(image);
  const { code, words = '' } = STATUS.exec(text)?.groups ?? {};
  if (code !== undefined) return `${host} answered ${code}${words === '' ? '' : ` (${words})`}`;
  if (text.includes('pull access denied'))
    return `${host} denied access: it does not have the image, or wants credentials`;
  if (text.endsWith(': not found')) return `${host} does not have it (not found)`;
  const { why } = NOT_REACHED.exec(text)?.groups ?? {};
  return why === undefined ? undefined : `${host} was not reached (${why})`;
}

/** The first part is a host where it could be no name: the same rule as the runtimes have. */
function hostOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/u.test(first) || first === 'localhost');
  return isHost ? first : 'docker.io';
}
