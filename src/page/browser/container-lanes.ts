/** The lives of a pod's containers, and their lanes: runs, and the waits before, between and after them. */
import type { ContainerStatus } from '../../types/kubernetes.ts';
import type { HealthKind, PodView } from '../../types/page-views.ts';
import { type Lane, type Span, timeOf } from './lanes.ts';

/** One life of a container. */
export interface Run {
  readonly container: string;
  readonly startMs: number;
  /** Undefined: it runs. */
  readonly endMs?: number;
  readonly exitCode?: number;
  readonly reason?: string;
}

/** Adds the runs in the status to the known ones. A later status has the end of a run. */
export function withRuns(known: readonly Run[], { status }: PodView): readonly Run[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const all = new Map(
    [...known, ...statuses.flatMap(runsOf)].map((run) => [`${run.container} ${run.startMs}`, run]),
  );
  return [...all.values()].sort((a, b) => a.startMs - b.startMs);
}

function runsOf({ name: container, state, lastState }: ContainerStatus): readonly Run[] {
  const ended = [lastState?.terminated, state?.terminated].flatMap((terminated) => {
    const [startMs, endMs] = [timeOf(terminated?.startedAt), timeOf(terminated?.finishedAt)];
    if (terminated == null || startMs === undefined || endMs === undefined) return [];
    const { exitCode, reason } = terminated;
    return [{ container, startMs, endMs, exitCode, reason }];
  });
  const startMs = timeOf(state?.running?.startedAt);
  return startMs === undefined ? ended : [...ended, { container, startMs }];
}

export function containerLanes(
  pod: PodView | undefined,
  runs: readonly Run[],
  health: HealthKind | undefined,
): readonly Lane[] {
  const { initContainers = [], containers = [] } = pod?.pod.spec ?? {};
  const names = new Set([
    ...[...initContainers, ...containers].map(({ name }) => name),
    ...runs.map((run) => run.container),
  ]);
  return [...names].map((name) => {
    const own = runs.filter((run) => run.container === name);
    const status = statusOf(pod, name);
    // A container that is not ready has the health of the pod, which also says whether that needs attention.
    const unready = health === 'attention' ? 'attention' : 'starting';
    const startMs = timeOf(pod?.status?.startTime);
    return {
      name: `container ${name}`,
      spans: containerSpans(own, status, startMs, status?.ready === false ? unready : 'ok'),
      marks: [],
    };
  });
}

/** Runs, and the waits before, between and after them. */
function containerSpans(
  runs: readonly Run[],
  status: ContainerStatus | undefined,
  podStartMs: number | undefined,
  running: Span['kind'],
): readonly Span[] {
  const waiting = status?.state?.waiting;
  const waits = (fromMs: number | undefined, toMs: number | undefined, text: string): readonly Span[] =>
    fromMs === undefined || (toMs !== undefined && toMs <= fromMs)
      ? []
      : [{ fromMs, toMs, kind: 'wait', text }];
  // The first runs of a container that was restarted often may not be known.
  const isWhole = runs.length > (status?.restartCount ?? 0);
  const spans = runs.flatMap((run, index) => {
    const before = index === 0 ? (isWhole ? podStartMs : undefined) : runs[index - 1]?.endMs;
    return [...waits(before, run.startMs, 'waits'), runSpan(run, running)];
  });
  const last = runs.at(-1);
  if (waiting == null) {
    if (last?.endMs === undefined) return spans;
    const text = `ended with exit code ${last.exitCode}`;
    return [...spans, { fromMs: last.endMs, toMs: undefined, kind: ended(last), text }];
  }
  return [
    ...spans,
    ...waits(last === undefined ? podStartMs : last.endMs, undefined, `waits: ${waiting.reason ?? ''}`),
  ];
}

function runSpan(run: Run, running: Span['kind']): Span {
  const { startMs, endMs, exitCode, reason } = run;
  if (endMs === undefined) {
    const text = running === 'ok' ? 'runs' : 'runs, not ready';
    return { fromMs: startMs, toMs: undefined, kind: running, text };
  }
  // A run of less than a second must be visible too.
  return {
    fromMs: startMs,
    toMs: Math.max(endMs, startMs + 1),
    kind: ended(run),
    text: `ran, exit code ${exitCode} (${reason ?? 'Unknown'})`,
  };
}

function ended({ exitCode }: Run): Span['kind'] {
  return exitCode === 0 ? 'done' : 'failed';
}

export function statusOf(pod: PodView | undefined, container: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container);
}
