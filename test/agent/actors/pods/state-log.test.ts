import { describe, expect, test } from '@jest/globals';
import { createActor } from 'xstate';
import { textLogger } from '../../../../src/agent/server/open-logger.ts';
import {
  type Inspect,
  transitionLog,
  transitionLogSwitch,
  wayLog,
} from '../../../../src/agent/actors/pods/state-log.ts';
import type { PodEvent } from '../../../../src/agent/machines/pod-machine.ts';
import type { Logger } from '../../../../src/types/logger.ts';
import { LEAVE_TO_START, podChart } from '../../../support/pod-chart.ts';
import { testPod } from '../../../support/pods.ts';

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

describe('the log of state changes for users', () => {
  const waysOf = (events: readonly PodEvent[]) => logged(wayLog, events).map(({ msg }) => msg);

  test('has one line for the states of a pod from one state at rest to the next', () => {
    expect(logged(wayLog, STARTED)).toEqual([
      { level: INFO, ...OF_WEB, msg: 'Syncing.Working → Syncing.Settled' },
    ]);
  });

  test('has no line for a sync that returns to the same state, and one for a sync that ends in another state', () => {
    expect(waysOf([...STARTED, SYNC, SYNCED, SYNC, SYNCED, SYNC, FAILED, SYNC, FAILED])).toEqual([
      'Syncing.Working → Syncing.Settled',
      'Syncing.Settled → Syncing.Working → Syncing.BackingOff',
    ]);
  });

  test('has one line for the end of a pod', () => {
    expect(waysOf([...STARTED, ...ENDED]).slice(1)).toEqual([
      'Syncing.Settled → Terminating.Stopping → Terminated.CleaningUp → Terminated.Finished',
    ]);
  });

  test('names a state before the start only if the pod had to wait in it', () => {
    expect(waysOf([CREATE, DELAY, ...LEAVE_TO_START, SYNCED])).toEqual([
      'Syncing.Starting.AwaitingRuntime → Syncing.Working → Syncing.Settled',
    ]);
  });

  test('has no line while an effect is at work', () => {
    expect(waysOf([CREATE, ...LEAVE_TO_START, KILL])).toEqual([]);
    expect(waysOf([CREATE, ...LEAVE_TO_START, KILL, { type: 'AT_REST' }, ...ENDED.slice(1)])).toEqual([
      'Syncing.Working → Syncing.Draining → Terminating.Stopping → Terminated.CleaningUp → Terminated.Finished',
    ]);
  });
});

test('at level debug, each transition has a line, with its event', () => {
  const line = { level: DEBUG, ...OF_WEB, msg: 'state' };
  expect(logged(transitionLog, STARTED)).toEqual([
    { ...line, from: 'Syncing.Starting.New', to: 'Syncing.Starting.AwaitingRuntime', event: 'SyncPodCreate' },
    {
      ...line,
      from: 'Syncing.Starting.AwaitingRuntime',
      to: 'Syncing.Starting.AwaitingRemoval',
      event: 'RUNTIME_READY',
    },
    { ...line, from: 'Syncing.Starting.AwaitingRemoval', to: 'Syncing.Starting.Admitting', event: 'REMOVED' },
    { ...line, from: 'Syncing.Starting.Admitting', to: 'Syncing.Working', event: 'ADMITTED' },
    { ...line, from: 'Syncing.Working', to: 'Syncing.Settled', event: 'SYNC_DONE' },
  ]);
});

test('the log of transitions can be switched on and off while actors run', () => {
  const lines: string[] = [];
  const logger = textLogger('debug', { write: (line) => void lines.push(line) });
  const input = { uid: 'uid-of-web', fullName: 'web_default', runtimeHolds: 'nothing' } as const;
  const actor = createActor(podChart, { input }).start();
  const logTransitions = transitionLogSwitch(actor, logger);
  const linesOf = (...events: readonly PodEvent[]) => {
    lines.length = 0;
    for (const event of events) actor.send(event);
    return lines.length;
  };
  expect(linesOf(...STARTED)).toBe(0);
  logTransitions(true);
  logTransitions(true);
  expect(linesOf(SYNC, SYNCED)).toBe(1);
  logTransitions(false);
  expect(linesOf(SYNC, FAILED)).toBe(0);
});
