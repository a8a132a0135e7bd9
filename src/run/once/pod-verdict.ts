/** Whether the containers of a pod run, have completed or have failed for good, from its status. */
import {
  containerShouldRestart,
  isRestartableInitContainer,
} from '../../agent/policies/pod-actions/restart.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

export interface FailedContainer {
  readonly name: string;
  readonly why: string;
}

export type PodVerdict =
  /** Each container runs or has completed, and at least one runs. `sinceMs`: the latest start of one that runs, Unix ms. */
  | { readonly kind: 'running'; readonly sinceMs: number }
  | { readonly kind: 'completed' }
  /** A container has failed and is not restarted. */
  | { readonly kind: 'failed' }
  | { readonly kind: 'pending' };

/** `seen` is what the runtime reported when `status` was computed. */
export function podVerdict(
  pod: Pod,
  status: PodStatus | undefined,
  seen: RuntimePodStatus | undefined,
): PodVerdict {
  if (status?.phase === 'Succeeded') return { kind: 'completed' };
  if (status?.phase === 'Failed') return { kind: 'failed' };
  const { initContainers = [], containers } = pod.spec;
  const progress = containers.map((container) => progressOf(pod, container, status?.containerStatuses));
  if (progress.includes('failed')) return { kind: 'failed' };
  const sidecars = initContainers
    .filter(isRestartableInitContainer)
    .map((container) => progressOf(pod, container, status?.initContainerStatuses));
  // Where only sidecars still run, the pod is about to succeed.
  const isRunning = progress.includes('running') && !progress.includes('pending');
  if (!isRunning || sidecars.some((sidecar) => sidecar !== 'running')) return { kind: 'pending' };
  return { kind: 'running', sinceMs: latestStart(seen) };
}

/** Containers that ended with another code than 0, that cannot be started, or that wait for a restart. */
export function failedContainers(status: PodStatus | undefined): readonly FailedContainer[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses].flatMap((container) => {
    const why = failureOf(container);
    return why === undefined ? [] : [{ name: container.name, why }];
  });
}

type Progress = 'running' | 'done' | 'failed' | 'pending';

function progressOf(
  pod: Pod,
  container: Container,
  statuses: readonly ContainerStatus[] | undefined,
): Progress {
  const { running, terminated } = statuses?.find(({ name }) => name === container.name)?.state ?? {};
  if (running) return 'running';
  if (!terminated || containerShouldRestart(pod, container, terminated.exitCode)) return 'pending';
  return terminated.exitCode === 0 ? 'done' : 'failed';
}

function latestStart(seen: RuntimePodStatus | undefined): number {
  const running = seen?.containers.filter(({ state }) => state === 'running') ?? [];
  return Math.max(0, ...running.map(({ startedAt }) => startedAt));
}

/** Waiting reasons of containers that have not been started yet: no failure. */
const NOT_STARTED: ReadonlySet<string | undefined> = new Set([
  undefined,
  '',
  'ContainerCreating',
  'PodInitializing',
]);

function failureOf({ state, lastState }: ContainerStatus): string | undefined {
  const { terminated, waiting } = state ?? {};
  if (terminated) return terminated.exitCode === 0 ? undefined : endText(terminated);
  if (waiting === undefined || NOT_STARTED.has(waiting.reason)) return undefined;
  const text = withMessage(waiting.reason ?? '', waiting.message);
  return lastState?.terminated ? `${endText(lastState.terminated)}; ${text}` : text;
}

function endText({
  exitCode,
  reason,
  message,
}: {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
}): string {
  return withMessage(`exit code ${exitCode}${reason ? ` (${reason})` : ''}`, message);
}

function withMessage(text: string, message: string | undefined): string {
  return message ? `${text}: ${message.trim()}` : text;
}

/** The outcome of a pod that was run once. */
export interface PodOutcome {
  /** `Deleted`: a person has deleted the pod on this node, and it is not started. */
  readonly result: 'Running' | 'Completed' | 'Deleted' | 'Rejected' | 'Failed' | 'Interrupted';
  readonly reason?: string;
  readonly message?: string;
  readonly failedContainers: readonly string[];
}

export interface PodResult extends PodOutcome {
  /** With its computed status, where there is one. */
  readonly pod: Pod;
  /** The runtime has a running sandbox or container of the pod. */
  readonly leftRunning: boolean;
}

export function isGood({ result }: PodOutcome): boolean {
  return result === 'Running' || result === 'Completed' || result === 'Deleted';
}
