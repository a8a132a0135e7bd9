/** The row of a pod in a table: READY, STATUS and RESTARTS as `kubectl get pods` shows them. */
import type { ContainerStatus, Pod, PodStatus } from '../../../types/kubernetes.ts';
import { unlessEmpty } from '../formats/json-values.ts';
import { named } from '../formats/lookups.ts';
import { isRestartableInitContainer } from '../pod-actions/restart.ts';

export interface PodSummary {
  readonly ready: number;
  readonly total: number;
  readonly status: string;
  readonly restarts: number;
  /** When the instance before the last restart ended, RFC 3339; undefined without a restart. */
  readonly lastRestart?: string;
}

/** The reason that the API server sets on pods of a node that does not report any more. */
const NODE_LOST = 'NodeLost';

/** `isEnding`: the pod is being terminated. Its object need not say so: that of a static pod never does. */
export function podSummary(pod: Pod, isEnding = false): PodSummary {
  const init = initSummary(pod);
  const main = mainSummary(pod.status);
  const started = init.reason === undefined || isTrue(pod.status, 'Initialized');
  const counted = started
    ? [...init.seen.filter(({ name }) => isSidecar(pod, name)), ...(pod.status?.containerStatuses ?? [])]
    : init.seen;
  const restarts = counted.reduce((sum, { restartCount }) => sum + restartCount, 0);
  // A new instance is not always counted as a restart.
  const ends = restarts === 0 ? [] : counted.map(({ lastState }) => lastState?.terminated?.finishedAt);
  const lastRestart = latest(ends);
  return {
    ready: init.ready + (started ? main.ready : 0),
    total:
      pod.spec.containers.length + (pod.spec.initContainers ?? []).filter(isRestartableInitContainer).length,
    status: statusOf(
      pod,
      isEnding,
      (started ? main.reason : undefined) ?? init.reason ?? plainReason(pod.status),
    ),
    restarts,
    lastRestart,
  };
}

/**
 * With what the pod's chart says beside its object. `state`: of the chart. Of a pod that has ended, STATUS is why it was ended: `Evicted`,
 * `Deleted`, …; kubectl shows how its containers ended instead.
 */
export function podSummaryIn(pod: Pod, state: string | undefined): PodSummary {
  const summary = podSummary(pod, isEndingState(state));
  const reason = state === 'Terminated.Finished' ? unlessEmpty(pod.status?.reason) : undefined;
  return reason === undefined ? summary : { ...summary, status: reason };
}

/** The end of the pod was requested, and its containers have not ended yet. */
export function isEndingState(state: string | undefined): boolean {
  return state === 'Syncing.Draining' || state?.startsWith('Terminating.') === true;
}

/** Of the containers that READY counts: those of the pod, and its sidecars before them. */
export function countedStatuses(pod: Pod): readonly ContainerStatus[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses.filter(({ name }) => isSidecar(pod, name)), ...containerStatuses];
}

/** The STATUS of a pod whose containers give `reason`: another one if the pod is ending. */
function statusOf(pod: Pod, isEnding: boolean, reason: string): string {
  const isDeleted = pod.metadata.deletionTimestamp != null;
  if (!isDeleted && !isEnding) return reason;
  if (isDeleted && pod.status?.reason === NODE_LOST) return 'Unknown';
  const phase = pod.status?.phase;
  return phase === 'Succeeded' || phase === 'Failed' ? reason : 'Terminating';
}

function plainReason(status: PodStatus | undefined): string {
  const gated = status?.conditions?.some((c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated');
  if (gated === true) return 'SchedulingGated';
  return unlessEmpty(status?.reason) ?? unlessEmpty(status?.phase) ?? 'Unknown';
}

interface ContainersSummary {
  readonly ready: number;
  /** undefined where these containers do not determine the STATUS. */
  readonly reason?: string;
}

/** `seen`: the init containers up to the first that has neither succeeded nor, as a sidecar, started. */
function initSummary(pod: Pod): ContainersSummary & { readonly seen: readonly ContainerStatus[] } {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const done = ({ state }: ContainerStatus): boolean => state?.terminated?.exitCode === 0;
  const serves = ({ name, started }: ContainerStatus): boolean => isSidecar(pod, name) && started === true;
  const first = statuses.findIndex((status) => !done(status) && !serves(status));
  const passed = first === -1 ? statuses : statuses.slice(0, first);
  const ready = passed.filter((status) => !done(status) && status.ready).length;
  const open = statuses[first];
  if (open === undefined) return { ready, seen: passed };
  const reason = `Init:${openReason(open, first, pod.spec.initContainers?.length ?? 0)}`;
  return { ready, seen: [...passed, open], reason };
}

function openReason({ state }: ContainerStatus, index: number, total: number): string {
  const waiting = unlessEmpty(state?.waiting?.reason);
  if (state?.terminated !== undefined) return endReason(state.terminated);
  return waiting !== undefined && waiting !== 'PodInitializing' ? waiting : `${index}/${total}`;
}

/** The reason is that of the first container in the pod's order that waits or has ended. */
function mainSummary(status: PodStatus | undefined): ContainersSummary {
  const statuses = status?.containerStatuses ?? [];
  const ready = statuses.filter(runsReady).length;
  const reason = statuses.map(containerReason).find((text) => text !== undefined);
  if (reason === undefined) return { ready };
  if (reason !== 'Completed' || ready === 0) return { ready, reason };
  return { ready, reason: isTrue(status, 'Ready') ? 'Running' : 'NotReady' };
}

function runsReady(container: ContainerStatus): boolean {
  return (
    container.ready && containerReason(container) === undefined && container.state?.running !== undefined
  );
}

function containerReason({ state }: ContainerStatus): string | undefined {
  const waiting = unlessEmpty(state?.waiting?.reason);
  if (waiting !== undefined) return waiting;
  return state?.terminated === undefined ? undefined : endReason(state.terminated);
}

function endReason(end: NonNullable<NonNullable<ContainerStatus['state']>['terminated']>): string {
  if (end.reason !== undefined && end.reason !== '') return end.reason;
  return end.signal === undefined || end.signal === 0 ? `ExitCode:${end.exitCode}` : `Signal:${end.signal}`;
}

function isSidecar(pod: Pod, name: string): boolean {
  const container = named(pod.spec.initContainers ?? [], name);
  return container !== undefined && isRestartableInitContainer(container);
}

function isTrue(status: PodStatus | undefined, type: string): boolean {
  return status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false;
}

/** Times of RFC 3339 in UTC, in whole seconds, can be compared as texts. */
function latest(times: readonly (string | undefined)[]): string | undefined {
  return times.reduce(
    (best, time) => (time !== undefined && (best === undefined || time > best) ? time : best),
    undefined,
  );
}
