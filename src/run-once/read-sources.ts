/** Reads every source of pods once. */
import { lastValueFrom, of, take, timeout, toArray } from 'rxjs';
import { podConfig, type PodSources } from '../sources/pod-config.ts';
import type { SourceProblem } from '../sources/source.ts';
import { shortDuration } from '../policies/formats/duration.ts';
import type { PodSource } from '../policies/pod-actions/wanted-pods.ts';
import type { Pod } from '../types/kubernetes.ts';

export interface FirstPods {
  /** In the order of the sources. */
  readonly pods: readonly Pod[];
  readonly problems: readonly SourceProblem[];
}

/** For a source that does not answer within its time there is a problem and no pods. */
export async function readSources(
  sources: PodSources,
  now: () => number,
  waitMs: (source: PodSource) => number,
): Promise<FirstPods> {
  const problems: SourceProblem[] = [];
  const onProblem = (problem: SourceProblem) => problems.push(problem);
  const config = podConfig(readOnce(sources, waitMs), { now, onProblem });
  const events = await lastValueFrom(config.pipe(toArray()));
  // Pods are admitted in this order: it must not depend on which source was read first.
  const inOrder = Object.keys(sources).flatMap((name) => events.filter(({ source }) => source === name));
  return { pods: inOrder.flatMap((event) => ('pods' in event ? event.pods : [])), problems };
}

function readOnce(sources: PodSources, waitMs: (source: PodSource) => number): PodSources {
  const once = Object.entries(sources).map(([name, updates]) => {
    const source = name as PodSource;
    const first = waitMs(source);
    const late: SourceProblem = { source, message: `did not answer within ${shortDuration(first)}` };
    return [source, updates.pipe(take(1), timeout({ first, with: () => of({ problems: [late] }) }))];
  });
  return Object.fromEntries(once) as PodSources;
}
