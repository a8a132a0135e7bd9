/** Each wrong admission and rejection is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/agent/policies/pod/pod-kinds.ts';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import { CLEANED_UP, killed, STOPPED } from './lifecycle-judge-bed.ts';
import { LEAVE_TO_ASK_FOR_ROOM } from '../../support/pod-chart.ts';
import { critical, pod, AdmissionJudgeBed, withPort } from './admission-judge-bed.ts';

const staticPod = (name: string, cpu: string) =>
  pod(name, cpu, { annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } });

describe('the requests of all pods that may run fit into the node', () => {
  test('pods that together request all that is allocatable may be admitted', async () => {
    const bed = new AdmissionJudgeBed();
    for (const name of ['a', 'b', 'c', 'd']) bed.admitted(pod(name));
    expect(await bed.reported()).toEqual([]);
  });

  test('a pod is admitted for which there is not enough CPU', async () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(pod('a', '3'));
    bed.admitted(pod('b', '2'));
    expect(await bed.reported()).toEqual(['admission b: is admitted, and short of cpu']);
  });

  test('a pod is admitted beyond the allowed number of pods', async () => {
    const bed = new AdmissionJudgeBed();
    bed.nodeFacts = simulatedNodeFacts({ cpu: '4', memory: '4Gi', pods: '1' });
    bed.admitted(pod('a'));
    bed.admitted(pod('b'));
    expect(await bed.reported()).toEqual(['admission b: is admitted, and short of pods']);
  });

  test('a pod is admitted although its host port is taken', async () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(withPort(8080, pod('a')));
    bed.admitted(withPort(8081, pod('b')));
    bed.admitted(withPort(8080, pod('c')));
    expect(await bed.reported()).toEqual(['admission c: is admitted, and short of port 8080']);
  });

  test('an ending pod holds its resources until it is Terminated', async () => {
    const bed = new AdmissionJudgeBed();
    const ending = bed.admitted(pod('a', '4')).send(killed());
    bed.admitted(pod('b'));
    expect(await bed.reported()).toEqual(['admission b: is admitted, and short of cpu']);
    ending.send({ type: 'AT_REST' }, STOPPED);
    bed.admitted(pod('c', '3'));
    expect(await bed.reported()).toHaveLength(1);
  });

  test('a pod may be admitted at the end of another one, though that end shows a microtask later', async () => {
    const bed = new AdmissionJudgeBed();
    const ending = bed.admitted(pod('a', '4')).send(killed(), { type: 'AT_REST' });
    bed.admitted(pod('b', '4'));
    ending.send(STOPPED);
    expect(await bed.reported()).toEqual([]);
  });

  test('pods that ran before the agent started may stay, and later ones must fit beside them', async () => {
    const bed = new AdmissionJudgeBed(['a', 'b']);
    bed.admitted(pod('a', '3'));
    bed.admitted(pod('b', '3'));
    expect(await bed.reported()).toEqual([]);
    bed.admitted(pod('c'));
    expect(await bed.reported()).toEqual(['admission c: is admitted, and short of cpu']);
  });

  test('admitted pods may stay when the node has become smaller', async () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(pod('a', '3'));
    bed.nodeFacts = simulatedNodeFacts({ cpu: '2', memory: '4Gi', pods: '10' });
    bed.admitted(pod('b', '0'));
    expect(await bed.reported()).toEqual([]);
    bed.admitted(pod('c'));
    expect(await bed.reported()).toEqual(['admission c: is admitted, and short of cpu']);
  });

  test('a pod that was told to end is admitted', async () => {
    const bed = new AdmissionJudgeBed();
    const ending = bed.waiting(pod('a')).send(killed());
    bed.judge.onSnapshot(ending, ending.snapshot, { type: 'ADMITTED' });
    expect(await bed.reported()).toContain('admission a: is admitted in Terminated.CleaningUp');
  });
});

describe('a pod is rejected for a reason that is true', () => {
  test.each([
    ['OutOfcpu', pod('b', '2')],
    ['NodePorts', withPort(8080, pod('b'))],
    ['NodeAffinity', pod('b', '1', { nodeSelector: { disk: 'ssd' } })],
    ['UnexpectedAdmissionError', critical('b', '5')],
  ])('%s is true', async (reason, rejected) => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(withPort(8080, critical('a', '3')));
    bed.rejected(rejected, reason);
    expect(await bed.reported()).toEqual([]);
    expect(bed.judge.hasReasonToEnd('b')).toBe(true);
  });

  test.each([
    ['OutOfcpu', pod('b'), 'and is short of nothing'],
    ['OutOfmemory', pod('b', '2'), 'and is short of cpu'],
    ['NodePorts', withPort(8081, pod('b')), 'and is short of nothing'],
    ['NodeAffinity', pod('b', '5'), 'and has no node selector'],
    ['UnexpectedAdmissionError', critical('b', '2'), 'and could have room'],
  ])('%s is not true', async (reason, rejected, what) => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(withPort(8080, pod('a', '3')));
    bed.rejected(rejected, reason);
    expect(await bed.reported()).toEqual([`admission b: is rejected with ${reason}, ${what}`]);
  });

  test('a pod is rejected after it was admitted', async () => {
    const bed = new AdmissionJudgeBed();
    const admitted = bed.waiting(critical('a'));
    bed.receives('a', { type: 'PREEMPT' }, { type: 'ADMITTED' });
    const update: PodEvent = { type: 'SyncPodUpdate', pod: critical('a', '5') };
    const message = 'no cpu';
    admitted.send(update, ...LEAVE_TO_ASK_FOR_ROOM, { type: 'REJECTED', reason: 'OutOfcpu', message });
    expect(await bed.reported()).toContain('admission a: is rejected after it was admitted: OutOfcpu');
  });

  test('a pod that has run since before the agent started is rejected for lack of room', async () => {
    const bed = new AdmissionJudgeBed(['a']);
    bed.admitted(pod('b', '4'));
    bed.rejected(pod('a', '2'), 'OutOfcpu');
    expect(await bed.reported()).toEqual(['admission a: is rejected with OutOfcpu, and ran before']);
  });
});

describe('a static pod does not wait needlessly', () => {
  test('it waits although there is room for it, or room can be made', () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(pod('a', '3'));
    bed.waiting(staticPod('b', '1'));
    bed.waiting(staticPod('c', '4'));
    for (const uid of ['b', 'c'])
      expect(bed.judge.needlessWait(uid)).toBe('waits for room that it could have');
  });

  test('it waits although it runs', () => {
    const bed = new AdmissionJudgeBed(['a']);
    bed.waiting(staticPod('a', '5'));
    expect(bed.judge.needlessWait('a')).toBe('waits for room, and runs');
  });

  test('it may wait while pods of the same priority, or a pod with its port, run', () => {
    const bed = new AdmissionJudgeBed();
    bed.admitted(withPort(8080, critical('a', '3')));
    bed.waiting(staticPod('b', '2'));
    bed.waiting(withPort(8080, staticPod('c', '1')));
    expect([bed.judge.needlessWait('b'), bed.judge.needlessWait('c')]).toEqual([undefined, undefined]);
  });

  test('a pod that is not static does not wait at all', () => {
    const bed = new AdmissionJudgeBed();
    bed.waiting(critical('a', '5'));
    expect(bed.judge.needlessWait('a')).toBe('waits for its start, and stays there');
  });
});

test('another incarnation of a UID must be admitted again', async () => {
  const bed = new AdmissionJudgeBed();
  bed.admitted(pod('a', '3')).send(killed(), { type: 'AT_REST' }, STOPPED, CLEANED_UP);
  bed.admitted(pod('b', '3'));
  bed.admitted(pod('a', '3'));
  expect(await bed.reported()).toEqual(['admission a: is admitted, and short of cpu']);
});
