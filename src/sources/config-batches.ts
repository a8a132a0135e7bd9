/** Passes a long list of pods on in batches, one in each turn of the event loop, so that the list does not block it. */
import { concatMap, from, map, type MonoTypeOperatorFunction, of, timer } from 'rxjs';
import type { Pod } from '../types/kubernetes.ts';
import type { PodConfigEvent } from './pod-config.ts';

/** The pods of a batch. To start this many takes some 10 ms. */
export const PODS_A_BATCH = 25;

/** A list of one batch is passed on at once. The order of the events stays. */
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
  const pods = event.pods.toSorted((a, b) => age(a).localeCompare(age(b)));
  const count = Math.ceil(pods.length / PODS_A_BATCH);
  return Array.from({ length: count }, (_, index) => ({
    ...event,
    pods: pods.slice(index * PODS_A_BATCH, (index + 1) * PODS_A_BATCH),
  }));
}

function age({ metadata }: Pod): string {
  return metadata.creationTimestamp ?? '';
}
