/** Each wrong choice of victims, and each wrong wait for them, is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import { PREEMPTION_KILL } from '../../../src/agent/policies/preemption/preemption-message.ts';
import { killed, STOPPED } from './lifecycle-judge-bed.ts';
import { CRITICAL, critical, pod, AdmissionJudgeBed, selected, withPort } from './admission-judge-bed.ts';

const DRAINED = { type: 'AT_REST' } as const;
const FAILED = { type: 'VICTIM_FAILED', uid: 'a', problem: '' } as const;
const STILL_SHORT = { type: 'STILL_SHORT', rejection: { reason: 'OutOfcpu', message: '' } } as const;
const KILL = { type: 'SyncPodKill', options: PREEMPTION_KILL } as const;

test('a preemption in good order violates nothing', async () => {
  const bed = new AdmissionJudgeBed();
  const [victim] = [bed.admitted(pod('a', '2')), bed.admitted(pod('b', '2'))];
  bed.waiting(critical('new', '2'));
  bed.makesRoom('new', [victim]);
  victim.send(DRAINED, STOPPED);
  bed.receives('new', { type: 'VICTIM_ENDED', uid: 'a' }, { type: 'ADMITTED' });
  expect(await bed.reported()).toEqual([]);
  expect([bed.judge.hasReasonToEnd('a'), bed.judge.hasReasonToEnd('b')]).toEqual([true, false]);
  expect(bed.judge.unfinishedPreemption).toBeUndefined();
});

describe('no victim is chosen for a pod', () => {
  test('that is not critical', async () => {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '4'));
    bed.waiting(pod('new', '2', { priority: 5 }));
    bed.makesRoom('new', [victim]);
    expect(await bed.reported()).toContain('preemption new: has room made for it, and is not critical');
  });

  test('that lacks something else than room', async () => {
    const bed = new AdmissionJudgeBed();
    const victims = [bed.admitted(pod('a', '2')), bed.admitted(withPort(8080, critical('b', '2')))];
    bed.waiting(withPort(8080, critical('new', '2')));
    bed.makesRoom('new', victims.slice(0, 1));
    expect(await bed.reported()).toEqual(['preemption new: has room made for it, and port 8080 is not free']);
  });

  test('that does not wait for its start', async () => {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '2'));
    bed.admitted(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    expect(await bed.reported()).toContain('preemption new: has room made for it in Syncing.Working');
  });

  test('that would not fit even without the victims', async () => {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '1'));
    bed.admitted(critical('b', '3'));
    bed.waiting(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    expect(await bed.reported()).toEqual([
      'preemption new: other pods are ended for it, and it stays short of cpu',
    ]);
  });

  test('but room may be made for one that fits only with what a resize gives back in the same turn', async () => {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '1'));
    const resized = bed.admitted(critical('b', '3'));
    bed.waiting(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    resized.send({ type: 'SyncPodUpdate', pod: critical('b', '2') });
    expect(await bed.reported()).toEqual([]);
  });

  test('that is gone', async () => {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '4'));
    const preemptor = bed.waiting(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    preemptor.send(killed());
    await bed.reported();
    bed.receives('new', { type: 'VICTIM_ENDED', uid: 'a' });
    expect(await bed.reported()).toContain('preemption new: VICTIM_ENDED, though it is gone');
  });
});

describe('a pod is no victim', () => {
  test('if it is as critical, or of higher priority', async () => {
    const bed = new AdmissionJudgeBed();
    const victims = [bed.admitted(critical('a', '2')), bed.admitted(critical('b', '2', CRITICAL + 1))];
    bed.waiting(critical('new', '4'));
    bed.makesRoom('new', victims);
    expect(await bed.reported()).toEqual([
      'preemption new: a is chosen as its victim, and may not be preempted by it',
      'preemption new: b is chosen as its victim, and may not be preempted by it',
    ]);
  });

  test('if it is ending already', async () => {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '4')).send(killed());
    bed.waiting(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    expect(await bed.reported()).toContain('preemption new: a is chosen as its victim in Syncing.Draining');
  });

  test('if it holds no room', async () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(pod('a', '4'));
    const victim = bed.waiting(pod('b', '4'));
    bed.waiting(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    expect(await bed.reported()).toContain('preemption new: b is chosen as its victim, and holds no room');
  });

  test('if the other victims free enough', async () => {
    const bed = new AdmissionJudgeBed();
    const victims = ['a', 'b'].map((name) => bed.admitted(pod(name, '2')));
    bed.waiting(critical('new', '2'));
    bed.makesRoom('new', victims);
    expect(await bed.reported()).toEqual(['preemption new: b is ended for it, and need not be']);
  });

  test('but it may be one if another pod gives back enough only after that', async () => {
    const bed = new AdmissionJudgeBed();
    const [resized, victim] = [bed.admitted(pod('a', '3')), bed.admitted(pod('b', '1'))];
    bed.waiting(critical('new', '1'));
    bed.makesRoom('new', [victim]);
    resized.send({ type: 'SyncPodUpdate', pod: pod('a', '1') });
    expect(await bed.reported()).toEqual([]);
  });

  test('if pods that are ending anyway free enough', async () => {
    const bed = new AdmissionJudgeBed();
    const [ending, victim] = [bed.admitted(pod('a', '2')).send(killed()), bed.admitted(pod('b', '2'))];
    bed.waiting(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    expect(await bed.reported()).toEqual(['preemption new: b is ended for it, and need not be']);
    expect(ending.snapshot.value).toEqual({ Syncing: 'Draining' });
  });

  test('but it may be one if what is ending is promised to another pod, or does not end in time', async () => {
    const bed = new AdmissionJudgeBed();
    const pods = ['a', 'b', 'c', 'd'].map((name) => bed.admitted(pod(name)));
    bed.waiting(critical('first'));
    bed.makesRoom('first', pods.slice(0, 1));
    bed.waiting(critical('second'));
    bed.makesRoom('second', pods.slice(1, 2));
    bed.nowMs += 45_000;
    bed.receives('first', FAILED, STILL_SHORT);
    bed.receives('first', selected(['c']));
    pods[2]!.send(KILL);
    expect(await bed.reported()).toEqual([]);
  });
});

describe('I9: victims are told by a kill', () => {
  test('a pod is killed that was not chosen', async () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(pod('a')).send(KILL);
    expect(await bed.reported()).toEqual(['I9 a: is ended for another pod, and was not chosen']);
  });

  test('a victim is not killed at once', async () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(pod('a', '4'));
    bed.waiting(critical('new', '2'));
    bed.receives('new', { type: 'PREEMPT' }, selected(['a']));
    expect(await bed.reported()).toEqual(['I9 a: was chosen as a victim, and is not told by SyncPodKill']);
  });

  test('other kills violate nothing', async () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(pod('a')).send(killed(5, { podStatus: { phase: 'Failed', reason: 'Preempting' } }));
    expect(await bed.reported()).toEqual([]);
  });
});

describe('the preemptor waits for its victims', () => {
  /** A victim with a grace period of 30 s. The agent waits for it 1.5 times as long: 45 s. */
  function evicting() {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '4', { terminationGracePeriodSeconds: 30 }));
    bed.waiting(critical('new', '2'));
    bed.makesRoom('new', [victim]);
    return { bed, victim };
  }

  test('until they have ended', async () => {
    const { bed } = evicting();
    bed.receives('new', { type: 'VICTIM_ENDED', uid: 'a' });
    expect(await bed.reported()).toEqual(['preemption a: counts as ended in Syncing.Draining']);
  });

  test('no longer than that', async () => {
    const { bed, victim } = evicting();
    bed.nowMs += 45_001;
    victim.send(DRAINED, STOPPED);
    bed.receives('new', { type: 'VICTIM_ENDED', uid: 'a' });
    expect(await bed.reported()).toEqual(['preemption a: is waited for longer than it may take to end']);
  });

  test('no shorter than that', async () => {
    const { bed } = evicting();
    bed.nowMs += 44_999;
    bed.receives('new', FAILED);
    expect(await bed.reported()).toEqual(['preemption a: is given up before its time']);
  });

  test('not again after it has given them up', async () => {
    const { bed } = evicting();
    bed.nowMs += 45_000;
    bed.receives('new', FAILED, STILL_SHORT);
    bed.receives('new', selected([], ['a']));
    expect(await bed.reported()).toEqual(['preemption a: is waited for again, though it has been given up']);
  });
});

describe('promised room', () => {
  /** Two cores are free, two more are being freed, and three are promised. */
  function promised() {
    const bed = new AdmissionJudgeBed();
    const victim = bed.admitted(pod('a', '2'));
    bed.waiting(critical('new', '3'));
    bed.makesRoom('new', [victim]);
    return { bed, victim };
  }

  test('is not for other pods, even if it is free', async () => {
    const { bed } = promised();
    bed.admitted(pod('b', '1'));
    bed.admitted(pod('c', '1'));
    expect(await bed.reported()).toEqual(['preemption c: takes what is promised to another pod: cpu']);
  });

  test('may go to a pod of higher priority', async () => {
    const { bed } = promised();
    bed.admitted(critical('b', '2', CRITICAL + 1));
    expect(await bed.reported()).toEqual([]);
  });

  test('is free again when the preemptor is gone', async () => {
    const { bed } = promised();
    bed.receives('new', { type: 'PREEMPTOR_GONE' });
    bed.admitted(pod('b', '2'));
    expect(await bed.reported()).toEqual([]);
  });

  test('may not be used before the victims have ended', async () => {
    const { bed } = promised();
    expect(bed.judge.unfinishedPreemption).toBe('new');
    bed.receives('new', { type: 'ADMITTED' });
    expect(await bed.reported()).toEqual(['admission new: is admitted, and short of cpu']);
  });
});
