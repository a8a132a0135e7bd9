/** How a pod that is run once is doing: well, badly for good, or not to be told yet. */
import { containerShouldRestart, isRestartableInitContainer } from '../policies/sync/restart.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../types/kubernetes.ts';
import type { RuntimePodStatus } from '../types/runtime-pod.ts';

export interface FailedContainer {
  readonly name: string;
  readonly why: string;
}

export type PodVerdict =
  /** All its containers run, or have done what they were there for; the youngest runs since then, Unix ms. */
  | { readonly kind: 'running'; readonly sinceMs: number }
  | { readonly kind: 'completed' }
  /** No restart will mend it. */
  | { readonly kind: 'failed' }
  | { readonly kind: 'pending' };

/** `seen` is what the runtime held when `status` was put together. */
export function podVerdict(
  pod: Pod,
  status: PodStatus | undefined,
  seen: RuntimePodStatus | undefined,
): PodVerdict {
  if (status?.phase === 'Succeeded') return { kind: 'completed' };
  if (status?.phase === 'Failed') return { kind: 'failed' };
  const { initContainers = [], containers } = pod.spec;
  const progress = containers.map((container) => progressOf(pod, container, status?.containerStatuses));
  if (progress.includes('lost')) return { kind: 'failed' };
  const sidecars = initContainers
    .filter(isRestartableInitContainer)
    .map((container) => progressOf(pod, container, status?.initContainerStatuses));
  // Where nothing but sidecars runs any more the pod is about to succeed.
  const allAreWell = progress.includes('running') && !progress.includes('open');
  if (!allAreWell || sidecars.some((sidecar) => sidecar !== 'running')) return { kind: 'pending' };
  return { kind: 'running', sinceMs: youngestStart(seen) };
}

/** Those that ended with another code than 0, and those that cannot be started or wait to be started again. */
export function failedContainers(status: PodStatus | undefined): readonly FailedContainer[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses].flatMap((container) => {
    const why = failureOf(container);
    return why === undefined ? [] : [{ name: container.name, why }];
  });
}

type Progress = 'running' | 'done' | 'lost' | 'open';

function progressOf(
  pod: Pod,
  container: Container,
  statuses: readonly ContainerStatus[] | undefined,
): Progress {
  const { running, terminated } = statuses?.find(({ name }) => name === container.name)?.state ?? {};
  if (running) return 'running';
  if (!terminated || containerShouldRestart(pod, container, terminated.exitCode)) return 'open';
  return terminated.exitCode === 0 ? 'done' : 'lost';
}

function youngestStart(seen: RuntimePodStatus | undefined): number {
  const running = seen?.containers.filter(({ state }) => state === 'running') ?? [];
  return Math.max(0, ...running.map(({ startedAt }) => startedAt));
}

/** Reasons of containers that have not had their turn. */
const NOT_BEGUN: ReadonlySet<string | undefined> = new Set([
  undefined,
  '',
  'ContainerCreating',
  'PodInitializing',
]);

function failureOf({ state, lastState }: ContainerStatus): string | undefined {
  const { terminated, waiting } = state ?? {};
  if (terminated) return terminated.exitCode === 0 ? undefined : endText(terminated);
  if (waiting === undefined || NOT_BEGUN.has(waiting.reason)) return undefined;
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
