import { describe, expect, test } from '@jest/globals';
import { shutdownMachine, type ShutdownEvent } from '../../../src/agent/machines/shutdown-machine.ts';
import { after } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

const NOW = Date.UTC(2030, 0, 1);
const GROUPS = [
  { priority: 0, seconds: 20, uids: ['a', 'b'] },
  { priority: 2_000_000_000, seconds: 10, uids: ['c'] },
];
const SHUTDOWN: ShutdownEvent = { type: 'SHUTDOWN', at: NOW, groups: GROUPS };
const TIME_OVER = after('groupTime', 'shutdown.ShuttingDown.EndingGroup');
const CANCELLED: ShutdownEvent = { type: 'SHUTDOWN_CANCELLED' };
const ended = (uid: string): ShutdownEvent => ({ type: 'POD_ENDED', uid });

const fresh = () => new Stepper(shutdownMachine, undefined);
const ending = () => fresh().send(SHUTDOWN);
const isShuttingDown = (it: Stepper<typeof shutdownMachine>) => it.hasTag('shuttingDown');

describe('Watching', () => {
  test('is the initial state: the node does not shut down', () => {
    expect([fresh().state, isShuttingDown(fresh())]).toEqual(['Watching', false]);
  });

  test('ignores ends of pods and timers', () => {
    expect(fresh().send(ended('a')).send(TIME_OVER).state).toBe('Watching');
  });
});

describe('EndingGroup', () => {
  test('begins with the first group, which is reported and ended', () => {
    const it = ending();
    expect(it.asked).toEqual(['reportShutdown', 'endGroup']);
    expect([it.context.awaited, it.context.since, isShuttingDown(it)]).toEqual([['a', 'b'], NOW, true]);
  });

  test('waits for the last pod of its group', () => {
    const it = ending().send(ended('b'));
    expect([it.context.awaited, it.context.groups]).toEqual([['a'], GROUPS]);
  });

  test('goes on with the next group when the last one has ended', () => {
    const it = ending().send(ended('b')).send(ended('a'));
    expect([it.context.awaited, it.context.groups]).toEqual([['c'], GROUPS.slice(1)]);
  });

  test('goes on when the time of the group is over, and the late pods are named before they are forgotten', () => {
    const it = ending().send(ended('a')).send(TIME_OVER);
    expect(it.asked).toEqual(['reportTimeOver', 'endGroup']);
    expect(it.context.awaited).toEqual(['c']);
  });
});

describe('Ended', () => {
  test('comes after the last group, and the node still shuts down', () => {
    const it = ending().send(TIME_OVER).send(ended('c'));
    expect(it.asked).toContain('reportEnded');
    expect([it.context.groups, isShuttingDown(it)]).toEqual([[], true]);
  });

  test('comes at once where no pods are to be ended', () => {
    const it = fresh().send({ ...SHUTDOWN, groups: [] });
    expect(it.asked).toEqual(['reportShutdown', 'reportEnded']);
  });
});

test.each([
  ['EndingGroup', ending],
  ['Ended', () => fresh().send({ ...SHUTDOWN, groups: [] })],
])('a shutdown that is cancelled in %s forgets its groups', (_, make) => {
  const it = make().send(CANCELLED);
  expect([it.state, it.context]).toEqual(['Watching', { groups: [], awaited: [], since: undefined }]);
  expect(it.asked).toContain('reportCancelled');
});

test.each([
  ['Watching', fresh],
  ['ShuttingDown.Stopped', ending],
])('with the agent stopped in %s, the node shuts down if it did before', (state, make) => {
  const it = make().send({ type: 'STOP' });
  expect([it.state, isShuttingDown(it)]).toEqual([state, isShuttingDown(make())]);
  expect(it.send(TIME_OVER).asked).toEqual([]);
});
