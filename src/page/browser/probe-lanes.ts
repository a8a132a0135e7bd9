/** The lanes of a pod's probes: their results, by transitions; of probes that have never succeeded, by the status. */
import type { PodView } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { type Run, statusOf } from './container-lanes.ts';
import { type Span, type Lane, timeOf } from './lanes.ts';

const GOOD: Readonly<Record<string, string>> = { readiness: 'ready', liveness: 'alive', startup: 'started' };

/** A lane for each probe whose result has changed, and for each that has never succeeded. */
export function probeLanes(
  ordered: readonly Transition[],
  pod: PodView | undefined,
  runs: readonly Run[],
): readonly Lane[] {
  const own = ordered.filter(
    ({ chart, actor }) => chart === 'probe' && (pod === undefined || actor.includes(pod.row.uid)),
  );
  const changed = [...Map.groupBy(own, ({ actor }) => actor)].map(([actor, transitions]) => {
    const [, container = '', kind = ''] = actor.split(' ');
    const isReady = kind === 'readiness' ? statusOf(pod, container)?.ready : undefined;
    return [`${kind} ${container}`, probeSpans(transitions, kind, isReady)] as const;
  });
  const lanes = new Map<string, readonly Span[]>(changed);
  for (const [name, spans] of pod === undefined ? [] : unsuccessful(pod, runs)) {
    const known = lanes.get(name) ?? [];
    const isCovered = known.some(
      ({ toMs, fromMs }) => toMs === undefined || fromMs >= (spans[0]?.fromMs ?? 0),
    );
    if (!isCovered) lanes.set(name, [...known, ...spans]);
  }
  return [...lanes].map(([name, spans]) => ({ name, spans, marks: [] }));
}

/**
 * Probes of containers that run now and have not succeeded yet: their failures change no result, so there are no transitions of
 * them.
 */
function unsuccessful(pod: PodView, runs: readonly Run[]): readonly (readonly [string, readonly Span[]])[] {
  const { initContainers = [], containers } = pod.pod.spec;
  return [...initContainers, ...containers].flatMap(({ name, readinessProbe, startupProbe }) => {
    const status = statusOf(pod, name);
    const run = runs.findLast(({ container, endMs }) => container === name && endMs === undefined);
    if (run === undefined || status === undefined) return [];
    const isStarting = startupProbe != null && status.started === false;
    const isUnready = readinessProbe != null && !status.ready && !isStarting;
    return [
      ...(isStarting ? [[`startup ${name}`, failing(pod, run, 'startup')] as const] : []),
      ...(isUnready ? [[`readiness ${name}`, failing(pod, run, 'readiness')] as const] : []),
    ];
  });
}

/** Red from its first failure on, which is an event. */
function failing({ events }: PodView, { container, startMs }: Run, kind: string): readonly Span[] {
  const said = GOOD[kind] ?? '';
  const first = events.find(
    ({ reason, message = '', involvedObject: { fieldPath = '' } }) =>
      reason === 'Unhealthy' &&
      fieldPath.endsWith(`{${container}}`) &&
      message.toLowerCase().startsWith(kind),
  );
  const firstMs = timeOf(first?.firstTimestamp);
  const failedMs = firstMs === undefined ? undefined : Math.max(firstMs, startMs);
  const before: Span = { fromMs: startMs, toMs: failedMs, kind: 'starting', text: `not ${said} yet` };
  if (failedMs === undefined) return [before];
  const since: Span = { fromMs: failedMs, toMs: undefined, kind: 'failed', text: `not ${said}` };
  return failedMs === startMs ? [since] : [before, since];
}

interface Result {
  readonly fromMs: number;
  readonly toMs?: number;
  readonly isGood: boolean;
}

/** A result holds until the next one, or until its container is not probed any more. `isGoodNow`: as the status says. */
function probeSpans(
  ordered: readonly Transition[],
  kind: string,
  isGoodNow: boolean | undefined,
): readonly Span[] {
  let results: Result[] = [];
  /** Whether the first result of the container is among them. */
  let isWhole = false;
  for (const transition of ordered) {
    const { atMs, event, guard, data } = transition;
    const last = results.at(-1);
    const open = last?.toMs === undefined ? last : undefined;
    if (open !== undefined) results[results.length - 1] = { ...open, toMs: atMs };
    if (event === 'PROBED' && (guard === 'changesResult' || guard === 'settlesResult')) {
      const isBefore = open?.isGood ?? kind === 'liveness';
      const isGood = data?.outcome === undefined ? !isBefore : data.outcome === 'Success';
      results.push({ fromMs: atMs, isGood });
    } else if (isNoLongerProbed(transition)) isWhole = true;
    else if (open !== undefined) results[results.length - 1] = open;
  }
  const last = results.at(-1);
  const isTurned =
    last !== undefined && last.toMs === undefined && isGoodNow !== undefined && isGoodNow !== last.isGood;
  // The result before the first transition is not known. The last result is that of the status, and results alternate before it.
  if (isTurned && !isWhole) results = results.map((result) => ({ ...result, isGood: !result.isGood }));
  const said = GOOD[kind] ?? 'successful';
  return results.map(({ fromMs, toMs, isGood }) => ({
    fromMs,
    toMs,
    kind: isGood ? 'ok' : 'failed',
    text: isGood ? said : `not ${said}`,
  }));
}

/** The container has ended, or another instance of it has begun. */
function isNoLongerProbed({ event, from, to }: Transition): boolean {
  if (event === 'PROBED') return false;
  return to === 'Idle' || to === 'Stopped' || to === 'Draining' || (event === 'STATUS' && to === from);
}
