import { beforeEach, expect, test } from '@jest/globals';
import {
  GarbageCollector,
  type GarbageTask,
  startGarbageCollection,
} from '../../../../src/agent/runtime/garbage/garbage-collector.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import { warnings } from '../../../support/warnings.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';

const MINUTE_MS = 60_000;

let clock: VirtualClock;
let context: AgentContext;
let startedAt: number;
let seen: string[];
let told: string[];

beforeEach(() => {
  clock = new VirtualClock();
  startedAt = clock.now();
  seen = [];
  const { logger, messages } = warnings();
  told = messages;
  const nodeEvent = (...event: readonly string[]) => void messages.push(event.join(' '));
  context = testContext({ clock, logger, recorder: recorderOf({ nodeEvent }) });
});

const note = (what: string) => seen.push(`${what} ${(clock.now() - startedAt) / MINUTE_MS}`);
const newCollector = (tasks: readonly Partial<GarbageTask>[]) =>
  new GarbageCollector(
    context,
    tasks.map((task) => ({
      name: 'Some',
      periodMs: MINUTE_MS,
      failureReason: 'SomeFailed',
      failuresTolerated: 0,
      collect: () => Promise.resolve(),
      ...task,
    })),
  );

const containerGC = { collect: () => Promise.resolve(void note('containers')) };
const imageGC = {
  isDisabled: false,
  detect: () => Promise.resolve(void note('looked')),
  collect: () => Promise.resolve(void note('images')),
};

test('containers are collected every minute, images every five minutes, and the images are first examined at once', async () => {
  const collector = startGarbageCollection(context, containerGC, imageGC);
  await clock.advance(6 * MINUTE_MS);
  await collector.stop();
  expect(seen).toEqual([
    'looked 0',
    ...[1, 2, 3, 4, 5].map((minute) => `containers ${minute}`),
    'images 5',
    'containers 6',
  ]);
});

test('images are not collected without an image collector or with a disabled one', async () => {
  const collectors = [
    startGarbageCollection(context, containerGC),
    startGarbageCollection(context, containerGC, { ...imageGC, isDisabled: true }),
  ];
  await clock.advance(5 * MINUTE_MS);
  for (const collector of collectors) await collector.stop();
  expect(new Set(seen.map((what) => what.split(' ')[0]))).toEqual(new Set(['containers']));
});

test('there is one timer, and none after the end', async () => {
  const collector = newCollector([{}, { periodMs: 2 * MINUTE_MS }]);
  expect(clock.armed).toBe(1);
  await clock.advance(2 * MINUTE_MS);
  expect(clock.armed).toBe(1);
  await collector.stop();
  expect(clock.armed).toBe(0);
});

test('a long collection is not started twice, and its next period begins at its end', async () => {
  const done = Promise.withResolvers<undefined>();
  const collector = newCollector([
    {
      collect: async () => {
        note('begun');
        await done.promise;
      },
    },
  ]);
  await clock.advance(5 * MINUTE_MS);
  done.resolve(undefined);
  await clock.advance(MINUTE_MS);
  await collector.stop();
  expect(seen).toEqual(['begun 1', 'begun 6']);
});

test('stopping aborts a running collection, and waits for it', async () => {
  const collector = newCollector([
    {
      collect: async (signal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await settled();
        note('at rest');
        signal.throwIfAborted();
      },
    },
    { collect: () => Promise.resolve(void note('never')) },
  ]);
  await clock.advance(MINUTE_MS);
  await collector.stop();
  expect([seen, told, clock.armed]).toEqual([['at rest 1'], [], 0]);
});

test('a failure is tried again, and an event from the second on where one is tolerated; other collections are not delayed', async () => {
  const collector = newCollector([
    { collect: () => Promise.reject(new Error('no disk')), failuresTolerated: 1 },
    { collect: () => Promise.resolve(void note('other')) },
  ]);
  await clock.advance(2 * MINUTE_MS);
  await collector.stop();
  expect(seen).toEqual(['other 1', 'other 2']);
  expect(told).toEqual(['Some garbage collection failed: no disk', 'Warning SomeFailed no disk']);
});
