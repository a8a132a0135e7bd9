/** Who goes for a critical pod, and how: each mistake is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import { PREEMPTION_KILL } from '../../../src/policies/preemption/preemption-message.ts';
import { killed, STOPPED } from './court.ts';
import { CRITICAL, critical, pod, RoomCourt, selected, withPort } from './room-court.ts';

const DRAINED = { type: 'AT_REST' } as const;
const FAILED = { type: 'VICTIM_FAILED', uid: 'a', problem: '' } as const;
const STILL_SHORT = { type: 'STILL_SHORT', rejection: { reason: 'OutOfcpu', message: '' } } as const;
const KILL = { type: 'SyncPodKill', options: PREEMPTION_KILL } as const;

test('a preemption in good order violates nothing', async () => {
  const court = new RoomCourt();
  const [victim] = [court.admitted(pod('a', '2')), court.admitted(pod('b', '2'))];
  court.waiting(critical('new', '2'));
  court.makesRoom('new', [victim]);
  victim.send(DRAINED, STOPPED);
  court.hears('new', { type: 'VICTIM_ENDED', uid: 'a' }, { type: 'ADMITTED' });
  expect(await court.reported()).toEqual([]);
  expect([court.judge.hasReasonToEnd('a'), court.judge.hasReasonToEnd('b')]).toEqual([true, false]);
  expect(court.judge.unsettled).toBeUndefined();
});

describe('nobody goes for a pod', () => {
  test('that is not critical', async () => {
    const court = new RoomCourt();
    const victim = court.admitted(pod('a', '4'));
    court.waiting(pod('new', '2', { priority: 5 }));
    court.makesRoom('new', [victim]);
    expect(await court.reported()).toContain('preemption new: has room made for it, and is not critical');
  });

  test('that something else than room stands against', async () => {
    const court = new RoomCourt();
    const victims = [court.admitted(pod('a', '2')), court.admitted(withPort(8080, critical('b', '2')))];
    court.waiting(withPort(8080, critical('new', '2')));
    court.makesRoom('new', victims.slice(0, 1));
    expect(await court.reported()).toEqual([
      'preemption new: has room made for it, and port 8080 is not free',
    ]);
  });

  test('that does not wait', async () => {
    const court = new RoomCourt();
    const victim = court.admitted(pod('a', '2'));
    court.admitted(critical('new', '2'));
    court.makesRoom('new', [victim]);
    expect(await court.reported()).toContain('preemption new: has room made for it in Syncing.Working');
  });

  test('for which there would not be enough room even so', async () => {
    const court = new RoomCourt();
    const victim = court.admitted(pod('a', '1'));
    court.admitted(critical('b', '3'));
    court.waiting(critical('new', '2'));
    court.makesRoom('new', [victim]);
    expect(await court.reported()).toEqual(['preemption new: others go for it, and it stays short of cpu']);
  });

  test('that has been told to be gone', async () => {
    const court = new RoomCourt();
    const victim = court.admitted(pod('a', '4'));
    const preemptor = court.waiting(critical('new', '2'));
    court.makesRoom('new', [victim]);
    preemptor.send(killed());
    await court.reported();
    court.hears('new', { type: 'VICTIM_ENDED', uid: 'a' });
    expect(await court.reported()).toContain('preemption new: VICTIM_ENDED, though it is gone');
  });
});

describe('nobody goes', () => {
  test('who is as critical, or of higher priority', async () => {
    const court = new RoomCourt();
    const victims = [court.admitted(critical('a', '2')), court.admitted(critical('b', '2', CRITICAL + 1))];
    court.waiting(critical('new', '4'));
    court.makesRoom('new', victims);
    expect(await court.reported()).toEqual([
      'preemption new: a is to go for it, and may not be preempted by it',
      'preemption new: b is to go for it, and may not be preempted by it',
    ]);
  });

  test('who ends already', async () => {
    const court = new RoomCourt();
    const victim = court.admitted(pod('a', '4')).send(killed());
    court.waiting(critical('new', '2'));
    court.makesRoom('new', [victim]);
    expect(await court.reported()).toContain('preemption new: a is to go for it, and is in Syncing.Draining');
  });

  test('who has no room to give', async () => {
    const court = new RoomCourt();
    court.admitted(pod('a', '4'));
    const victim = court.waiting(pod('b', '4'));
    court.waiting(critical('new', '2'));
    court.makesRoom('new', [victim]);
    expect(await court.reported()).toContain('preemption new: b is to go for it, and has no room');
  });

  test('who need not: the others that go are enough', async () => {
    const court = new RoomCourt();
    const victims = ['a', 'b'].map((name) => court.admitted(pod(name, '2')));
    court.waiting(critical('new', '2'));
    court.makesRoom('new', victims);
    expect(await court.reported()).toEqual(['preemption new: b goes for it, and need not']);
  });

  test('who need not: what ends anyway is enough', async () => {
    const court = new RoomCourt();
    const [ending, victim] = [court.admitted(pod('a', '2')).send(killed()), court.admitted(pod('b', '2'))];
    court.waiting(critical('new', '2'));
    court.makesRoom('new', [victim]);
    expect(await court.reported()).toEqual(['preemption new: b goes for it, and need not']);
    expect(ending.snapshot.value).toEqual({ Syncing: 'Draining' });
  });

  test('who has to, where what ends is another’s, or does not come to an end: none of it', async () => {
    const court = new RoomCourt();
    const pods = ['a', 'b', 'c', 'd'].map((name) => court.admitted(pod(name)));
    court.waiting(critical('first'));
    court.makesRoom('first', pods.slice(0, 1));
    court.waiting(critical('second'));
    court.makesRoom('second', pods.slice(1, 2));
    court.nowMs += 45_000;
    court.hears('first', FAILED, STILL_SHORT);
    court.hears('first', selected(['c']));
    pods[2]!.send(KILL);
    expect(await court.reported()).toEqual([]);
  });
});

describe('I9: who goes is told by a kill', () => {
  test('and was chosen before', async () => {
    const court = new RoomCourt();
    court.admitted(pod('a')).send(KILL);
    expect(await court.reported()).toEqual(['I9 a: is ended for another pod, and was not chosen']);
  });

  test('at once', async () => {
    const court = new RoomCourt();
    court.admitted(pod('a', '4'));
    court.waiting(critical('new', '2'));
    court.hears('new', { type: 'PREEMPT' }, selected(['a']));
    expect(await court.reported()).toEqual(['I9 a: was chosen to go, and is not told by SyncPodKill']);
  });

  test('other kills are none of it', async () => {
    const court = new RoomCourt();
    court.admitted(pod('a')).send(killed(5, { podStatus: { phase: 'Failed', reason: 'Preempting' } }));
    expect(await court.reported()).toEqual([]);
  });
});

describe('those that go are waited for', () => {
  /** Of a grace period of 30 s: 45 s are what it is given. */
  function evicting() {
    const court = new RoomCourt();
    const victim = court.admitted(pod('a', '4', { terminationGracePeriodSeconds: 30 }));
    court.waiting(critical('new', '2'));
    court.makesRoom('new', [victim]);
    return { court, victim };
  }

  test('until they have ended', async () => {
    const { court } = evicting();
    court.hears('new', { type: 'VICTIM_ENDED', uid: 'a' });
    expect(await court.reported()).toEqual(['preemption a: counts as ended in Syncing.Draining']);
  });

  test('no longer than they may take', async () => {
    const { court, victim } = evicting();
    court.nowMs += 45_001;
    victim.send(DRAINED, STOPPED);
    court.hears('new', { type: 'VICTIM_ENDED', uid: 'a' });
    expect(await court.reported()).toEqual(['preemption a: is waited for longer than it may take to end']);
  });

  test('and no shorter', async () => {
    const { court } = evicting();
    court.nowMs += 44_999;
    court.hears('new', FAILED);
    expect(await court.reported()).toEqual(['preemption a: is given up before its time']);
  });

  test('and not once more when that was in vain', async () => {
    const { court } = evicting();
    court.nowMs += 45_000;
    court.hears('new', FAILED, STILL_SHORT);
    court.hears('new', selected([], ['a']));
    expect(await court.reported()).toEqual([
      'preemption a: is waited for again, though it has been given up',
    ]);
  });
});

describe('room that is promised', () => {
  /** Two cores are free, two more are being freed, and three are promised. */
  function promised() {
    const court = new RoomCourt();
    const victim = court.admitted(pod('a', '2'));
    court.waiting(critical('new', '3'));
    court.makesRoom('new', [victim]);
    return { court, victim };
  }

  test('is nobody else’s, even where it is free', async () => {
    const { court } = promised();
    court.admitted(pod('b', '1'));
    court.admitted(pod('c', '1'));
    expect(await court.reported()).toEqual(['preemption c: takes what is promised to another pod: cpu']);
  });

  test('goes to a pod of higher priority, if there is one: none of it', async () => {
    const { court } = promised();
    court.admitted(critical('b', '2', CRITICAL + 1));
    expect(await court.reported()).toEqual([]);
  });

  test('is anybody’s again when the pod is gone', async () => {
    const { court } = promised();
    court.hears('new', { type: 'PREEMPTOR_GONE' });
    court.admitted(pod('b', '2'));
    expect(await court.reported()).toEqual([]);
  });

  test('and is not there yet has not been made', async () => {
    const { court } = promised();
    expect(court.judge.unsettled).toBe('new');
    court.hears('new', { type: 'ADMITTED' });
    expect(await court.reported()).toEqual(['admission new: is admitted, and short of cpu']);
  });
});
