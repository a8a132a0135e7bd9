/** Ordinary pods, and the objects that they refer to, of several files, folders and URLs, as one source. */
import { combineLatest, map, type Observable, scan, startWith } from 'rxjs';
import { podFullName } from '../policies/pod/pod-kinds.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { firstCome, nameIsTaken } from './first-come.ts';
import type { SourceProblem, SourceUpdate } from './source.ts';

const UNSEEN: SourceUpdate = { problems: [] };

/** One `--pods`. */
export interface LocalPart {
  /** Path or URL, as problems name it. */
  readonly place: string;
  readonly updates: Observable<SourceUpdate>;
}

interface Merged {
  readonly update: SourceUpdate;
  /** The place of the part that holds a full name. */
  readonly holders: ReadonlyMap<string, string>;
}

const NOTHING: Merged = { update: UNSEEN, holders: new Map() };

/**
 * The pods of each part are there as soon as that part has been read; the source counts as seen when all have been. Of two pods with
 * one full name, the one whose part had it first stays. Never fails, never completes.
 */
export function localSource(parts: readonly LocalPart[]): Observable<SourceUpdate> {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return only.updates;
  const places = parts.map(({ place }) => place);
  return combineLatest(parts.map(({ updates }) => updates.pipe(startWith(UNSEEN)))).pipe(
    scan((before: Merged, updates) => merged(before, updates, places), NOTHING),
    map(({ update }) => update),
  );
}

function merged(
  { holders: before }: Merged,
  parts: readonly SourceUpdate[],
  places: readonly string[],
): Merged {
  const claims = parts.flatMap(({ pods = [] }, part) =>
    pods.map((value) => ({ holder: places[part] ?? '', value })),
  );
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
      ...refused.map(({ value, holder, of }) => sameNameProblem(value, holder, of)),
    ],
  };
  return { update, holders };
}

function sameNameProblem({ metadata: { name, namespace } }: Pod, file: string, other: string): SourceProblem {
  return { source: 'local', ...nameIsTaken({ kind: 'pod', namespace, name, file }, other) };
}
