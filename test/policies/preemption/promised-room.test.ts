import { describe, expect, test } from '@jest/globals';
import {
  admitPodBeside,
  type ComingRoom,
  holdersOnceFreed,
  lessYielding,
} from '../../../src/policies/preemption/promised-room.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { requestingPod, testNode } from '../../support/admission.ts';

const NODE = testNode();
const QUIET: ComingRoom = { ending: new Set(), promisedTo: [] };

const pod = (name: string, cpu: string, critical = false) =>
  requestingPod(name, { critical, requests: { cpu } });
const room = (ending: readonly string[], ...promisedTo: Pod[]): ComingRoom => ({
  ending: new Set(ending),
  promisedTo,
});
const namesOf = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

test('ending pods will hold nothing, and waiting pods what they wait for, but not the pod itself', () => {
  const [first, second] = [pod('first', '1', true), pod('second', '1', true)];
  const holders = [pod('a', '1'), pod('b', '1')];
  expect(namesOf(holdersOnceFreed(second, holders, room(['a'], first, second)))).toEqual(['b', 'first']);
});

test('promises to pods that the pod could preempt do not count for it', () => {
  const higher = requestingPod('higher', { priority: 2_000_000_001 });
  const equal = requestingPod('equal', { priority: 2_000_000_001 });
  const coming = lessYielding(higher, room(['a'], pod('first', '1', true), equal));
  expect([namesOf(coming.promisedTo), [...coming.ending]]).toEqual([['equal'], ['a']]);
});

describe('a pod that comes while resources are promised to another', () => {
  const critical = pod('critical', '2', true);
  const holders = [pod('a', '2'), pod('b', '1')];
  const waiting = room(['a'], critical);
  const admit = (newcomer: Pod, others = holders, coming = waiting) =>
    admitPodBeside(NODE, newcomer, others, coming);

  test('is admitted if it fits beside what is promised', () => {
    expect(admit(pod('new', '1')).kind).toBe('admitted');
  });

  test('gets nothing that is promised, even if it is free now', () => {
    const free = [pod('b', '1')];
    expect(admit(pod('new', '2'), free).kind).toBe('rejected');
    expect(admit(pod('new', '2', true), free).kind).toBe('short');
    expect(admit(pod('new', '2'), free, QUIET).kind).toBe('admitted');
  });

  test('gets nothing that is not free yet', () => {
    expect(admit(pod('new', '2'), holders, room(['a'])).kind).toBe('rejected');
  });

  test('the pod to which it is promised gets it once it is free', () => {
    expect(admit(critical, [pod('b', '1')]).kind).toBe('admitted');
    expect(admit(critical).kind).toBe('short');
  });
});

test('a pod of higher priority gets what is promised to another if it does not fit otherwise', () => {
  const higher = (cpu: string) => requestingPod('higher', { priority: 2_000_000_001, requests: { cpu } });
  expect(admitPodBeside(NODE, higher('4'), [], room([], pod('first', '1', true))).kind).toBe('admitted');
});
