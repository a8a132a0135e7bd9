import { expect, test } from '@jest/globals';
import { SimulatedPod } from '../../../src/runtime/simulated/simulated-pod.ts';

test('the calls, events and sandboxes of a pod are counted, each on its own', () => {
  const pod = new SimulatedPod('pod');
  const numbers = [pod.next('StartContainer'), pod.next('StartContainer'), pod.next('Event')];
  expect(numbers).toEqual([1, 2, 1]);
  expect(new SimulatedPod('other').next('StartContainer')).toBe(1);
});

test('a pod is empty without sandboxes and calls', () => {
  const pod = new SimulatedPod('pod');
  expect(pod.isEmpty()).toBe(true);
  pod.calls.add({} as never);
  expect(pod.isEmpty()).toBe(false);
  pod.calls.clear();
  pod.sandboxes.push({} as never);
  expect(pod.isEmpty()).toBe(false);
});
