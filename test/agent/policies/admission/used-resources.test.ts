import { describe, expect, test } from '@jest/globals';
import {
  areHostPortsFree,
  resourceAmount,
  usedBy,
  insufficientResources,
  NOTHING_USED,
} from '../../../../src/agent/policies/admission/used-resources.ts';
import { parseQuantity } from '../../../../src/agent/policies/formats/quantity.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { type Amounts, requestingPod } from '../../../support/admission.ts';

describe('what pods hold of a node', () => {
  const held = usedBy([
    requestingPod('a', { requests: { cpu: '250m', memory: '1Mi', 'example.com/gpu': '2' } }),
    requestingPod('b', { requests: { cpu: '1', memory: '1Mi' }, overhead: { cpu: '50m' } }),
    requestingPod('c'),
  ]);

  test('is their number', () => {
    expect(held.pods).toBe(3);
  });

  test('is the sum of their requests with overhead: CPU in thousandths, other resources in whole units', () => {
    expect(['cpu', 'memory', 'example.com/gpu', 'hugepages-2Mi'].map((name) => held.amount(name))).toEqual([
      1300, 2_097_152, 2, 0,
    ]);
  });

  test('is their ports of the node, of any protocol and address', () => {
    const containers = [
      {
        name: 'dns',
        ports: [
          { containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '10.0.0.1' },
          { containerPort: 53, hostPort: 53 },
          { containerPort: 8080 },
        ],
      },
    ];
    const ports = usedBy([requestingPod('d', { containers })]);
    expect(ports.portsOf(53).map(({ protocol, hostIp }) => [protocol, hostIp])).toEqual([
      ['UDP', '10.0.0.1'],
      ['TCP', ''],
    ]);
    expect(ports.portsOf(8080)).toEqual([]);
  });

  test('are an error if a request is no quantity', () => {
    expect(() => usedBy([requestingPod('e', { requests: { cpu: 'much' } })]).amount('cpu')).toThrow(
      'quantities',
    );
  });
});

test('an empty node has nothing in use', () => {
  expect([NOTHING_USED.pods, NOTHING_USED.amount('cpu'), NOTHING_USED.portsOf(80)]).toEqual([0, 0, []]);
});

test('amounts are rounded up to the unit in which they are counted', () => {
  expect(resourceAmount('cpu', parseQuantity('100.5m'))).toBe(101);
  expect(resourceAmount('memory', parseQuantity('1500m'))).toBe(2);
});

const ALLOCATABLE = { cpu: '2', memory: '1Gi', 'ephemeral-storage': '1Gi', pods: '3' };

const short = (requests: Amounts, others: Amounts[] = [], allocatable: Amounts = ALLOCATABLE) =>
  insufficientResources(
    requestingPod('new', { requests }),
    usedBy(others.map((amounts, index) => requestingPod(`other-${index}`, { requests: amounts }))),
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

test('a pod fits if it does not request the resource that is overcommitted', () => {
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
  const [failure] = insufficientResources(pod, usedBy([other]), ALLOCATABLE);
  expect(failure).toMatchObject({ requested: 1600, used: 500, capacity: 2000 });
});

type Port = NonNullable<Container['ports']>[number];

const container = (...ports: Partial<Port>[]): Container => ({
  name: 'c',
  ports: ports.map((port) => ({ containerPort: 80, ...port })),
});

const withPorts = (...ports: Partial<Port>[]): Pod =>
  requestingPod('p', { containers: [container(...ports)] });

const free = (wanted: Partial<Port>, used: Partial<Port>) =>
  areHostPortsFree(withPorts(wanted), usedBy([withPorts(used)]));

test('a port of the node belongs to one pod only', () => {
  expect(free({ hostPort: 8080 }, { hostPort: 8080 })).toBe(false);
  expect(free({ hostPort: 8080 }, { hostPort: 8081 })).toBe(true);
  expect(free({ containerPort: 8080 }, { hostPort: 8080 })).toBe(true);
  expect(free({ hostPort: 8080 }, { containerPort: 8080 })).toBe(true);
});

test('each protocol has its own ports; without a protocol it is TCP', () => {
  expect(free({ hostPort: 53, protocol: 'UDP' }, { hostPort: 53 })).toBe(true);
  expect(free({ hostPort: 53, protocol: 'TCP' }, { hostPort: 53 })).toBe(false);
});

test('each address has its own ports, but 0.0.0.0 conflicts with every address', () => {
  const [one, other, all] = ['127.0.0.1', '10.0.0.1', '0.0.0.0'].map((hostIP) => ({ hostPort: 80, hostIP }));
  expect(free(one!, other!)).toBe(true);
  expect(free(one!, one!)).toBe(false);
  expect(free(one!, all!)).toBe(false);
  expect(free(all!, other!)).toBe(false);
  expect(free({ hostPort: 80 }, other!)).toBe(false);
});

test('ports of sidecars count, those of init containers do not', () => {
  const initContainer = (restartPolicy?: string): Pod =>
    requestingPod('p', {
      initContainers: [{ ...container({ hostPort: 80 }), ...(restartPolicy && { restartPolicy }) }],
    });
  const wanted = withPorts({ hostPort: 80 });
  expect(areHostPortsFree(wanted, usedBy([initContainer('Always')]))).toBe(false);
  expect(areHostPortsFree(wanted, usedBy([initContainer()]))).toBe(true);
});

test('a pod on the network of the node holds the ports that it names', () => {
  const onNode = requestingPod('p', { hostNetwork: true, containers: [container({ hostPort: 80 })] });
  expect(areHostPortsFree(onNode, usedBy([withPorts({ hostPort: 80 })]))).toBe(false);
  expect(areHostPortsFree(withPorts({ hostPort: 80 }), usedBy([onNode]))).toBe(false);
});
