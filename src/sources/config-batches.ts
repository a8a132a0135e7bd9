/** Hands a long list of pods on in parts, so that the agent goes on with everything else in between. */
import { concatMap, from, map, type MonoTypeOperatorFunction, of, timer } from 'rxjs';
import type { Pod } from '../types/kubernetes.ts';
import type { PodConfigEvent } from './pod-config.ts';

/** To begin with so many takes some 10 ms. */
export const PODS_AT_ONCE = 25;

/** A list that is no longer is passed on at once; the order stays. */
export function inBatches(): MonoTypeOperatorFunction<PodConfigEvent> {
  return concatMap((event) =>
    from(batchesOf(event)).pipe(
      concatMap((batch, index) => (index === 0 ? of(batch) : timer(0).pipe(map(() => batch)))),
    ),
  );
}

function batchesOf(event: PodConfigEvent): readonly PodConfigEvent[] {
  if ('type' in event || event.pods.length <= PODS_AT_ONCE) return [event];
  // The supervisor begins with the oldest of each list.
  const pods = event.pods.toSorted((a, b) => age(a).localeCompare(age(b)));
  const count = Math.ceil(pods.length / PODS_AT_ONCE);
  return Array.from({ length: count }, (_, index) => ({
    ...event,
    pods: pods.slice(index * PODS_AT_ONCE, (index + 1) * PODS_AT_ONCE),
  }));
}

function age({ metadata }: Pod): string {
  return metadata.creationTimestamp ?? '';
}
