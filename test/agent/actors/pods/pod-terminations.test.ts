import { beforeEach, expect, test } from '@jest/globals';
import { type PodEnd, PodTerminations } from '../../../../src/agent/actors/pods/pod-terminations.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import type { PodReference } from '../../../../src/types/event-recorder.ts';

const pod = (uid: string): PodReference => ({ name: 'web', namespace: 'default', uid });

let ends: PodTerminations;
let told: string[];

beforeEach(() => {
  ends = new PodTerminations();
  told = [];
});

const listener = (name: string) => (of: PodReference, end: PodEnd) =>
  void told.push(`${name}: ${of.uid} ${end}`);

test('each listener gets each end, in the order of subscription', () => {
  ends.subscribe(listener('first'));
  ends.subscribe(listener('second'));
  ends.tell(pod('a'), 'Terminated');
  ends.tell(pod('a'), 'Finished');
  expect(told).toEqual([
    'first: a Terminated',
    'second: a Terminated',
    'first: a Finished',
    'second: a Finished',
  ]);
});

test('6: all callers that wait for a pod are answered by the end of that pod, and not by the end of another pod', async () => {
  for (const name of ['one', 'two']) void ends.terminated('a').then(() => told.push(name));
  ends.tell(pod('b'), 'Terminated');
  await settled();
  expect(told).toEqual([]);
  ends.tell(pod('a'), 'Terminated');
  await settled();
  expect(told).toEqual(['one', 'two']);
});

test('6: the end of one incarnation does not answer callers that wait for the next one', async () => {
  ends.tell(pod('a'), 'Terminated');
  void ends.terminated('a').then(() => told.push('answered'));
  await settled();
  expect(told).toEqual([]);
});
