import { beforeEach, describe, expect, test } from '@jest/globals';
import { createActor } from 'xstate';
import { inTurns, PodRegistry } from '../../../../src/agent/actors/pods/pod-registry.ts';
import { stateName } from '../../../../src/agent/actors/transitions.ts';
import type { PodEvent } from '../../../../src/agent/machines/pod-machine.ts';
import { supervisorMachine } from '../../../../src/agent/machines/supervisor-machine.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { LEAVE_TO_START, podChart } from '../../../support/pod-chart.ts';
import { testPod } from '../../../support/pods.ts';
import { testContext } from '../../../support/test-context.ts';

const UID = 'uid-of-web';
const CREATE: PodEvent = { type: 'SyncPodCreate', pod: testPod() };
const SYNCED: PodEvent = { type: 'SYNC_DONE', terminal: false, again: false };
const SYNC_FAILED: PodEvent = { type: 'SYNC_FAILED', reason: { kind: 'failed' }, again: false };
const KILL: PodEvent = { type: 'SyncPodKill' };
const HURRY: PodEvent = { type: 'SyncPodKill', options: { podTerminationGracePeriodSecondsOverride: 1 } };
const EVICT: PodEvent = { type: 'SyncPodKill', options: { evict: true } };
const DELETED: PodEvent = { type: 'SyncPodUpdate', pod: testPod({ deleted: true }) };
const STOPPED: PodEvent = { type: 'STOP_DONE' };
const STOP_FAILED: PodEvent = { type: 'STOP_FAILED' };
const CLEANED: PodEvent = { type: 'CLEANUP_DONE' };
const CLEANUP_FAILED: PodEvent = { type: 'CLEANUP_FAILED' };

const SETTLED = [CREATE, ...LEAVE_TO_START, SYNCED];
const STOPPING = [...SETTLED, KILL];
const CLEANING_UP = [...STOPPING, STOPPED];

let synced: boolean;
let registry: PodRegistry;

beforeEach(() => {
  synced = true;
  const parent = createActor(supervisorMachine, { input: { sources: ['file'] } }).start();
  registry = new PodRegistry(testContext({ parent }), { synced: () => synced });
});

function spawn(...events: PodEvent[]): void {
  const { name, namespace, uid } = testPod().metadata;
  registry.spawn({ name, namespace, uid }, 'nothing', podChart);
  for (const event of events) registry.send(UID, event);
}

/** The questions that the registry answers with yes. */
function yes(): string[] {
  const answers = {
    isPodTerminationRequested: registry.isPodTerminationRequested(UID),
    shouldPodRuntimeBeRemoved: registry.shouldPodRuntimeBeRemoved(UID),
    shouldPodContentBeRemoved: registry.shouldPodContentBeRemoved(UID),
    isPodKnownTerminated: registry.isPodKnownTerminated(UID),
  };
  return Object.entries(answers)
    .filter(([, answer]) => answer)
    .map(([question]) => question);
}

describe('an unknown UID', () => {
  test('before all sources have been seen: the pod may still come', () => {
    synced = false;
    expect(yes()).toEqual([]);
  });

  test('after all sources have been seen: there is no such pod', () => {
    expect(yes()).toEqual(['shouldPodRuntimeBeRemoved', 'shouldPodContentBeRemoved']);
  });
});

const ALIVE: string[] = [];
const ENDING = ['isPodTerminationRequested'];
const TERMINATED = ['isPodTerminationRequested', 'shouldPodRuntimeBeRemoved', 'isPodKnownTerminated'];

describe.each([
  ['before', false],
  ['after', true],
])('a known UID, %s all sources have been seen: the chart of its pod answers', (_when, allSeen) => {
  beforeEach(() => {
    synced = allSeen;
  });

  test.each<[string, PodEvent[], string[]]>([
    ['Syncing.Starting.New', [], ALIVE],
    ['Syncing.Starting.AwaitingRuntime', [CREATE], ALIVE],
    ['Syncing.Working', [CREATE, ...LEAVE_TO_START], ALIVE],
    ['Syncing.Settled', SETTLED, ALIVE],
    ['Syncing.BackingOff', [CREATE, ...LEAVE_TO_START, SYNC_FAILED], ALIVE],
    ['Syncing.Draining', [CREATE, ...LEAVE_TO_START, KILL], ENDING],
    ['Terminating.Stopping', STOPPING, ENDING],
    ['Terminating.Shortening', [...STOPPING, HURRY], ENDING],
    ['Terminating.BackingOff', [...STOPPING, STOP_FAILED], ENDING],
    ['Terminated.CleaningUp', CLEANING_UP, TERMINATED],
    ['Terminated.BackingOff', [...CLEANING_UP, CLEANUP_FAILED], TERMINATED],
    ['Terminated.Finished', [...CLEANING_UP, CLEANED], TERMINATED],
  ])('%s', (state, events, answers) => {
    spawn(...events);
    expect(stateName(registry.get(UID)?.actor.getSnapshot().value ?? '')).toBe(state);
    expect(yes()).toEqual(answers);
  });

  test('shouldPodContentBeRemoved: yes for an evicted pod, from the kill on', () => {
    spawn(...SETTLED, EVICT);
    expect(registry.shouldPodContentBeRemoved(UID)).toBe(true);
    for (const event of [STOPPED, CLEANED]) registry.send(UID, event);
    expect(registry.shouldPodContentBeRemoved(UID)).toBe(true);
  });

  test('shouldPodContentBeRemoved: yes for a deleted pod, but not before it is Terminated', () => {
    spawn(...SETTLED, DELETED);
    expect(registry.shouldPodContentBeRemoved(UID)).toBe(false);
    registry.send(UID, STOPPED);
    expect(registry.shouldPodContentBeRemoved(UID)).toBe(true);
  });

  test('shouldPodContentBeRemoved: no for a killed pod that the API server still has', () => {
    spawn(...CLEANING_UP, CLEANED);
    expect(registry.shouldPodContentBeRemoved(UID)).toBe(false);
    registry.send(UID, DELETED);
    expect(registry.shouldPodContentBeRemoved(UID)).toBe(true);
  });
});

test('kill sends SyncPodKill with its options to the pod', () => {
  spawn(...SETTLED);
  registry.kill(UID, { podTerminationGracePeriodSecondsOverride: 7, evict: true });
  const snapshot = registry.get(UID)?.actor.getSnapshot();
  expect(snapshot?.value).toEqual({ Terminating: 'Stopping' });
  expect(snapshot?.context).toMatchObject({ gracePeriodSeconds: 7, evicted: true });
});

describe('incarnations', () => {
  test('9: a UID that was forgotten is unknown; its actor is stopped and gets no more events', () => {
    spawn(...CLEANING_UP, CLEANED);
    const actor = registry.get(UID)?.actor;
    registry.forget(UID);
    expect([registry.size, registry.get(UID), registry.isPodKnownTerminated(UID)]).toEqual([
      0,
      undefined,
      false,
    ]);
    expect(actor?.getSnapshot().status).toBe('stopped');
    expect(registry.send(UID, CREATE)).toBe(false);
  });

  test('9: the next incarnation of the UID starts in the initial state', () => {
    spawn(...CLEANING_UP, CLEANED);
    registry.forget(UID);
    spawn(CREATE);
    expect(yes()).toEqual(ALIVE);
    expect(registry.size).toBe(1);
  });

  test('forget does nothing for an unknown UID', () => {
    registry.forget('nobody');
    expect(registry.size).toBe(0);
  });

  test('send returns whether the registry has an actor for the UID', () => {
    spawn();
    expect([registry.send(UID, CREATE), registry.send('nobody', CREATE)]).toEqual([true, false]);
  });
});

test('inTurns handles 25 items in each turn, in their order', async () => {
  const clock = new VirtualClock();
  const handled: number[] = [];
  const items = Array.from({ length: 60 }, (_, index) => index);
  inTurns(clock, items, (item) => handled.push(item));
  expect(handled).toEqual(items.slice(0, 25));
  await clock.step();
  expect(handled).toEqual(items.slice(0, 50));
  await clock.step();
  expect(handled).toEqual(items);
  expect(clock.armed).toBe(0);
});

test('inTurns handles items that fit into one turn at once', () => {
  const clock = new VirtualClock();
  const handled: string[] = [];
  inTurns(clock, ['a', 'b'], (item) => handled.push(item));
  expect([handled, clock.armed]).toEqual([['a', 'b'], 0]);
});
