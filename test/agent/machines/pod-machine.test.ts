import { describe, expect, test } from '@jest/globals';
import { testPod } from '../../support/pods.ts';
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
} from '../../support/pod-steps.ts';

describe('syncing', () => {
  test('after a successful sync, the pod is settled and the next sync is planned', () => {
    const it = settled();
    expect([it.state, it.asked]).toEqual(['Syncing.Settled', ['armResync']]);
    expect(it.context.lastOutcome).toEqual({ kind: 'synced' });
  });

  test('after a failed sync, the pod backs off, and the reason is kept', () => {
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
  ])('%s: $type starts a sync at once, and the planned sync is cancelled', (state, event) => {
    const it = state === 'Settled' ? settled() : working().send(syncFailed());
    it.send(event);
    expect([it.state, it.asked]).toEqual(['Syncing.Working', ['disarmResync', 'startSync']]);
  });

  test('2: after a thousand updates during a sync, there is one more sync, with the newest version', () => {
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

  test.each([SYNC, update(), create()])(
    '2: $type during a sync that fails leads to another sync',
    (event) => {
      expect(working().send(event, syncFailed()).state).toBe('Syncing.Working');
    },
  );

  test('a sync that has more to do is followed by another sync', () => {
    expect(working().send(synced({ again: true })).asked).toEqual(['startSync']);
    expect(working().send(syncFailed(true)).asked).toEqual(['startSync']);
  });
});

describe('the way to Terminating', () => {
  test('3: a sync that reports the natural end ends the pod, with the grace period of the spec', () => {
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
  ])('Draining: after $type the sync is at rest, and the stop begins', (event) => {
    const it = draining().send(event);
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['startStop']]);
  });

  test.each(['Settled', 'BackingOff'])(
    '3: a kill in %s starts the stop at once, because no effect is in flight',
    (state) => {
      const it = (state === 'Settled' ? settled() : working().send(syncFailed())).send(kill());
      expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['disarmResync', 'startStop']]);
    },
  );

  test.each(['Settled', 'BackingOff'])('3: a deletion in %s starts the stop at once', (state) => {
    const it = (state === 'Settled' ? settled() : working().send(syncFailed())).send(update(deleted));
    expect(it.state).toBe('Terminating.Stopping');
    expect(it.context.gracePeriodSeconds).toBe(20);
  });

  test('a kill in the same tick as a natural end counts, before or after it', () => {
    const it = working().send(kill({ evict: true }), synced({ terminal: true }));
    expect([it.state, it.context.evicted]).toEqual(['Terminating.Stopping', true]);
    const other = working().send(synced({ terminal: true }), kill({ evict: true }));
    expect([other.state, other.context.evicted]).toEqual(['Terminating.Stopping', true]);
  });
});

describe('the grace period', () => {
  test('4: the grace period of a kill overrides that of the spec, even if it is longer', () => {
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

  test('4: a shorter one restarts the stop when the stop is at rest', () => {
    const it = stopping().send(kill(grace(3)));
    expect([it.state, it.asked]).toEqual(['Terminating.Shortening', ['abortStop']]);
    it.send(AT_REST);
    expect([it.state, it.asked, it.context.gracePeriodSeconds]).toEqual([
      'Terminating.Stopping',
      ['startStop'],
      3,
    ]);
  });

  test('4: if it is shortened twice before the stop is at rest, the stop restarts once, with the shortest', () => {
    const it = stopping().send(kill(grace(9)), kill(grace(3)));
    expect(it.asked).toEqual([]);
    it.send(AT_REST);
    expect([it.asked, it.context.gracePeriodSeconds]).toEqual([['startStop'], 3]);
  });

  test('4: the API server shortens it by an update', () => {
    const it = stopping().send(update(testPod({ deleted: true, deletionGracePeriodSeconds: 2 })));
    expect([it.state, it.context.gracePeriodSeconds]).toEqual(['Terminating.Shortening', 2]);
  });

  test('4: a stop that ends before it is aborted is not repeated', () => {
    expect(stopping().send(kill(grace(3)), STOPPED).state).toBe('Terminated.CleaningUp');
  });

  test('4: in Draining it is shortened without another abort', () => {
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
  test('5: the last given status counts', () => {
    const it = stopping().send(
      kill({ podStatus: { phase: 'Failed', reason: 'Preempting' } }),
      kill({ podStatus: { phase: 'Failed', reason: 'Evicted' } }),
      kill(),
    );
    expect(it.context.statusOverride).toEqual({ phase: 'Failed', reason: 'Evicted' });
  });

  test('2: an evicted pod stays evicted', () => {
    expect(draining().send(kill({ evict: true }), kill()).context.evicted).toBe(true);
  });

  test('6: the end is reported once, when no container runs any more', () => {
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
  test('7: a failed stop is repeated', () => {
    const it = stopping().send(STOP_FAILED);
    expect([it.state, it.asked]).toEqual(['Terminating.BackingOff', ['armResync']]);
    expect(it.context.lastOutcome).toEqual({ kind: 'failed' });
    it.send(SYNC);
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['disarmResync', 'startStop']]);
  });

  test('I5: events during a stop start no second stop', () => {
    expect(stopping().send(SYNC).asked).toEqual([]);
    expect(stopping().send(update(testPod({ annotations: { a: 'b' } }))).asked).toEqual([]);
    expect(stopping().send(kill()).asked).toEqual([]);
  });

  test('8: the clean-up is repeated until it succeeds once', () => {
    const it = cleaningUp().send({ type: 'CLEANUP_FAILED' });
    expect([it.state, it.asked]).toEqual(['Terminated.BackingOff', ['armResync']]);
    it.send(SYNC);
    expect(it.asked).toEqual(['disarmResync', 'startCleanup']);
    it.send(CLEANED);
    expect([it.state, it.asked]).toEqual(['Terminated.Finished', ['reportFinished']]);
    expect(it.send(SYNC).asked).toEqual([]);
  });

  test('8: a deletion after the end is stored', () => {
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
    'Syncing.Starting.New: couldHaveRunningContainers starting',
    'Syncing.Working: couldHaveRunningContainers',
    'Syncing.Settled: couldHaveRunningContainers',
    'Syncing.Draining: couldHaveRunningContainers terminationRequested',
    'Terminating.Stopping: couldHaveRunningContainers terminationRequested containersTerminating',
    'Terminated.CleaningUp: terminationRequested containersTerminating terminated',
    'Terminated.Finished: terminationRequested containersTerminating terminated finished',
  ]);
});
