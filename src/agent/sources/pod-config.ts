/** Merges the sources into the CONFIG channel: turns each new list of a source into additions, updates and removals of pods. */
import {
  concatMap,
  defer,
  from,
  map,
  merge,
  type MonoTypeOperatorFunction,
  type Observable,
  of,
  timer,
} from 'rxjs';
import { rfc3339Nano } from '../policies/formats/time.ts';
import { duplicateMessage, type PodSource, type PodUpdate } from '../policies/pod-actions/wanted-pods.ts';
import { byAge, podText } from '../policies/pod/pod-kinds.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { problemText, type SourceProblem, type SourceUpdate } from './source.ts';
import { SourcePods } from './source-pods.ts';

/** The first list of a source has been passed on. Until all sources are seen, no unknown pod is removed. */
export interface SourceSeen {
  readonly type: 'SOURCE_SEEN';
  readonly source: PodSource;
}

export type PodConfigEvent = PodUpdate | SourceSeen;

/** The supervisor's event for it. */
export function channelEvent(event: PodConfigEvent) {
  if ('type' in event) return { type: event.type, source: event.source };
  return { type: `CONFIG.${event.op}` as const, source: event.source, pods: event.pods };
}

export type PodSources = Readonly<Partial<Record<PodSource, Observable<SourceUpdate>>>>;

export interface PodConfigOptions {
  /** Unix milliseconds; noted on a pod when it is first seen. */
  readonly now: () => number;
  /** Called once for each problem, and again when it comes back. */
  readonly onProblem: (problem: SourceProblem) => void;
  /** Called with each state of a source: the problems at which a reader would wait for ever. */
  readonly onBlocked?: (source: PodSource, problems: readonly SourceProblem[]) => void;
  /** Gets an event about each pod that is left out because another pod of its source has its name. */
  readonly recorder?: EventRecorder;
}

/** The sources are independent: a list of one says nothing about the pods of another. Never fails. */
export function podConfig(sources: PodSources, options: PodConfigOptions): Observable<PodConfigEvent> {
  return defer(() => {
    const entries = Object.entries(sources) as [PodSource, Observable<SourceUpdate>][];
    return merge(
      ...entries.map(([source, updates]) => {
        const eventsOf = sourceFollower(source, options);
        return updates.pipe(concatMap(eventsOf));
      }),
    );
  });
}

function sourceFollower(
  source: PodSource,
  { now, onProblem, onBlocked, recorder }: PodConfigOptions,
): (update: SourceUpdate) => PodConfigEvent[] {
  const ofSource = new SourcePods(source);
  let isSeen = false;
  let reported = new Set<string>();
  const report = (problems: readonly SourceProblem[]) => {
    const keyed = new Map(problems.map((problem) => [problemText(problem), problem]));
    for (const [key, problem] of keyed) if (!reported.has(key)) onProblem(problem);
    reported = new Set(keyed.keys());
    onBlocked?.(
      source,
      problems.filter(({ blocks }) => blocks),
    );
  };
  return ({ pods, restored, problems }) => {
    if (!pods) {
      report(problems);
      return [];
    }
    const next = ofSource.take(pods, rfc3339Nano(now()));
    const problemOf = (message: string) => ({ source, field: 'metadata', message });
    const duplicates = next.duplicates.map((pod) => ({
      pod,
      problem: problemOf(duplicateMessage(pod, source)),
    }));
    for (const { pod, problem } of duplicates) {
      if (reported.has(problemText(problem))) continue;
      recorder?.event(pod.metadata, 'Warning', 'FailedValidation', problem.message);
    }
    report([
      ...problems,
      ...duplicates.map(({ problem }) => problem),
      ...next.repeated.map((pod) => problemOf(sameUidMessage(pod))),
    ]);
    if (restored || isSeen) return [...next.updates];
    isSeen = true;
    return [...next.updates, { type: 'SOURCE_SEEN', source }];
  };
}

function sameUidMessage(pod: Pod): string {
  return `pod ${podText(pod)} has the UID of another pod: it is left out`;
}

/** The pods of a batch. To start this many takes some 10 ms. */
export const PODS_A_BATCH = 25;

/** Passes a long list of pods on in batches, one in each turn of the event loop. A list of one batch is passed on at once. */
export function inBatches(): MonoTypeOperatorFunction<PodConfigEvent> {
  return concatMap((event) =>
    from(batchesOf(event)).pipe(
      concatMap((batch, index) => (index === 0 ? of(batch) : timer(0).pipe(map(() => batch)))),
    ),
  );
}

function batchesOf(event: PodConfigEvent): readonly PodConfigEvent[] {
  if ('type' in event || event.pods.length <= PODS_A_BATCH) return [event];
  // The supervisor starts the oldest pods of each list first.
  const pods = event.pods.toSorted(byAge);
  const count = Math.ceil(pods.length / PODS_A_BATCH);
  return Array.from({ length: count }, (_, index) => ({
    ...event,
    pods: pods.slice(index * PODS_A_BATCH, (index + 1) * PODS_A_BATCH),
  }));
}
