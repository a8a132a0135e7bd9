import { expect, test } from '@jest/globals';
import { whyGone } from '../../../src/policies/why/why-gone.ts';
import { whyNode } from '../../../src/policies/why/why-node.ts';

const QUIET = {
  name: 'node-a',
  problems: [],
  conditions: [],
  states: ['Sources.Ready', 'Runtime.Ready', 'Loop.Running'],
  pods: 1,
  waiting: [],
  ending: [],
};

test('a node that is ready says how many pods it has', () => {
  expect(whyNode(QUIET)).toEqual({
    subject: 'node node-a',
    state: 'Ready',
    sentences: ['Node node-a is ready.', '1 pod is here.'],
  });
});

test('a node that is not ready says why, what waits for it and what ends', () => {
  const waiting = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'a/6'];
  const { sentences } = whyNode({
    ...QUIET,
    problems: ['container runtime is down'],
    conditions: ['MemoryPressure'],
    states: ['Sources.Gathering', 'Runtime.NotReady', 'Loop.Running'],
    pods: 7,
    waiting,
    ending: ['b/1'],
  });
  expect(sentences).toEqual([
    'Node node-a is not ready: container runtime is down.',
    'Not every source of pods has been read: nothing is removed.',
    'The container runtime is not ready: no pod is started or synced.',
    'It is under pressure: MemoryPressure.',
    '7 pods are here, 6 of them waiting (a/1, a/2, a/3, a/4, a/5 and 1 more), 1 ending (b/1).',
  ]);
});

test('of a pod that has gone, the event that ended it and the last one are told', () => {
  const event = (reason: string, message: string, second: number) => ({
    metadata: {},
    involvedObject: {},
    reason,
    message,
    lastTimestamp: new Date(Date.UTC(2030, 0, 1, 10, 0, second)).toISOString(),
  });
  const events = [
    event('Preempting', 'Preempted in order to admit critical pod', 1),
    event('Killing', 'Stopping container app', 2),
  ];
  const nowMs = Date.UTC(2030, 0, 1, 10, 4, 2);
  expect(whyGone({ namespace: 'shop', name: 'web', events, nowMs })?.sentences).toEqual([
    'shop/web is not on this node any more.',
    'The last events about it: Preempting at 10:00:01Z (4m1s ago): Preempted in order to admit critical pod; ' +
      'Killing at 10:00:02Z (4m ago): Stopping container app.',
  ]);
  expect(whyGone({ namespace: 'shop', name: 'web', events: [], nowMs })).toBeUndefined();
});
