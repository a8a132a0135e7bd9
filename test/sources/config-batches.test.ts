import { describe, expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import { inBatches, PODS_A_BATCH } from '../../src/sources/config-batches.ts';
import type { PodConfigEvent } from '../../src/sources/pod-config.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { Collector } from './support.ts';

const pods = (count: number): Pod[] =>
  Array.from({ length: count }, (_, index) => ({
    metadata: { name: `pod-${index}`, namespace: 'default', uid: `uid-${index}` },
    spec: { containers: [] },
  }));
const added = (count: number): PodConfigEvent => ({ op: 'ADD', source: 'file', pods: pods(count) });
const removed = (count: number): PodConfigEvent => ({ op: 'REMOVE', source: 'file', pods: pods(count) });
const SEEN: PodConfigEvent = { type: 'SOURCE_SEEN', source: 'file' };
const text = (event: PodConfigEvent) =>
  'type' in event ? event.type : `${event.op} ${String(event.pods.length)}`;

describe('events of the configuration', () => {
  test('of few pods are passed on at once', () => {
    const events = new Subject<PodConfigEvent>();
    const passedOn: PodConfigEvent[] = [];
    events.pipe(inBatches()).subscribe((event) => passedOn.push(event));
    const given = [added(PODS_A_BATCH), SEEN, removed(1)];
    for (const event of given) events.next(event);
    expect(passedOn).toEqual(given);
  });

  test('of many pods come in batches and in order, each in its own turn of the event loop', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const events = new Subject<PodConfigEvent>();
    const turnOf: number[] = [];
    const passedOn = new Collector(events.pipe(inBatches()));
    events.pipe(inBatches()).subscribe(() => turnOf.push(turns));
    const count = 3 * PODS_A_BATCH + 1;
    for (const event of [removed(count), added(count), SEEN]) events.next(event);
    const seen: PodConfigEvent[] = [];
    await passedOn.until((event) => seen.push(event) > 0 && event === SEEN);
    clearInterval(timer);
    const batches = (op: string) => [...Array.from({ length: 3 }, () => `${op} ${PODS_A_BATCH}`), `${op} 1`];
    expect(seen.map(text)).toEqual([...batches('REMOVE'), ...batches('ADD'), 'SOURCE_SEEN']);
    const all = seen.flatMap((event) => ('type' in event || event.op === 'REMOVE' ? [] : event.pods));
    expect(all).toEqual(pods(count));
    expect(new Set(turnOf).size).toBeGreaterThanOrEqual(6);
  });

  test('of many pods come with the oldest pods first', () => {
    const events = new Subject<PodConfigEvent>();
    const passedOn: PodConfigEvent[] = [];
    const subscription = events.pipe(inBatches()).subscribe((event) => passedOn.push(event));
    const many = pods(PODS_A_BATCH + 1).map(({ metadata, spec }, index) => {
      const creationTimestamp = `2026-01-01T00:00:${String(59 - index)}Z`;
      return { metadata: { ...metadata, creationTimestamp }, spec };
    });
    events.next({ op: 'ADD', source: 'api', pods: many });
    subscription.unsubscribe();
    expect(passedOn).toEqual([{ op: 'ADD', source: 'api', pods: many.toReversed().slice(0, PODS_A_BATCH) }]);
  });
});
