import { describe, expect, test } from '@jest/globals';
import { podMachine, type PodEvent, type RuntimeHolds } from '../../src/machines/pod-machine.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../src/policies/pod/pod-kinds.ts';
import type { KillPodOptions } from '../../src/policies/sync/pod-termination.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { testPod } from '../support/pods.ts';
import { Stepper } from '../support/stepper.ts';

const create = (pod: Pod = testPod()): PodEvent => ({ type: 'SyncPodCreate', pod });
const update = (pod: Pod = testPod()): PodEvent => ({ type: 'SyncPodUpdate', pod });
const kill = (options?: KillPodOptions): PodEvent => ({ type: 'SyncPodKill', ...(options && { options }) });
const grace = (seconds: number): KillPodOptions => ({ podTerminationGracePeriodSecondsOverride: seconds });
const SYNC: PodEvent = { type: 'SyncPodSync' };
const READY: PodEvent = { type: 'RUNTIME_READY' };
const NOT_READY: PodEvent = { type: 'RUNTIME_NOT_READY', problem: 'it is down' };
const REMOVED: PodEvent = { type: 'REMOVED' };
const NAME_GRANTED: PodEvent = { type: 'NAME_GRANTED' };
const ADMITTED: PodEvent = { type: 'ADMITTED' };
const SHORTAGE = { reason: 'OutOfcpu', message: 'too little cpu' };
const SHORT: PodEvent = { type: 'SHORT', ...SHORTAGE };
const REFUSED: PodEvent = { type: 'REJECTED', reason: 'NodeAffinity', message: 'not here' };
const NO_ROOM: PodEvent = { type: 'REJECTED', ...SHORTAGE, lack: SHORTAGE };
const ROOM_FREED: PodEvent = { type: 'ROOM_FREED' };
const taken = (message: string): PodEvent => ({
  type: 'NAME_TAKEN',
  delay: { reason: 'NameTaken', message },
});
const staticPod = (): Pod => testPod({ annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } });
const synced = (more: { terminal?: boolean; again?: boolean } = {}): PodEvent => ({
  type: 'SYNC_DONE',
  terminal: false,
  again: false,
  ...more,
});
const syncFailed = (again = false): PodEvent => ({ type: 'SYNC_FAILED', reason: { kind: 'failed' }, again });
const STOPPED: PodEvent = { type: 'STOP_DONE' };
const STOP_FAILED: PodEvent = { type: 'STOP_FAILED' };
const CLEANED: PodEvent = { type: 'CLEANUP_DONE' };
const AT_REST: PodEvent = { type: 'AT_REST' };
const deleted = testPod({ deleted: true, deletionGracePeriodSeconds: 20 });

function pod(runtimeHolds: RuntimeHolds = 'nothing') {
  return new Stepper(podMachine, { uid: 'uid-of-web', fullName: 'web_default', runtimeHolds });
}
const awaitingRuntime = (of = testPod()) => pod().send(create(of));
const awaitingRemoval = (of = testPod()) => awaitingRuntime(of).send(READY);
const awaitingName = () => awaitingRemoval(staticPod()).send(REMOVED);
const admitting = () => awaitingRemoval().send(REMOVED);
const awaitingRoom = () => awaitingName().send(NAME_GRANTED, NO_ROOM);
const makingRoom = () => admitting().send(SHORT);
const working = () => admitting().send(ADMITTED);
const settled = () => working().send(synced());
const draining = () => working().send(kill());
const stopping = () => settled().send(kill());
const cleaningUp = () => stopping().send(STOPPED);
const finished = () => cleaningUp().send(CLEANED);

/** Every state in which a pod waits for leave to start. */
const STARTING: [string, () => Stepper<typeof podMachine>][] = [
  ['Syncing.AwaitingRuntime', awaitingRuntime],
  ['Syncing.AwaitingRemoval', awaitingRemoval],
  ['Syncing.AwaitingName', awaitingName],
  ['Syncing.Admitting', admitting],
  ['Syncing.AwaitingRoom', awaitingRoom],
  ['Syncing.MakingRoom', makingRoom],
];

describe('the way to the start', () => {
  test('leads past the runtime, the removal of an earlier pod of the UID, and admission', () => {
    const it = pod();
    const way = [create(), READY, REMOVED, ADMITTED].map((event) => [it.send(event).state, it.asked]);
    expect(way).toEqual([
      ['Syncing.AwaitingRuntime', ['awaitRuntime']],
      ['Syncing.AwaitingRemoval', ['awaitRemoval']],
      ['Syncing.Admitting', ['requestRoom']],
      ['Syncing.Working', ['reportAdmitted', 'startSync']],
    ]);
  });

  test('10: a static pod asks for its name before it asks for room', () => {
    const it = awaitingName();
    expect([it.state, it.asked]).toEqual(['Syncing.AwaitingName', ['requestName']]);
    it.send(NAME_GRANTED);
    expect([it.state, it.asked]).toEqual(['Syncing.Admitting', ['requestRoom']]);
  });

  test('a pod first seen by an update starts as well', () => {
    expect(pod().send(update()).asked).toEqual(['awaitRuntime']);
  });

  test.each(STARTING)('%s: it is no state in which a container may be started', (state, at) => {
    const it = at();
    expect([it.state, it.hasTag('starting'), it.hasTag('atWork')]).toEqual([state, true, false]);
  });

  test.each(STARTING)('%s: a sync does nothing', (state, at) => {
    const it = at().send(SYNC);
    expect([it.state, it.asked]).toEqual([state, []]);
  });

  test.each(STARTING.slice(1))('%s: when the runtime is lost the pod waits for it again', (_state, at) => {
    const it = at().send(NOT_READY);
    expect([it.state, it.asked]).toEqual(['Syncing.AwaitingRuntime', ['awaitRuntime']]);
    expect(it.context.delay?.message).toBe('waits for the container runtime: it is down');
  });

  test('the newest problem of the runtime is known', () => {
    const it = awaitingRuntime().send(NOT_READY, { type: 'RUNTIME_NOT_READY', problem: 'still down' });
    expect(it.context.delay?.message).toContain('still down');
    expect(it.send(READY, REMOVED).context.delay).toBeUndefined();
  });

  test('it is known that the removal of an earlier pod is waited for, until it is done', () => {
    expect(awaitingRemoval().context.delay).toBeUndefined();
    const it = awaitingRemoval().send({ type: 'REMOVING' });
    expect([it.state, it.context.delay?.reason]).toEqual(['Syncing.AwaitingRemoval', 'RemovingFormerPod']);
    expect(it.send(REMOVED).context.delay).toBeUndefined();
  });

  test('10: it is told whose end a static pod waits for, and forgotten when the name is granted', () => {
    const it = awaitingName().send(taken('waits for the old one'));
    expect([it.state, it.asked, it.context.delay?.message]).toEqual([
      'Syncing.AwaitingName',
      ['reportDelay'],
      'waits for the old one',
    ]);
    expect(it.send(NAME_GRANTED).context.delay).toBeUndefined();
  });

  test.each(STARTING)('%s: the newest version of the pod counts', (state, at) => {
    const newer = testPod({ annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file', version: '2' } });
    const it = at().send(update(newer));
    expect(it.context.pod).toBe(newer);
    expect([state, it.state]).toEqual([
      state,
      state === 'Syncing.AwaitingRoom' ? 'Syncing.Admitting' : state,
    ]);
  });
});

describe('room', () => {
  test('a static pod that lacks only room waits for it, and says so', () => {
    const it = awaitingRoom();
    expect([it.state, it.asked]).toEqual(['Syncing.AwaitingRoom', ['reportDelay']]);
    expect(it.context.delay).toEqual({
      reason: 'OutOfcpu',
      message: 'Waits until others have ended: too little cpu',
    });
  });

  test('when some is freed it asks again, and starts without a delay where it is admitted', () => {
    const it = awaitingRoom().send(ROOM_FREED);
    expect([it.state, it.asked]).toEqual(['Syncing.Admitting', ['requestRoom']]);
    expect(it.context.delay?.reason).toBe('OutOfcpu');
    it.send(ADMITTED);
    expect([it.state, it.context.delay]).toEqual(['Syncing.Working', undefined]);
  });

  test.each([
    ['a pod that is not static', NO_ROOM],
    ['a pod that lacks something else', REFUSED],
  ])('%s is rejected, with the reason for its status', (_, event) => {
    const it = admitting().send(event);
    expect([it.state, it.asked]).toEqual([
      'Terminated.CleaningUp',
      ['reportRejected', 'reportTerminated', 'startCleanup'],
    ]);
    expect(it.context.rejection?.reason).toBe('reason' in event ? event.reason : '');
  });

  test('a static pod that lacks something else is rejected', () => {
    expect(awaitingName().send(NAME_GRANTED, REFUSED).state).toBe('Terminated.CleaningUp');
  });

  test('a rejected pod of which something runs is stopped first', () => {
    const it = pod('running').send(create(), READY, REMOVED, REFUSED);
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['reportRejected', 'startStop']]);
  });

  test('where others may be ended for the pod, room is made', () => {
    const it = makingRoom();
    expect([it.state, it.asked]).toEqual(['Syncing.MakingRoom', ['makeRoom']]);
    it.send({ type: 'PREEMPTING', delay: { reason: 'MakingRoom', message: 'waits for cpu=1' } });
    expect([it.state, it.context.delay?.message]).toEqual(['Syncing.MakingRoom', 'waits for cpu=1']);
    it.send(ADMITTED);
    expect([it.state, it.context.delay]).toEqual(['Syncing.Working', undefined]);
  });

  test('where none can be made, a static pod waits and any other is rejected', () => {
    expect(makingRoom().send(NO_ROOM).state).toBe('Terminated.CleaningUp');
    const it = awaitingName().send(NAME_GRANTED, SHORT, NO_ROOM);
    expect([it.state, it.asked]).toEqual(['Syncing.AwaitingRoom', ['reportDelay']]);
  });
});

describe('an end before the start', () => {
  test.each(STARTING)('11: %s: a deleted pod is finished without a stop effect', (_state, at) => {
    const it = at().send(update(deleted));
    expect([it.state, it.asked]).toEqual(['Terminated.Finished', ['reportTerminated', 'reportFinished']]);
  });

  test('11: unless the runtime was seen to hold something of it', () => {
    const it = pod('ended').send(create(deleted));
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['startStop']]);
  });

  test.each(STARTING)(
    '%s: a killed pod needs no stop effect, but its final status is written',
    (_state, at) => {
      const it = at().send(kill({ podStatus: { phase: 'Failed', reason: 'Evicted' } }));
      expect([it.state, it.asked]).toEqual(['Terminated.CleaningUp', ['reportTerminated', 'startCleanup']]);
    },
  );

  test.each([READY, REMOVED, NAME_GRANTED, ADMITTED, SHORT, REFUSED, ROOM_FREED])(
    'I1: $type that comes too late is ignored',
    (event) => {
      expect(awaitingRuntime().send(update(deleted), event).state).toBe('Terminated.Finished');
      expect(draining().send(event).state).toBe('Syncing.Draining');
      expect(stopping().send(event).state).toBe('Terminating.Stopping');
    },
  );

  test.each(['nothing', 'ended'] as const)(
    '12: a pod of terminal phase starts in Terminated when the runtime holds %s',
    (holds) => {
      const it = pod(holds).send(create(testPod({ phase: 'Succeeded' })));
      expect(it.state).toBe('Terminated.CleaningUp');
      expect(it.asked).toContain('startCleanup');
    },
  );

  test('12: a pod of terminal phase of which something still runs is stopped', () => {
    expect(pod('running').send(create(testPod({ phase: 'Failed' }))).state).toBe('Terminating.Stopping');
  });

  test('1, 3: a pod that only the runtime knows is stopped', () => {
    const it = pod('running').send(kill(grace(1)));
    expect([it.state, it.context.gracePeriodSeconds]).toEqual(['Terminating.Stopping', 1]);
  });
});

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
