import grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Channel } from '../../../../../src/agent/runtime/cri/calls/channel.ts';
import { feedEvents, Hints, type RawEvent } from '../../../../../src/agent/runtime/cri/events/event-feed.ts';
import * as methods from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import { settled, VirtualClock } from '../../../../../src/simulation/node/virtual-clock.ts';
import type { ContainerEvent, PodSandboxMetadata } from '../../../../../src/types/cri.ts';
import { RecordedMeasurements } from '../../../../support/recorded-measurements.ts';
import { testContext } from '../../../../support/test-context.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { answerStream, failure, FakeRuntime } from '../fake-runtime.ts';

describe('event feed', () => {
  type Stream = Parameters<Parameters<typeof answerStream>[1]>[0];

  const EVENT = {
    containerId: 'c',
    containerEventType: 'CONTAINER_STARTED_EVENT',
    createdAt: 7000,
    podSandboxStatus: undefined,
  };
  /** As of a proxy whose runtime is down. */
  const DOWN = failure(grpc.status.UNAVAILABLE, 'down');

  let fake: FakeRuntime;
  let channel: Channel;
  let clock: VirtualClock;
  let stop: AbortController;
  let meet: (stream: Stream) => void;
  let attempts: number;
  let lists: number;
  let told: number;
  let feeding: Promise<void>;
  let measurements: RecordedMeasurements;

  beforeEach(async () => {
    fake = new FakeRuntime();
    clock = new VirtualClock();
    stop = new AbortController();
    [attempts, lists, told] = [0, 0, 0];
    meet = (stream) => stream.emit('error', DOWN);
    await fake.serve(
      answerStream(methods.GET_CONTAINER_EVENTS, (stream) => {
        attempts += 1;
        meet(stream);
      }),
    );
    channel = new Channel(fake.endpoint);
    const repeatStates = () => {
      lists += 1;
      // Not answered: so whatever waits is the feed.
      return new Promise<void>(() => undefined);
    };
    const tell = () => void (told += 1);
    measurements = new RecordedMeasurements();
    const context = testContext({ clock, measurements });
    feeding = feedEvents(context, { channel, tell, repeatStates }, stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await feeding;
    channel.close();
    await fake.cleanup();
  });

  /** Until it waits for its next attempt, of which it has made that many: how long it will wait. */
  async function waitsAfter(count: number): Promise<number | undefined> {
    await waitFor(() => attempts === count && clock.armed === 1, { what: `the end of attempt ${count}` });
    return clock.nextInMs;
  }

  async function delays(count: number): Promise<(number | undefined)[]> {
    const found: (number | undefined)[] = [];
    for (let index = 1; index <= count; index++) {
      found.push(await waitsAfter(index));
      await clock.advance(found.at(-1) ?? 0);
    }
    return found;
  }

  test('a runtime that is down gets a request for events after 100 ms, doubling to 5 s, and for its states as often', async () => {
    expect(await delays(8)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    await waitsAfter(9);
    expect(lists).toBe(8);
  });

  test('the runtime gets the next request soon once it has sent something', async () => {
    await delays(3);
    await waitsAfter(4);
    meet = (stream) => {
      stream.write(EVENT, () => stream.emit('error', DOWN));
    };
    await clock.advance(800);
    expect(await waitsAfter(5)).toBe(100);
    expect(told).toBe(1);
  });

  test('the runtime gets the next request soon after a long stream, even one without events', async () => {
    await delays(3);
    await waitsAfter(4);
    const open = Promise.withResolvers<Stream>();
    meet = open.resolve;
    await clock.advance(800);
    const stream = await open.promise;
    await clock.advance(5_000);
    stream.emit('error', DOWN);
    expect(await waitsAfter(5)).toBe(100);
  });

  test('streams of CRI are counted with their failures, and events are timed', async () => {
    await waitsAfter(1);
    meet = (stream) => {
      stream.write({ ...EVENT, createdAt: (clock.now() - 250) * 1e6 }, () => stream.emit('error', DOWN));
    };
    await clock.advance(100);
    await waitsAfter(2);
    expect(measurements.told).toEqual([
      'events asked for',
      'events failed',
      'events asked for',
      'event after 250 ms',
      'events failed',
    ]);
  });

  test('a stream that this agent ends does not count as a failure', async () => {
    await waitsAfter(1);
    const open = Promise.withResolvers<Stream>();
    meet = open.resolve;
    await clock.advance(100);
    await open.promise;
    stop.abort();
    await feeding;
    expect(measurements.told).toEqual(['events asked for', 'events failed', 'events asked for']);
  });
});

const pod: PodSandboxMetadata = { name: 'web', namespace: 'default', uid: 'u', attempt: 0 };

const started = (id: string, createdAt: number): RawEvent => ({
  id,
  type: 'CONTAINER_STARTED_EVENT',
  createdAt,
});

const stopped = (id: string, createdAt: number): RawEvent => ({
  id,
  type: 'CONTAINER_STOPPED_EVENT',
  createdAt,
  early: true,
});

describe('hints', () => {
  let told: ContainerEvent[];
  let known: Set<string>;
  let lookUp: PromiseWithResolvers<PodSandboxMetadata | undefined>;
  let shown: PromiseWithResolvers<number | undefined>;
  let hints: Hints;

  beforeEach(() => {
    told = [];
    known = new Set();
    lookUp = Promise.withResolvers();
    shown = Promise.withResolvers();
    hints = new Hints({
      podOf: (id) => (known.has(id) ? pod : undefined),
      lookUp: () => lookUp.promise,
      whenShown: () => shown.promise,
      emit: (event) => told.push(event),
    });
  });
  const times = () => told.map(({ createdAt }) => createdAt);

  test('of a known pod are passed on at once', () => {
    known.add('c');
    hints.tell(started('c', 1));
    expect(told).toEqual([
      {
        containerId: 'c',
        containerEventType: 'CONTAINER_STARTED_EVENT',
        createdAt: 1,
        podSandboxMetadata: pod,
      },
    ]);
  });

  test('of an unknown pod wait for the lookup, and later ones of that id with them', async () => {
    hints.tell(started('c', 1));
    await settled();
    known.add('c');
    hints.tell(started('c', 2));
    expect(told).toEqual([]);
    lookUp.resolve(pod);
    await settled();
    expect(times()).toEqual([1, 2]);
  });

  test('of other ids do not wait', () => {
    known.add('other');
    hints.tell(started('c', 1));
    hints.tell(started('other', 2));
    expect(times()).toEqual([2]);
  });

  test('whose change the status does not show yet are passed on once it does, with that time', async () => {
    known.add('c');
    hints.tell(stopped('c', 1));
    await settled();
    expect(told).toEqual([]);
    shown.resolve(5);
    await settled();
    expect(times()).toEqual([5]);
  });

  test('are dropped if no pod is found, or the runtime does not answer', async () => {
    hints.tell(started('c', 1));
    lookUp.resolve(undefined);
    await settled();
    lookUp = Promise.withResolvers();
    hints.tell(started('c', 2));
    lookUp.reject(new Error('down'));
    await settled();
    expect(told).toEqual([]);
  });
});
