/** Merges the sources into the CONFIG channel: what each new list of a source means for the pods of this node. */
import { concatMap, defer, merge, type Observable } from 'rxjs';
import { podUpdates, type KnownPods, type PodSource, type PodUpdate } from '../policies/sync/pod-updates.ts';
import type { Pod } from '../types/kubernetes.ts';
import { problemText, type SourceProblem, type SourceUpdate } from './source.ts';

/** The first list of a source has been passed on. Until all sources are seen no pod may be taken for unwanted. */
export interface SourceSeen {
  readonly type: 'SOURCE_SEEN';
  readonly source: PodSource;
  /** Whether that was the last one missing. */
  readonly allSourcesReady: boolean;
}

export type PodConfigEvent = PodUpdate | SourceSeen;

/** As the supervisor knows it: an operation of the CONFIG channel. */
export function channelEvent(event: PodConfigEvent) {
  if ('type' in event) return { type: event.type, source: event.source };
  return { type: `CONFIG.${event.op}` as const, source: event.source, pods: event.pods };
}

export type PodSources = Readonly<Partial<Record<PodSource, Observable<SourceUpdate>>>>;

export interface PodConfigOptions {
  /** Unix milliseconds: when a pod is first seen. */
  readonly now: () => number;
  /** Called once for each problem, and again if it comes back after it was gone. */
  readonly onProblem: (problem: SourceProblem) => void;
}

/** Sources are merged side by side: a list of one says nothing about the pods of another. Never fails. */
export function podConfig(sources: PodSources, options: PodConfigOptions): Observable<PodConfigEvent> {
  return defer(() => {
    const entries = Object.entries(sources) as [PodSource, Observable<SourceUpdate>][];
    const unseen = new Set(entries.map(([source]) => source));
    return merge(
      ...entries.map(([source, updates]) => {
        const eventsOf = sourceFollower(source, unseen, options);
        return updates.pipe(concatMap(eventsOf));
      }),
    );
  });
}

function sourceFollower(
  source: PodSource,
  unseen: Set<PodSource>,
  { now, onProblem }: PodConfigOptions,
): (update: SourceUpdate) => PodConfigEvent[] {
  let known: KnownPods = new Map();
  let reported = new Set<string>();
  const report = (problems: readonly SourceProblem[]) => {
    const keyed = new Map(problems.map((problem) => [problemText(problem), problem]));
    for (const [key, problem] of keyed) if (!reported.has(key)) onProblem(problem);
    reported = new Set(keyed.keys());
  };
  return ({ pods, restored, problems }) => {
    if (!pods) {
      report(problems);
      return [];
    }
    const next = podUpdates(known, source, pods, new Date(now()).toISOString());
    known = next.known;
    report([...problems, ...next.duplicates.map((pod) => duplicateProblem(source, pod))]);
    if (restored)
      return next.updates.map((update) => (update.op === 'ADD' ? { ...update, op: 'RESTORE' } : update));
    if (!unseen.delete(source)) return [...next.updates];
    return [...next.updates, { type: 'SOURCE_SEEN', source, allSourcesReady: unseen.size === 0 }];
  };
}

function duplicateProblem(source: PodSource, { metadata }: Pod): SourceProblem {
  const { name, namespace, uid } = metadata;
  return {
    source,
    field: 'metadata',
    message: `pod "${name}" in namespace "${namespace}" (${uid}) has the name or the UID of another pod: it is left out`,
  };
}
