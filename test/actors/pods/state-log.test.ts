import { describe, expect, test } from '@jest/globals';
import { createActor } from 'xstate';
import { textLogger } from '../../../src/server/open-logger.ts';
import { type Inspect, transitionLog, wayLog } from '../../../src/actors/pods/state-log.ts';
import type { PodEvent } from '../../../src/machines/pod-machine.ts';
import type { Logger } from '../../../src/types/logger.ts';
import { LEAVE_TO_START, podChart } from '../../support/pod-chart.ts';
import { testPod } from '../../support/pods.ts';

const CREATE: PodEvent = { type: 'SyncPodCreate', pod: testPod() };
const DELAY: PodEvent = { type: 'RUNTIME_NOT_READY', problem: 'it is down' };
const SYNC: PodEvent = { type: 'SyncPodSync' };
const KILL: PodEvent = { type: 'SyncPodKill' };
const SYNCED: PodEvent = { type: 'SYNC_DONE', terminal: false, again: false };
const FAILED: PodEvent = { type: 'SYNC_FAILED', reason: { kind: 'failed' }, again: false };
const STARTED = [CREATE, ...LEAVE_TO_START, SYNCED];
const ENDED: PodEvent[] = [KILL, { type: 'STOP_DONE' }, { type: 'CLEANUP_DONE' }];

/** What is logged while a pod’s actor gets these events. */
function logged(log: (logger: Logger) => Inspect, events: readonly PodEvent[]) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const inspect = log(textLogger('debug', { write }));
  const input = { uid: 'uid-of-web', fullName: 'web_default', runtimeHolds: 'nothing' } as const;
  const actor = createActor(podChart, { input, inspect }).start();
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
      { level: INFO, ...OF_WEB, msg: 'Syncing.Working → Syncing.Settled' },
    ]);
  });

  test('a sync that leads back to where it began is not told, one that leads elsewhere is', () => {
    expect(waysOf([...STARTED, SYNC, SYNCED, SYNC, SYNCED, SYNC, FAILED, SYNC, FAILED])).toEqual([
      'Syncing.Working → Syncing.Settled',
      'Syncing.Settled → Syncing.Working → Syncing.BackingOff',
    ]);
  });

  test('the end of a pod is one line', () => {
    expect(waysOf([...STARTED, ...ENDED]).slice(1)).toEqual([
      'Syncing.Settled → Terminating.Stopping → Terminated.CleaningUp → Terminated.Finished',
    ]);
  });

  test('a state before the start is told where the pod had to wait in it', () => {
    expect(waysOf([CREATE, DELAY, ...LEAVE_TO_START, SYNCED])).toEqual([
      'Syncing.AwaitingRuntime → Syncing.Working → Syncing.Settled',
    ]);
  });

  test('while an effect is at work nothing is told', () => {
    expect(waysOf([CREATE, ...LEAVE_TO_START, KILL])).toEqual([]);
    expect(waysOf([CREATE, ...LEAVE_TO_START, KILL, { type: 'AT_REST' }, ...ENDED.slice(1)])).toEqual([
      'Syncing.Working → Syncing.Draining → Terminating.Stopping → Terminated.CleaningUp → Terminated.Finished',
    ]);
  });
});

test('for debugging each transition is a line, with the event that led to it', () => {
  const line = { level: DEBUG, ...OF_WEB, msg: 'state' };
  expect(logged(transitionLog, STARTED)).toEqual([
    { ...line, from: 'Syncing.New', to: 'Syncing.AwaitingRuntime', event: 'SyncPodCreate' },
    { ...line, from: 'Syncing.AwaitingRuntime', to: 'Syncing.AwaitingRemoval', event: 'RUNTIME_READY' },
    { ...line, from: 'Syncing.AwaitingRemoval', to: 'Syncing.Admitting', event: 'REMOVED' },
    { ...line, from: 'Syncing.Admitting', to: 'Syncing.Working', event: 'ADMITTED' },
    { ...line, from: 'Syncing.Working', to: 'Syncing.Settled', event: 'SYNC_DONE' },
  ]);
});
