import { describe, expect, test } from '@jest/globals';
import { testPod } from '../support/pods.ts';
import {
  AT_REST,
  CLEANED,
  cleaningUp,
  create,
  deleted,
  draining,
  finished,
  grace,
  kill,
  pod,
  settled,
  STOP_FAILED,
  STOPPED,
  stopping,
  SYNC,
  synced,
  syncFailed,
  update,
  working,
} from '../support/pod-steps.ts';

describe('syncing', () => {
  test('a good sync settles and plans the next', () => {
    const it = settled();
    expect([it.state, it.asked]).toEqual(['Syncing.Settled', ['armResync']]);
    expect(it.context.lastOutcome).toEqual({ kind: 'synced' });
  });

  test('a failed sync backs off with its reason', () => {
    const it = working().send(syncFailed());
    expect([it.state, it.asked]).toEqual(['Syncing.BackingOff', ['armResync']]);
    expect(it.context.lastOutcome).toEqual({ kind: 'failed' });
  });

  test.each([
    ['Settled', SYNC],
    ['Settled', update()],
    ['Settled', create()],
    ['BackingOff', SYNC],
    ['BackingOff', update()],
    ['BackingOff', create()],
  ])('%s: $type syncs at once and drops what was planned', (state, event) => {
    const it = state === 'Settled' ? settled() : working().send(syncFailed());
    it.send(event);
    expect([it.state, it.asked]).toEqual(['Syncing.Working', ['disarmResync', 'startSync']]);
  });

  test('2: of a thousand updates during a sync only the newest is looked at, by one more sync', () => {
    const it = working();
    for (let index = 0; index < 1000; index++) {
      it.send(update(testPod({ annotations: { version: String(index) } })));
      expect(it.asked).toEqual([]);
    }
    it.send(synced());
    expect([it.state, it.asked]).toEqual(['Syncing.Working', ['startSync']]);
    expect(it.context.pod?.metadata.annotations).toEqual({ version: '999' });
    expect(it.send(synced()).state).toBe('Syncing.Settled');
  });

  test.each([SYNC, update(), create()])('2: $type during a sync that fails is not lost', (event) => {
    expect(working().send(event, syncFailed()).state).toBe('Syncing.Working');
  });

  test('a sync that leaves something to be done is followed by another', () => {
    expect(working().send(synced({ again: true })).asked).toEqual(['startSync']);
    expect(working().send(syncFailed(true)).asked).toEqual(['startSync']);
  });
});

describe('the way to Terminating', () => {
  test('3: a sync that reports the natural end ends the pod, with its own grace period', () => {
    const it = working().send(synced({ terminal: true }));
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['startStop']]);
    expect(it.context.gracePeriodSeconds).toBe(30);
  });

  test.each([
    ['a kill', kill()],
    ['a deletion', update(deleted)],
    ['a terminal phase', update(testPod({ phase: 'Failed' }))],
    ['a created pod that is being deleted', create(deleted)],
  ])('3, I2: %s during a sync aborts it and waits in Draining', (_, event) => {
    const it = working().send(event);
    expect([it.state, it.asked]).toEqual(['Syncing.Draining', ['abortSync']]);
    expect(it.hasTag('terminationRequested')).toBe(true);
    expect(it.hasTag('containersTerminating')).toBe(false);
  });

  test.each([
    AT_REST,
    synced(),
    synced({ terminal: true }),
    synced({ again: true }),
    syncFailed(),
    syncFailed(true),
  ])('Draining: $type is rest, and only then the stop begins', (event) => {
    const it = draining().send(event);
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['startStop']]);
  });

  test.each(['Settled', 'BackingOff'])('3: a kill in %s stops at once: no effect is in flight', (state) => {
    const it = (state === 'Settled' ? settled() : working().send(syncFailed())).send(kill());
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['disarmResync', 'startStop']]);
  });

  test.each(['Settled', 'BackingOff'])('3: a deletion in %s stops at once', (state) => {
    const it = (state === 'Settled' ? settled() : working().send(syncFailed())).send(update(deleted));
    expect(it.state).toBe('Terminating.Stopping');
    expect(it.context.gracePeriodSeconds).toBe(20);
  });

  test('a kill in the same tick as a natural end: the first leads, the second joins', () => {
    const it = working().send(kill({ evict: true }), synced({ terminal: true }));
    expect([it.state, it.context.evicted]).toEqual(['Terminating.Stopping', true]);
    const other = working().send(synced({ terminal: true }), kill({ evict: true }));
    expect([other.state, other.context.evicted]).toEqual(['Terminating.Stopping', true]);
  });
});

describe('the grace period', () => {
  test("4: the kill's override goes before the spec's, also when it is longer", () => {
    expect(settled().send(kill(grace(5))).context.gracePeriodSeconds).toBe(5);
    expect(settled().send(kill(grace(45))).context.gracePeriodSeconds).toBe(45);
  });

  test('4: it is never below one second', () => {
    expect(settled().send(kill(grace(0))).context.gracePeriodSeconds).toBe(1);
  });

  test('4: it never grows', () => {
    const it = settled().send(kill(grace(5)), kill(grace(10)), kill());
    expect([it.state, it.context.gracePeriodSeconds]).toEqual(['Terminating.Stopping', 5]);
  });

  test('4: a shorter one restarts the stop once it is at rest', () => {
    const it = stopping().send(kill(grace(3)));
    expect([it.state, it.asked]).toEqual(['Terminating.Shortening', ['abortStop']]);
    it.send(AT_REST);
    expect([it.state, it.asked, it.context.gracePeriodSeconds]).toEqual([
      'Terminating.Stopping',
      ['startStop'],
      3,
    ]);
  });

  test('4: shortened twice while the stop comes to rest, it starts once with the shortest', () => {
    const it = stopping().send(kill(grace(9)), kill(grace(3)));
    expect(it.asked).toEqual([]);
    it.send(AT_REST);
    expect([it.asked, it.context.gracePeriodSeconds]).toEqual([['startStop'], 3]);
  });

  test('4: the API server shortens it by an update', () => {
    const it = stopping().send(update(testPod({ deleted: true, deletionGracePeriodSeconds: 2 })));
    expect([it.state, it.context.gracePeriodSeconds]).toEqual(['Terminating.Shortening', 2]);
  });

  test('4: a stop that is done before it could be aborted stays done', () => {
    expect(stopping().send(kill(grace(3)), STOPPED).state).toBe('Terminated.CleaningUp');
  });

  test('4: while draining it shrinks without another abort', () => {
    const it = draining().send(kill(grace(3)));
    expect([it.state, it.asked, it.context.gracePeriodSeconds]).toEqual(['Syncing.Draining', [], 3]);
  });

  test('4: a shorter one does not wait for the back-off of a failed stop', () => {
    const it = stopping().send(STOP_FAILED, kill(grace(3)));
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['disarmResync', 'startStop']]);
    const other = stopping().send(STOP_FAILED, kill(grace(60)));
    expect(other.state).toBe('Terminating.BackingOff');
  });
});

describe('kill options accumulate', () => {
  test('5: the last status given decides', () => {
    const it = stopping().send(
      kill({ podStatus: { phase: 'Failed', reason: 'Preempting' } }),
      kill({ podStatus: { phase: 'Failed', reason: 'Evicted' } }),
      kill(),
    );
    expect(it.context.statusOverride).toEqual({ phase: 'Failed', reason: 'Evicted' });
  });

  test('2: evicted stays evicted', () => {
    expect(draining().send(kill({ evict: true }), kill()).context.evicted).toBe(true);
  });

  test('6: the end is told once, when nothing runs any more', () => {
    const it = working().send(kill(), AT_REST, kill(), STOP_FAILED, kill(), SYNC);
    it.send(STOPPED);
    expect(it.asked).toEqual(['reportTerminated', 'startCleanup']);
  });

  test.each([
    ['CleaningUp', cleaningUp],
    ['BackingOff', () => cleaningUp().send({ type: 'CLEANUP_FAILED' })],
    ['Finished', finished],
  ])('6: a kill in Terminated.%s changes nothing', (state, at) => {
    const it = at().send(kill({ evict: true }));
    expect([it.state, it.asked, it.context.evicted]).toEqual([`Terminated.${state}`, [], false]);
  });
});

describe('stopping and cleaning up', () => {
  test('7: a stop that failed, or left something running, is repeated', () => {
    const it = stopping().send(STOP_FAILED);
    expect([it.state, it.asked]).toEqual(['Terminating.BackingOff', ['armResync']]);
    expect(it.context.lastOutcome).toEqual({ kind: 'failed' });
    it.send(SYNC);
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['disarmResync', 'startStop']]);
  });

  test('I5: events during a stop start no second one', () => {
    expect(stopping().send(SYNC).asked).toEqual([]);
    expect(stopping().send(update(testPod({ annotations: { a: 'b' } }))).asked).toEqual([]);
    expect(stopping().send(kill()).asked).toEqual([]);
  });

  test('8: the clean-up runs once to success', () => {
    const it = cleaningUp().send({ type: 'CLEANUP_FAILED' });
    expect([it.state, it.asked]).toEqual(['Terminated.BackingOff', ['armResync']]);
    it.send(SYNC);
    expect(it.asked).toEqual(['disarmResync', 'startCleanup']);
    it.send(CLEANED);
    expect([it.state, it.asked]).toEqual(['Terminated.Finished', ['reportFinished']]);
    expect(it.send(SYNC).asked).toEqual([]);
  });

  test('8: a deletion after the end is known', () => {
    expect(cleaningUp().send(update(deleted)).context.pod).toBe(deleted);
    expect(finished().send(update(deleted)).state).toBe('Terminated.Finished');
  });

  test.each([
    ['Syncing.Draining', draining],
    ['Terminating.Stopping', stopping],
    ['Terminating.Shortening', () => stopping().send(kill(grace(2)))],
    ['Terminating.BackingOff', () => stopping().send(STOP_FAILED)],
    ['Terminated.CleaningUp', cleaningUp],
    ['Terminated.Finished', finished],
  ])('9: a create in %s is remembered and changes nothing else (I1)', (state, at) => {
    const it = at().send(create(testPod({ name: 'web' })));
    expect([it.state, it.asked, it.context.restartRequested]).toEqual([state, [], true]);
  });
});

test('the tags answer the questions by UID in every state', () => {
  const tags = [
    'couldHaveRunningContainers',
    'terminationRequested',
    'containersTerminating',
    'terminated',
    'finished',
    'starting',
  ];
  const answers = (at: { state: string; hasTag(tag: string): boolean }) =>
    `${at.state}: ${tags.filter((tag) => at.hasTag(tag)).join(' ')}`;
  expect(
    [pod(), working(), settled(), draining(), stopping(), cleaningUp(), finished()].map(answers),
  ).toEqual([
    'Syncing.New: couldHaveRunningContainers starting',
    'Syncing.Working: couldHaveRunningContainers',
    'Syncing.Settled: couldHaveRunningContainers',
    'Syncing.Draining: couldHaveRunningContainers terminationRequested',
    'Terminating.Stopping: couldHaveRunningContainers terminationRequested containersTerminating',
    'Terminated.CleaningUp: terminationRequested containersTerminating terminated',
    'Terminated.Finished: terminationRequested containersTerminating terminated finished',
  ]);
});
