import { describe, expect, test } from '@jest/globals';
import { createActor } from 'xstate';
import { textLogger } from '../../../src/server/open-logger.ts';
import { type Inspect, transitionLog, wayLog } from '../../../src/actors/pods/state-log.ts';
import { podMachine, type PodEvent } from '../../../src/machines/pod-machine.ts';
import type { Logger } from '../../../src/types/logger.ts';
import { testPod } from '../../support/pods.ts';

const CREATE: PodEvent = { type: 'SyncPodCreate', pod: testPod() };
const GRANTED: PodEvent = { type: 'START_GRANTED' };
const SYNC: PodEvent = { type: 'SyncPodSync' };
const KILL: PodEvent = { type: 'SyncPodKill' };
const SYNCED: PodEvent = { type: 'SYNC_DONE', terminal: false, again: false };
const FAILED: PodEvent = { type: 'SYNC_FAILED', reason: { kind: 'failed' }, again: false };
const STARTED = [CREATE, GRANTED, SYNCED];
const ENDED: PodEvent[] = [KILL, { type: 'STOP_DONE' }, { type: 'CLEANUP_DONE' }];

const nothing = (): void => undefined;
/** Its effects do nothing: the test tells how they ended. */
const machine = podMachine.provide({
  actions: {
    ...{
      requestStart: nothing,
      startSync: nothing,
      abortSync: nothing,
      startStop: nothing,
      abortStop: nothing,
    },
    ...{ startCleanup: nothing, armResync: nothing, disarmResync: nothing, answerWaiters: nothing },
    ...{ answerThisWaiter: nothing, reportTerminated: nothing, reportFinished: nothing },
  },
});

/** What is logged while a pod’s actor gets these events. */
function logged(log: (logger: Logger) => Inspect, events: readonly PodEvent[]) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const inspect = log(textLogger('debug', { write }));
  const input = { uid: 'uid-of-web', fullName: 'web_default', runtimeHolds: 'nothing' } as const;
  const actor = createActor(machine, { input, inspect }).start();
  for (const event of events) actor.send(event);
  return lines.map(({ level, pod, uid, msg, ...rest }) => ({
    level,
    pod,
    uid,
    msg,
    ...rest,
    time: undefined,
  }));
}

const OF_WEB = { pod: 'default/web', uid: 'uid-of-web' };
const [DEBUG, INFO] = [20, 30];

describe('for people', () => {
  const waysOf = (events: readonly PodEvent[]) => logged(wayLog, events).map(({ msg }) => msg);

  test('a line tells the way of a pod from a state of rest to another', () => {
    expect(logged(wayLog, STARTED)).toEqual([
      { level: INFO, ...OF_WEB, msg: 'Syncing.AwaitingStart → Syncing.Working → Syncing.Settled' },
    ]);
  });

  test('a sync that leads back to where it began is not told, one that leads elsewhere is', () => {
    expect(waysOf([...STARTED, SYNC, SYNCED, SYNC, SYNCED, SYNC, FAILED, SYNC, FAILED])).toEqual([
      'Syncing.AwaitingStart → Syncing.Working → Syncing.Settled',
      'Syncing.Settled → Syncing.Working → Syncing.BackingOff',
    ]);
  });

  test('the end of a pod is one line', () => {
    expect(waysOf([...STARTED, ...ENDED]).slice(1)).toEqual([
      'Syncing.Settled → Terminating.Stopping → Terminated.CleaningUp → Terminated.Finished',
    ]);
  });

  test('while an effect is at work nothing is told', () => {
    expect(waysOf([CREATE, GRANTED, KILL])).toEqual([]);
    expect(waysOf([CREATE, GRANTED, KILL, { type: 'AT_REST' }, ...ENDED.slice(1)])).toEqual([
      'Syncing.AwaitingStart → Syncing.Working → Syncing.Draining → Terminating.Stopping → Terminated.CleaningUp → Terminated.Finished',
    ]);
  });
});

test('for debugging each transition is a line, with the event that led to it', () => {
  const line = { level: DEBUG, ...OF_WEB, msg: 'state' };
  expect(logged(transitionLog, STARTED)).toEqual([
    { ...line, from: 'Syncing.AwaitingStart', to: 'Syncing.Working', event: 'START_GRANTED' },
    { ...line, from: 'Syncing.Working', to: 'Syncing.Settled', event: 'SYNC_DONE' },
  ]);
});
