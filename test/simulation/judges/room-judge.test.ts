/** What an agent makes of the room on its node: each mistake is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/policies/pod/pod-kinds.ts';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { CLEANED_UP, killed, STOPPED } from './court.ts';
import { critical, pod, RoomCourt, withPort } from './room-court.ts';

const staticPod = (name: string, cpu: string) =>
  pod(name, cpu, { annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } });

/** The agent turns the pod away. */
function reject(court: RoomCourt, rejected: Pod, reason: string): void {
  const status = { phase: 'Failed', reason };
  court.waiting(rejected).send({ type: 'SyncPodUpdate', pod: { ...rejected, status } });
}

describe('pods that may run never request more together than there is', () => {
  test('as much as there is: none of it', async () => {
    const court = new RoomCourt();
    for (const name of ['a', 'b', 'c', 'd']) court.admitted(pod(name));
    expect(await court.reported()).toEqual([]);
  });

  test('one is admitted for which there is not enough', async () => {
    const court = new RoomCourt();
    court.admitted(pod('a', '3'));
    court.admitted(pod('b', '2'));
    expect(await court.reported()).toEqual(['admission b: is admitted, and short of cpu']);
  });

  test('nor are there more pods than there may be', async () => {
    const court = new RoomCourt();
    court.nodeFacts = simulatedNodeFacts({ cpu: '4', memory: '4Gi', pods: '1' });
    court.admitted(pod('a'));
    court.admitted(pod('b'));
    expect(await court.reported()).toEqual(['admission b: is admitted, and short of pods']);
  });

  test('nor does a port belong to two', async () => {
    const court = new RoomCourt();
    court.admitted(withPort(8080, pod('a')));
    court.admitted(withPort(8081, pod('b')));
    court.admitted(withPort(8080, pod('c')));
    expect(await court.reported()).toEqual(['admission c: is admitted, and short of port 8080']);
  });

  test('one that is ending holds what it has, until it is Terminated', async () => {
    const court = new RoomCourt();
    const ending = court.admitted(pod('a', '4')).send(killed());
    court.admitted(pod('b'));
    expect(await court.reported()).toEqual(['admission b: is admitted, and short of cpu']);
    ending.send({ type: 'AT_REST' }, STOPPED);
    court.admitted(pod('c', '3'));
    expect(await court.reported()).toHaveLength(1);
  });

  test('one may come in the moment in which another ends, though that shows later', async () => {
    const court = new RoomCourt();
    const ending = court.admitted(pod('a', '4')).send(killed(), { type: 'AT_REST' });
    court.admitted(pod('b', '4'));
    ending.send(STOPPED);
    expect(await court.reported()).toEqual([]);
  });

  test('what ran before the agent came may stay, and what comes after it has to do with the rest', async () => {
    const court = new RoomCourt(['a', 'b']);
    court.admitted(pod('a', '3'));
    court.admitted(pod('b', '3'));
    expect(await court.reported()).toEqual([]);
    court.admitted(pod('c'));
    expect(await court.reported()).toEqual(['admission c: is admitted, and short of cpu']);
  });

  test('what is there may stay when there is less by now', async () => {
    const court = new RoomCourt();
    court.admitted(pod('a', '3'));
    court.nodeFacts = simulatedNodeFacts({ cpu: '2', memory: '4Gi', pods: '10' });
    court.admitted(pod('b', '0'));
    expect(await court.reported()).toEqual([]);
    court.admitted(pod('c'));
    expect(await court.reported()).toEqual(['admission c: is admitted, and short of cpu']);
  });

  test('one that is to end already is not admitted', async () => {
    const court = new RoomCourt();
    const ending = court.waiting(pod('a')).send(killed());
    court.judge.sees(ending, ending.snapshot, { type: 'START_GRANTED' });
    expect(await court.reported()).toContain('admission a: is admitted in Terminated.CleaningUp');
  });
});

describe('a pod is turned away for a reason that is true', () => {
  test.each([
    ['OutOfcpu', pod('b', '2')],
    ['NodePorts', withPort(8080, pod('b'))],
    ['NodeAffinity', pod('b', '1', { nodeSelector: { disk: 'ssd' } })],
    ['UnexpectedAdmissionError', critical('b', '5')],
  ])('%s: none of it', async (reason, rejected) => {
    const court = new RoomCourt();
    court.admitted(withPort(8080, critical('a', '3')));
    reject(court, rejected, reason);
    expect(await court.reported()).toEqual([]);
    expect(court.judge.hasReasonToEnd('b')).toBe(true);
  });

  test.each([
    ['OutOfcpu', pod('b'), 'and is short of nothing'],
    ['OutOfmemory', pod('b', '2'), 'and is short of cpu'],
    ['NodePorts', withPort(8081, pod('b')), 'and is short of nothing'],
    ['NodeAffinity', pod('b', '5'), 'and is not choosy'],
    ['UnexpectedAdmissionError', critical('b', '2'), 'and could have room'],
  ])('%s, which is not', async (reason, rejected, what) => {
    const court = new RoomCourt();
    court.admitted(withPort(8080, pod('a', '3')));
    reject(court, rejected, reason);
    expect(await court.reported()).toEqual([`admission b: is rejected with ${reason}, ${what}`]);
  });

  test('and not once it has been admitted', async () => {
    const court = new RoomCourt();
    const admitted = court.waiting(critical('a'));
    court.hears('a', { type: 'PREEMPT' }, { type: 'ADMITTED' });
    const status = { phase: 'Failed', reason: 'OutOfcpu' };
    admitted.send({ type: 'SyncPodUpdate', pod: { ...critical('a', '5'), status } });
    expect(await court.reported()).toContain('admission a: is rejected after it was admitted: OutOfcpu');
  });

  test('not for want of room where it ran before the agent came, and runs', async () => {
    const court = new RoomCourt(['a']);
    court.admitted(pod('b', '4'));
    reject(court, pod('a', '2'), 'OutOfcpu');
    expect(await court.reported()).toEqual(['admission a: is rejected with OutOfcpu, and ran before']);
  });
});

describe('a static pod waits no longer than it has to', () => {
  test('not where there is room for it, or it could make some', () => {
    const court = new RoomCourt();
    court.admitted(pod('a', '3'));
    court.waiting(staticPod('b', '1'));
    court.waiting(staticPod('c', '4'));
    for (const uid of ['b', 'c']) expect(court.judge.idleness(uid)).toBe('waits for room that it could have');
  });

  test('not where it runs', () => {
    const court = new RoomCourt(['a']);
    court.waiting(staticPod('a', '5'));
    expect(court.judge.idleness('a')).toBe('waits for room, and runs');
  });

  test('it may where others are as important, or hold its port', () => {
    const court = new RoomCourt();
    court.admitted(withPort(8080, critical('a', '3')));
    court.waiting(staticPod('b', '2'));
    court.waiting(withPort(8080, staticPod('c', '1')));
    expect([court.judge.idleness('b'), court.judge.idleness('c')]).toEqual([undefined, undefined]);
  });

  test('another kind of pod does not wait at all', () => {
    const court = new RoomCourt();
    court.waiting(critical('a', '5'));
    expect(court.judge.idleness('a')).toBe('waits for its start, and stays there');
  });
});

test('another incarnation of a UID has to be admitted anew', async () => {
  const court = new RoomCourt();
  court.admitted(pod('a', '3')).send(killed(), { type: 'AT_REST' }, STOPPED, CLEANED_UP);
  court.admitted(pod('b', '3'));
  court.admitted(pod('a', '3'));
  expect(await court.reported()).toEqual(['admission a: is admitted, and short of cpu']);
});
