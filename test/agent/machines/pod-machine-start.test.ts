import { describe, expect, test } from '@jest/globals';
import type { podMachine } from '../../../src/agent/machines/pod-machine.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/agent/policies/pod/pod-kinds.ts';
import { testPod } from '../../support/pods.ts';
import type { Stepper } from '../../support/stepper.ts';
import {
  ADMITTED,
  admitting,
  awaitingName,
  awaitingRemoval,
  awaitingRoom,
  awaitingRuntime,
  create,
  deleted,
  draining,
  grace,
  kill,
  makingRoom,
  NAME_GRANTED,
  NO_ROOM,
  NOT_READY,
  pod,
  READY,
  REFUSED,
  REMOVED,
  ROOM_FREED,
  SHORT,
  stopping,
  SYNC,
  taken,
  update,
} from '../../support/pod-steps.ts';

/** Every state in which a pod waits before its start. */
const STARTING: [string, () => Stepper<typeof podMachine>][] = [
  ['Syncing.Starting.AwaitingRuntime', awaitingRuntime],
  ['Syncing.Starting.AwaitingRemoval', awaitingRemoval],
  ['Syncing.Starting.AwaitingName', awaitingName],
  ['Syncing.Starting.Admitting', admitting],
  ['Syncing.Starting.AwaitingRoom', awaitingRoom],
  ['Syncing.Starting.MakingRoom', makingRoom],
];

describe('before the start', () => {
  test('a pod waits for the runtime, for the removal of an earlier pod of the UID, and for admission', () => {
    const it = pod();
    const way = [create(), READY, REMOVED, ADMITTED].map((event) => [it.send(event).state, it.asked]);
    expect(way).toEqual([
      ['Syncing.Starting.AwaitingRuntime', ['awaitRuntime']],
      ['Syncing.Starting.AwaitingRemoval', ['awaitRemoval']],
      ['Syncing.Starting.Admitting', ['requestRoom']],
      ['Syncing.Working', ['reportAdmitted', 'startSync']],
    ]);
  });

  test('10: a static pod asks for its name before it asks for room', () => {
    const it = awaitingName();
    expect([it.state, it.asked]).toEqual(['Syncing.Starting.AwaitingName', ['requestName']]);
    it.send(NAME_GRANTED);
    expect([it.state, it.asked]).toEqual(['Syncing.Starting.Admitting', ['requestRoom']]);
  });

  test('a pod whose first event is an update starts too', () => {
    expect(pod().send(update()).asked).toEqual(['awaitRuntime']);
  });

  test.each(STARTING)('%s: no container may be started in this state', (state, at) => {
    const it = at();
    expect([it.state, it.hasTag('starting'), it.hasTag('atWork')]).toEqual([state, true, false]);
  });

  test.each(STARTING)('%s: a sync does nothing', (state, at) => {
    const it = at().send(SYNC);
    expect([it.state, it.asked]).toEqual([state, []]);
  });

  test.each(STARTING.slice(1))('%s: if the runtime is lost, the pod waits for it again', (_state, at) => {
    const it = at().send(NOT_READY);
    expect([it.state, it.asked]).toEqual(['Syncing.Starting.AwaitingRuntime', ['awaitRuntime']]);
    expect(it.context.delay?.message).toBe('waits for the container runtime: it is down');
  });

  test('the delay has the newest problem of the runtime', () => {
    const it = awaitingRuntime().send(NOT_READY, { type: 'RUNTIME_NOT_READY', problem: 'still down' });
    expect(it.context.delay?.message).toContain('still down');
    expect(it.send(READY, REMOVED).context.delay).toBeUndefined();
  });

  test('while the removal of an earlier pod is awaited, the delay says so', () => {
    expect(awaitingRemoval().context.delay).toBeUndefined();
    const it = awaitingRemoval().send({ type: 'REMOVING' });
    expect([it.state, it.context.delay?.reason]).toEqual([
      'Syncing.Starting.AwaitingRemoval',
      'RemovingFormerPod',
    ]);
    expect(it.send(REMOVED).context.delay).toBeUndefined();
  });

  test('10: the delay says which pod a static pod waits for, until the name is granted', () => {
    const it = awaitingName().send(taken('waits for the old one'));
    expect([it.state, it.asked, it.context.delay?.message]).toEqual([
      'Syncing.Starting.AwaitingName',
      ['reportDelay'],
      'waits for the old one',
    ]);
    expect(it.send(NAME_GRANTED).context.delay).toBeUndefined();
  });

  test.each(STARTING)('%s: a status that names the claims of the pod is not lost', (state, at) => {
    const claims = [{ name: 'gpu', resourceClaimName: 'web-gpu-1' }];
    const named = { ...testPod(), status: { resourceClaimStatuses: claims } };
    const it = at().send({ type: 'SyncPodSync', pod: named });
    expect([it.state, it.asked, it.context.pod]).toEqual([state, [], named]);
  });

  test.each(STARTING)('%s: the newest version of the pod counts', (state, at) => {
    const newer = testPod({ annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file', version: '2' } });
    const it = at().send(update(newer));
    expect(it.context.pod).toBe(newer);
    expect([state, it.state]).toEqual([
      state,
      state === 'Syncing.Starting.AwaitingRoom' ? 'Syncing.Starting.Admitting' : state,
    ]);
  });
});

describe('room', () => {
  test('a static pod that lacks only room waits for it, and the delay says so', () => {
    const it = awaitingRoom();
    expect([it.state, it.asked]).toEqual(['Syncing.Starting.AwaitingRoom', ['reportDelay']]);
    expect(it.context.delay).toEqual({
      reason: 'OutOfcpu',
      message: 'Waits until others have ended: too little cpu',
    });
  });

  test('when room is freed, the pod asks again, and starts without a delay if it is admitted', () => {
    const it = awaitingRoom().send(ROOM_FREED);
    expect([it.state, it.asked]).toEqual(['Syncing.Starting.Admitting', ['requestRoom']]);
    expect(it.context.delay?.reason).toBe('OutOfcpu');
    it.send(ADMITTED);
    expect([it.state, it.context.delay]).toEqual(['Syncing.Working', undefined]);
  });

  test.each([
    ['a pod that is not static and does not fit', NO_ROOM],
    ['a pod that is rejected for another reason', REFUSED],
  ])('%s ends, with the reason in its status', (_, event) => {
    const it = admitting().send(event);
    expect([it.state, it.asked]).toEqual([
      'Terminated.CleaningUp',
      ['reportRejected', 'reportTerminated', 'startCleanup'],
    ]);
    expect(it.context.rejection?.reason).toBe('reason' in event ? event.reason : '');
  });

  test('a static pod that is rejected for another reason than room ends', () => {
    expect(awaitingName().send(NAME_GRANTED, REFUSED).state).toBe('Terminated.CleaningUp');
  });

  test('a rejected pod with running containers is stopped first', () => {
    const it = pod('running').send(create(), READY, REMOVED, REFUSED);
    expect([it.state, it.asked]).toEqual(['Terminating.Stopping', ['reportRejected', 'startStop']]);
  });

  test('if other pods may be ended for the pod, room is made', () => {
    const it = makingRoom();
    expect([it.state, it.asked]).toEqual(['Syncing.Starting.MakingRoom', ['makeRoom']]);
    it.send({ type: 'PREEMPTING', delay: { reason: 'MakingRoom', message: 'waits for cpu=1' } });
    expect([it.state, it.context.delay?.message]).toEqual(['Syncing.Starting.MakingRoom', 'waits for cpu=1']);
    it.send(ADMITTED);
    expect([it.state, it.context.delay]).toEqual(['Syncing.Working', undefined]);
  });

  test('if no room can be made, a static pod waits, and any other pod is rejected', () => {
    expect(makingRoom().send(NO_ROOM).state).toBe('Terminated.CleaningUp');
    const it = awaitingName().send(NAME_GRANTED, SHORT, NO_ROOM);
    expect([it.state, it.asked]).toEqual(['Syncing.Starting.AwaitingRoom', ['reportDelay']]);
  });
});

describe('an end before the start', () => {
  test.each(STARTING)('11: %s: a deleted pod is cleaned up without a stop effect', (_state, at) => {
    const it = at().send(update(deleted));
    expect([it.state, it.asked]).toEqual(['Terminated.CleaningUp', ['reportTerminated', 'startCleanup']]);
  });

  test('11: a deleted pod is stopped if the runtime holds containers of it', () => {
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
      expect(awaitingRuntime().send(update(deleted), event).state).toBe('Terminated.CleaningUp');
      expect(draining().send(event).state).toBe('Syncing.Draining');
      expect(stopping().send(event).state).toBe('Terminating.Stopping');
    },
  );

  test.each(['nothing', 'ended'] as const)(
    '12: a pod with a terminal phase starts in Terminated if runtimeHolds is %s',
    (holds) => {
      const it = pod(holds).send(create(testPod({ phase: 'Succeeded' })));
      expect(it.state).toBe('Terminated.CleaningUp');
      expect(it.asked).toContain('startCleanup');
    },
  );

  test('12: a pod with a terminal phase is stopped if its containers still run', () => {
    expect(pod('running').send(create(testPod({ phase: 'Failed' }))).state).toBe('Terminating.Stopping');
  });

  test('1, 3: a pod that only the runtime knows is stopped', () => {
    const it = pod('running').send(kill(grace(1)));
    expect([it.state, it.context.gracePeriodSeconds]).toEqual(['Terminating.Stopping', 1]);
  });
});
