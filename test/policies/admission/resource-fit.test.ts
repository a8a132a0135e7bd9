import { expect, test } from '@jest/globals';
import { insufficientResources } from '../../../src/policies/admission/resource-fit.ts';
import { heldBy } from '../../../src/policies/admission/held-resources.ts';
import { type Amounts, requestingPod } from '../../support/admission.ts';

const ALLOCATABLE = { cpu: '2', memory: '1Gi', 'ephemeral-storage': '1Gi', pods: '3' };

const short = (requests: Amounts, others: Amounts[] = [], allocatable: Amounts = ALLOCATABLE) =>
  insufficientResources(
    requestingPod('new', { requests }),
    heldBy(others.map((amounts, index) => requestingPod(`other-${index}`, { requests: amounts }))),
    allocatable,
  ).map(({ resource, requested, used, capacity }) => [resource, requested, used, capacity]);

test('a pod fits if it requests exactly what is free', () => {
  expect(short({ cpu: '500m', memory: '512Mi' }, [{ cpu: '1.5', memory: '0.5Gi' }])).toEqual([]);
});

test('cpu is counted in thousandths, all other resources in whole units', () => {
  expect(short({ cpu: '501m', memory: '1025Mi' }, [{ cpu: '1500m' }])).toEqual([
    ['cpu', 501, 1500, 2000],
    ['memory', 1025 * 2 ** 20, 0, 2 ** 30],
  ]);
});

test('all resources that are short are listed: pods, cpu, memory, storage, then the others by name', () => {
  const others = [{}, {}, {}];
  const requests = {
    'example.com/b': '1',
    'hugepages-2Mi': '2Mi',
    'example.com/a': '1',
    'ephemeral-storage': '2Gi',
    memory: '2Gi',
    cpu: '3',
  };
  const allocatable = { ...ALLOCATABLE, 'example.com/a': '0', 'example.com/b': '0' };
  const names = short(requests, others, allocatable).map(([name]) => name);
  expect(names).toEqual([
    'pods',
    'cpu',
    'memory',
    'ephemeral-storage',
    'example.com/a',
    'example.com/b',
    'hugepages-2Mi',
  ]);
});

test('a pod fits if it does not request the resource of which more is held than there is', () => {
  expect(short({ memory: '1Mi', cpu: '0' }, [{ cpu: '9' }])).toEqual([]);
});

test('each pod counts as one of the number of pods', () => {
  expect(short({}, [{}, {}])).toEqual([]);
  expect(short({}, [{}, {}, {}])).toEqual([['pods', 1, 3, 3]]);
});

test('an extended resource that the node does not list is not checked; huge pages are', () => {
  expect(short({ 'example.com/gpu': '1' })).toEqual([]);
  expect(short({ 'example.com/gpu': '2' }, [], { ...ALLOCATABLE, 'example.com/gpu': '1' })).toEqual([
    ['example.com/gpu', 2, 0, 1],
  ]);
  expect(short({ 'hugepages-1Gi': '1Gi' })).toEqual([['hugepages-1Gi', 2 ** 30, 0, 0]]);
  expect(short({ storage: '1Gi' })).toEqual([]);
});

test('overhead and requests of the pod itself count, for the new pod and for the others', () => {
  const pod = requestingPod('new', { resources: { requests: { cpu: '1' } }, overhead: { cpu: '600m' } });
  const other = requestingPod('other', { requests: { cpu: '3' }, resources: { requests: { cpu: '500m' } } });
  const [failure] = insufficientResources(pod, heldBy([other]), ALLOCATABLE);
  expect(failure).toMatchObject({ requested: 1600, used: 500, capacity: 2000 });
});
