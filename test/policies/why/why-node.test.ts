import { expect, test } from '@jest/globals';
import { whyNode } from '../../../src/policies/why/why-node.ts';

const NOW = Date.UTC(2030, 0, 1, 10, 32);
const QUIET = {
  name: 'node-a',
  problems: [],
  conditions: [],
  states: ['Sources.Ready', 'Runtime.Ready', 'Loop.Running'],
  nowMs: NOW,
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
