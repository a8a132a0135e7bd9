/** Ordinary pods, and the objects that they refer to, of several files, folders and URLs, as one source. */
import { combineLatest, map, type Observable, scan, startWith } from 'rxjs';
import { podFullName, podText } from '../policies/pod/pod-kinds.ts';
import type { Pod } from '../../types/kubernetes.ts';
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

function merged({ holders }: Merged, parts: readonly SourceUpdate[]): Merged {
  const { held, pods, problems } = withoutConflicts(parts, holders);
  const isSeen = parts.every((part) => part.pods !== undefined && part.restored === undefined);
  const objects = parts.flatMap((part) => part.objects ?? []);
  const update = {
    ...((isSeen || pods.length > 0) && { pods }),
    ...(!isSeen && pods.length > 0 && { restored: true as const }),
    ...(objects.length > 0 && { objects }),
    problems: [...parts.flatMap((part) => part.problems), ...problems],
  };
  return { update, holders: held };
}

function withoutConflicts(parts: readonly SourceUpdate[], before: ReadonlyMap<string, number>) {
  const claims = parts.flatMap(({ pods = [] }, part) => pods.map((pod) => ({ part, pod })));
  const heldBefore = ({ part, pod }: { readonly part: number; readonly pod: Pod }) =>
    before.get(podFullName(pod)) === part;
  const held = new Map<string, number>();
  const problems: SourceProblem[] = [];
  const pods: Pod[] = [];
  for (const claim of [...claims.filter(heldBefore), ...claims.filter((claim) => !heldBefore(claim))]) {
    const name = podFullName(claim.pod);
    // A part tells by itself of pods of its own that have one name.
    if ((held.get(name) ?? claim.part) === claim.part) {
      held.set(name, claim.part);
      pods.push(claim.pod);
    } else {
      problems.push({
        source: 'local',
        field: 'metadata.name',
        message: `pod ${podText(claim.pod)} has the name of a pod of another --pods: it is left out`,
      });
    }
  }
  return { held, pods, problems };
}
