/**
 * How a pod is, in one word for people: the page colours and sorts by it. The rule of when a pod needs attention stands here alone, and in
 * docs/ui.md.
 */
import { isTerminalPhase } from '../termination/pod-termination.ts';
import { countedStatuses, isEndingState, podSummary } from '../status/pod-table.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { PodHealth } from '../../../types/page-views.ts';
import { isOver } from './container-obstacle.ts';
import { UNHEALTHY, unhealthyDevices } from './unhealthy-devices.ts';

export interface HealthFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** Of its chart. */
  readonly state: string;
  /** Since when it is in that state, in Unix milliseconds. */
  readonly sinceMs?: number | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  /** Its source does not have it any more, or it has been deleted. */
  readonly isUnwanted: boolean;
  readonly nowMs: number;
}

/** While it starts, something has to move that often: an image, an init container, the room of another pod. */
export const START_LIMIT_MS = 5 * 60_000;
/** So long containers that run may take to be ready, beside the time that their probes need. */
export const READY_LIMIT_MS = 60_000;
/** So long after its last restart a pod is worth a look. */
export const RESTART_LIMIT_MS = 10 * 60_000;
/** So much longer than its grace period the end of a pod may take. */
export const END_LIMIT_MS = 10_000;

/** Reasons of containers that wait for their turn, and for nothing that has failed. */
const IN_TURN: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing']);

export function podHealth(facts: HealthFacts): PodHealth {
  const { state, status, sinceMs, isUnwanted } = facts;
  const since = sinceMs !== undefined && { sinceMs };
  if (state.endsWith('.BackingOff') && state.startsWith('Terminat')) return { kind: 'attention', ...since };
  if (state.startsWith('Terminated')) return endedHealth(facts);
  if (isEndingState(state)) return endingHealth(facts);
  if (isTerminalPhase(status?.phase) && !isUnwanted) return endedHealth(facts);
  return livingHealth(facts);
}

function endedHealth({ state, status, sinceMs, isUnwanted }: HealthFacts): PodHealth {
  const since = sinceMs !== undefined && { sinceMs };
  if (isUnwanted && state !== 'Terminated.Finished') return { kind: 'ending', ...since };
  return { kind: status?.phase === 'Failed' && !isUnwanted ? 'failed' : 'done', ...since };
}

function endingHealth({ sinceMs, gracePeriodSeconds, nowMs }: HealthFacts): PodHealth {
  if (sinceMs === undefined || gracePeriodSeconds === undefined) return { kind: 'ending' };
  const untilMs = sinceMs + gracePeriodSeconds * 1000 + END_LIMIT_MS;
  if (nowMs < untilMs) return { kind: 'ending', sinceMs, untilMs };
  return { kind: 'attention', sinceMs, because: 'is still ending after its grace period' };
}

function livingHealth(facts: HealthFacts): PodHealth {
  const { pod, status, state, sinceMs, nowMs } = facts;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const unreadyMs = notReadySince(status) ?? sinceMs;
  const unready = unreadyMs !== undefined && { sinceMs: unreadyMs };
  if (state === 'Syncing.BackingOff' || all.some((one) => hasFailed(pod, one)))
    return { kind: 'attention', ...unready };
  const shown = { ...pod, ...(status && { status }) };
  const { lastRestart } = podSummary(shown);
  const restartMs = lastRestart === undefined ? undefined : Date.parse(lastRestart);
  if (restartMs !== undefined && nowMs < restartMs + RESTART_LIMIT_MS) {
    const untilMs = restartMs + RESTART_LIMIT_MS;
    return { kind: 'attention', sinceMs: restartMs, because: 'was restarted lately', untilMs };
  }
  const serving = countedStatuses(shown).filter((one) => one.state?.terminated == null || !isOver(pod, one));
  if (serving.length > 0 && serving.every((one) => one.state?.running != null)) {
    if (isReady(pod, status, serving) && unhealthyDevices(status).length > 0)
      return { kind: 'attention', because: UNHEALTHY };
    if (isReady(pod, status, serving)) return okHealth(status, sinceMs);
    return becoming(unreadyMs, READY_LIMIT_MS + probesNeedMs(pod), 'is not ready', facts);
  }
  const isInit = all.some(({ name, state: at }) => at?.running != null && !isOf(pod.spec.containers, name));
  const because = isInit ? 'is stuck in init' : 'does not start';
  return becoming(movedMs(all, status) ?? sinceMs, START_LIMIT_MS, because, facts);
}

function okHealth(status: PodStatus | undefined, sinceMs: number | undefined): PodHealth {
  const readyMs = timeMs(readyCondition(status)?.lastTransitionTime) ?? sinceMs;
  return { kind: 'ok', sinceMs: readyMs };
}

/** `limitMs`: for so long that is usual. */
function becoming(
  sinceMs: number | undefined,
  limitMs: number,
  because: string,
  { nowMs }: HealthFacts,
): PodHealth {
  if (sinceMs === undefined) return { kind: 'starting' };
  const untilMs = sinceMs + limitMs;
  return nowMs < untilMs ? { kind: 'starting', sinceMs, untilMs } : { kind: 'attention', sinceMs, because };
}

/** It waits because something has failed, or has ended with an error and does not run again. */
function hasFailed(pod: Pod, status: ContainerStatus): boolean {
  const { waiting, terminated } = status.state ?? {};
  if (waiting != null) return !IN_TURN.has(waiting.reason ?? '');
  return terminated != null && terminated.exitCode !== 0;
}

function isReady(pod: Pod, status: PodStatus | undefined, serving: readonly ContainerStatus[]): boolean {
  if (readyCondition(status)?.status === 'True') return true;
  // One whose container has done its work is never Ready by its condition, though nothing is wrong.
  const hasGates = (pod.spec.readinessGates ?? []).length > 0;
  return !hasGates && serving.every(({ ready }) => ready);
}

/** The longest that a container's probes may take until its first success. */
function probesNeedMs({ spec: { initContainers = [], containers } }: Pod): number {
  return 1000 * Math.max(0, ...[...initContainers, ...containers].map(probesNeedSeconds));
}

function probesNeedSeconds({ startupProbe, readinessProbe }: Container): number {
  const { initialDelaySeconds: delay = 0, periodSeconds = 10, failureThreshold = 3 } = startupProbe ?? {};
  const startup = startupProbe === undefined ? 0 : delay + periodSeconds * failureThreshold;
  return startup + (readinessProbe?.initialDelaySeconds ?? 0);
}

function readyCondition(status: PodStatus | undefined) {
  return status?.conditions?.find(({ type }) => type === 'Ready');
}

function notReadySince(status: PodStatus | undefined): number | undefined {
  const ready = readyCondition(status);
  return ready?.status === 'True' ? undefined : timeMs(ready?.lastTransitionTime);
}

/** When something began or ended last. */
function movedMs(all: readonly ContainerStatus[], status: PodStatus | undefined): number | undefined {
  const times = all.flatMap(({ state }) => [state?.running?.startedAt, state?.terminated?.finishedAt]);
  const known = [status?.startTime, ...times].map(timeMs).filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function timeMs(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

const isOf = (list: readonly { readonly name: string }[], name: string): boolean =>
  list.some((one) => one.name === name);
