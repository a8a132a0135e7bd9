import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import { fileSource } from '../../../src/agent/sources/file-source.ts';
import {
  inBatches,
  podConfig,
  type PodConfigEvent,
  PODS_A_BATCH,
} from '../../../src/agent/sources/pod-config.ts';
import type { SourceProblem, SourceUpdate } from '../../../src/agent/sources/source.ts';
import type { EventRecorder } from '../../../src/types/event-recorder.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { Collector, manifest, put, temporaryFolder } from './support.ts';

const pod = (uid: string, name = uid): Pod => ({
  metadata: { name, namespace: 'default', uid },
  spec: { containers: [] },
});
const problem = (message: string): SourceProblem => ({ source: 'file', file: 'a.yaml', message });

function start() {
  const file = new Subject<SourceUpdate>();
  const api = new Subject<SourceUpdate>();
  const events: string[] = [];
  const problems: string[] = [];
  const recorded: string[] = [];
  const pods: Pod[] = [];
  const recorder: EventRecorder = {
    event: ({ uid }, type, reason, message) => recorded.push(`${uid} ${type} ${reason} ${message}`),
  };
  const onProblem = ({ message }: SourceProblem) => problems.push(message);
  podConfig({ file, api }, { now: () => 0, onProblem, recorder }).subscribe((event) => {
    events.push(text(event));
    if ('pods' in event) pods.push(...event.pods);
  });
  return { file, api, events, problems, recorded, pods };
}

function text(event: PodConfigEvent): string {
  if ('type' in event) return `${event.type} ${event.source}`;
  return `${event.op} ${event.source} ${event.pods.map(({ metadata }) => metadata.uid).join(' ')}`;
}

describe('podConfig', () => {
  test('a source is seen after its first list has been passed on, even an empty one; it is seen once', () => {
    const { file, api, events } = start();
    file.next({ pods: [pod('a')], problems: [] });
    api.next({ pods: [], problems: [] });
    expect(events).toEqual(['ADD file a', 'SOURCE_SEEN file', 'SOURCE_SEEN api']);
    file.next({ pods: [], problems: [] });
    expect(events.slice(3)).toEqual(['REMOVE file a']);
  });

  test('a source that has not been read successfully yet is not seen', () => {
    const { file, events, problems } = start();
    file.next({ problems: [problem('unreadable')] });
    expect([events, problems]).toEqual([[], ['unreadable']]);
    file.next({ pods: [], problems: [] });
    expect(events).toEqual(['SOURCE_SEEN file']);
  });

  test('a list of one source does not affect the pods of another source, even of the same name', () => {
    const { file, api, events } = start();
    file.next({ pods: [pod('a', 'web')], problems: [] });
    api.next({ pods: [pod('b', 'web')], problems: [] });
    file.next({ pods: [], problems: [] });
    expect(events.filter((event) => !event.startsWith('SOURCE'))).toEqual([
      'ADD file a',
      'ADD api b',
      'REMOVE file a',
    ]);
  });

  test('a problem is reported once, and again when it occurs again', () => {
    const { file, problems } = start();
    for (const now of [['x'], ['x', 'y'], ['y'], ['y', 'x']])
      file.next({ pods: [], problems: now.map(problem) });
    expect(problems).toEqual(['x', 'y', 'x']);
  });

  test('of two pods with the same name the second is left out: a problem and an event, once', () => {
    const { api, events, problems, recorded } = start();
    api.next({ pods: [pod('a', 'web'), pod('b', 'web')], problems: [] });
    api.next({ pods: [pod('a', 'web'), pod('b', 'web'), pod('c')], problems: [] });
    expect(events[0]).toBe('ADD api a');
    const message = 'Error validating pod web_default(b) from api due to duplicate pod name "web", ignoring';
    expect(problems).toEqual([message]);
    expect(recorded).toEqual([`b Warning FailedValidation ${message}`]);
  });

  test('of two pods with the same UID the second is left out', () => {
    const { api, events, problems } = start();
    api.next({ pods: [pod('a', 'web'), pod('a', 'other')], problems: [] });
    expect(events[0]).toBe('ADD api a');
    expect(problems).toEqual(['pod other_default(a) has the UID of another pod: it is left out']);
  });

  test('a pod is stamped with the time at which it was first seen, to the nanosecond as by the kubelet', () => {
    const { api, pods } = start();
    api.next({ pods: [pod('a')], problems: [] });
    expect(pods[0]?.metadata.annotations).toMatchObject({
      'kubernetes.io/config.seen': '1970-01-01T00:00:00.000000000Z',
    });
  });

  test('a manifest file that is added, changed and removed becomes ADD, REMOVE and ADD, and REMOVE', async () => {
    const { path, remove } = await temporaryFolder();
    const file = join(path, 'a.yaml');
    await put(file, manifest('a'));
    const source = fileSource({ path, nodeName: 'node', checkFrequencyMs: 600_000 });
    const events = new Collector(podConfig({ file: source }, { now: () => 0, onProblem: () => undefined }));
    const added = await events.next();
    expect(added).toMatchObject({
      op: 'ADD',
      pods: [
        { metadata: { annotations: { 'kubernetes.io/config.seen': '1970-01-01T00:00:00.000000000Z' } } },
      ],
    });
    expect(await events.next()).toEqual({ type: 'SOURCE_SEEN', source: 'file' });
    await put(file, manifest('a', 'sleep 2'));
    expect(await events.next()).toEqual({ ...added, op: 'REMOVE' });
    expect(await events.next()).toMatchObject({ op: 'ADD' });
    await unlink(file);
    expect(await events.next()).toMatchObject({ op: 'REMOVE' });
    events.close();
    await remove();
  });
});

const pods = (count: number): Pod[] =>
  Array.from({ length: count }, (_, index) => ({
    metadata: { name: `pod-${index}`, namespace: 'default', uid: `uid-${index}` },
    spec: { containers: [] },
  }));

const added = (count: number): PodConfigEvent => ({ op: 'ADD', source: 'file', pods: pods(count) });

const removed = (count: number): PodConfigEvent => ({ op: 'REMOVE', source: 'file', pods: pods(count) });

const SEEN: PodConfigEvent = { type: 'SOURCE_SEEN', source: 'file' };

const batchText = (event: PodConfigEvent) =>
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
    expect(seen.map(batchText)).toEqual([...batches('REMOVE'), ...batches('ADD'), 'SOURCE_SEEN']);
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
