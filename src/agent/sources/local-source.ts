/** Ordinary pods, and the objects that they refer to, of several files, folders and URLs, as one source. */
import { combineLatest, map, type Observable, scan, startWith } from 'rxjs';
import { podFullName, podText } from '../policies/pod/pod-kinds.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { firstCome } from './first-come.ts';
import type { SourceProblem, SourceUpdate } from './source.ts';

const UNSEEN: SourceUpdate = { problems: [] };

interface Merged {
  readonly update: SourceUpdate;
  /** Which part holds a full name. */
  readonly holders: ReadonlyMap<string, number>;
}

const NOTHING: Merged = { update: UNSEEN, holders: new Map() };

/**
 * The pods of each part are there as soon as that part has been read; the source counts as seen when all have been. Of two pods with
 * one full name, the one whose part had it first stays. Never fails, never completes.
 */
export function localSource(parts: readonly Observable<SourceUpdate>[]): Observable<SourceUpdate> {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return only;
  return combineLatest(parts.map((part) => part.pipe(startWith(UNSEEN)))).pipe(
    scan(merged, NOTHING),
    map(({ update }) => update),
  );
}

function merged({ holders: before }: Merged, parts: readonly SourceUpdate[]): Merged {
  const claims = parts.flatMap(({ pods = [] }, holder) => pods.map((value) => ({ holder, value })));
  const {
    kept: pods,
    refused,
    holders,
  } = firstCome(claims, (pod) => [podFullName(pod)], before, { mayRepeat: true });
  const isSeen = parts.every((part) => part.pods !== undefined && part.restored === undefined);
  const objects = parts.flatMap((part) => part.objects ?? []);
  const update = {
    ...((isSeen || pods.length > 0) && { pods }),
    ...(!isSeen && pods.length > 0 && { restored: true as const }),
    ...(objects.length > 0 && { objects }),
    problems: [
      ...parts.flatMap((part) => part.problems),
      ...refused.map(({ value }) => sameNameProblem(value)),
    ],
  };
  return { update, holders };
}

function sameNameProblem(pod: Pod): SourceProblem {
  const message = `pod ${podText(pod)} has the name of a pod of another --pods: it is left out`;
  return { source: 'local', field: 'metadata.name', message, leavesOut: true };
}
