import { describe, expect, test } from '@jest/globals';
import {
  fieldValue,
  fileFieldValue,
  resourceFieldValue,
} from '../../../../src/agent/policies/volumes/downward-fields.ts';
import type { Container, PodSpec } from '../../../../src/types/kubernetes.ts';
import { podOf } from '../../../support/pod-status-facts.ts';

const ADDRESSES = { podIPs: ['10.1.0.7', 'fd00::7'], hostIPs: ['192.168.0.2', 'fd01::2'] };
const POD = podOf(
  { nodeName: 'node-1', serviceAccountName: 'robot' },
  {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u-1',
      labels: { app: 'web' },
      annotations: { 'Example.com/note': 'x' },
    },
  },
);

test.each([
  ['metadata.name', 'web'],
  ['metadata.namespace', 'shop'],
  ['metadata.uid', 'u-1'],
  ['spec.nodeName', 'node-1'],
  ['spec.serviceAccountName', 'robot'],
  ['status.podIP', '10.1.0.7'],
  ['status.podIPs', '10.1.0.7,fd00::7'],
  ['status.hostIP', '192.168.0.2'],
  ['status.hostIPs', '192.168.0.2,fd01::2'],
  ["metadata.labels['app']", 'web'],
  ["metadata.annotations['Example.com/note']", 'x'],
  ['metadata.labels', 'app="web"'],
  ['metadata.annotations', 'Example.com/note="x"'],
  ['spec.host', 'node-1'],
])('%s is "%s"', (fieldPath, want) => {
  expect(fieldValue(POD, fieldPath, ADDRESSES)).toBe(want);
});

describe('a field that the pod does not have', () => {
  test.each([
    'spec.nodeName',
    'spec.serviceAccountName',
    'status.podIP',
    'status.hostIPs',
    "metadata.labels['app']",
    "metadata.annotations['constructor']",
  ])('%s is empty', (fieldPath) => {
    expect(fieldValue(podOf(), fieldPath, { podIPs: [], hostIPs: [] })).toBe('');
  });
});

// The kubelet converts a variable's path first, as a field label of v1 (ConvertDownwardAPIFieldLabel), and then reads the field of the pod.
test.each([
  ['spec.hostname', 'field label not supported: spec.hostname'],
  ['metadata.labels.app', 'field label not supported: metadata.labels.app'],
  ["metadata.labels['app'", "field label not supported: metadata.labels['app'"],
  ["['app']", "field label not supported: ['app']"],
  ['', 'field label not supported: '],
  ["metadata.name['x']", "field label does not support subscript: metadata.name['x']"],
  ["spec.containers['']", "field label does not support subscript: spec.containers['']"],
  ['status.phase', 'unsupported fieldPath: status.phase'],
  ['spec.restartPolicy', 'unsupported fieldPath: spec.restartPolicy'],
  ['spec.schedulerName', 'unsupported fieldPath: spec.schedulerName'],
])('a variable cannot have "%s", in the words of the kubelet', (fieldPath, problem) => {
  expect(() => fieldValue(POD, fieldPath, ADDRESSES)).toThrow(`${problem} (there are: metadata.name, `);
});

test.each(["metadata.labels['Example.com/app']", "metadata.labels['']", "metadata.annotations['it's']"])(
  '%s has no valid key',
  (fieldPath) => {
    expect(() => fieldValue(POD, fieldPath, ADDRESSES)).toThrow(`invalid key subscript in ${fieldPath}: `);
  },
);

test('a file may hold only fields of metadata', () => {
  expect(fileFieldValue(POD, 'metadata.uid')).toBe('u-1');
  expect(() => fileFieldValue(POD, 'spec.nodeName')).toThrow(
    'unsupported fieldPath: spec.nodeName (there are: metadata.name, ',
  );
  expect(() => fileFieldValue(POD, "metadata.name['\"']")).toThrow(
    `fieldPath "metadata.name['\\"']" does not support subscript (there are: metadata.name, `,
  );
});

const NODE = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi' };

type Resources = Container['resources'];

/** The value that container `app` with these resources reads. */
function read(
  resource: string,
  resources: Resources,
  more: { divisor?: string; spec?: Partial<PodSpec> } = {},
) {
  const app: Container = { name: 'app', resources };
  const pod = podOf({ containers: [app], ...more.spec });
  return resourceFieldValue(pod, app, { resource, ...(more.divisor && { divisor: more.divisor }) }, NODE);
}

describe('the value of a resource', () => {
  test('is what the container requests, or is limited to', () => {
    const resources = { requests: { memory: '64Mi' }, limits: { memory: '128Mi' } };
    expect(read('requests.memory', resources)).toBe('67108864');
    expect(read('limits.memory', resources)).toBe('134217728');
  });

  test('is in units of the divisor, rounded up', () => {
    const resources = { limits: { cpu: '1500m', memory: '129Mi' } };
    expect(read('limits.cpu', resources)).toBe('2');
    expect(read('limits.cpu', resources, { divisor: '1m' })).toBe('1500');
    expect(read('limits.memory', resources, { divisor: '1Gi' })).toBe('1');
    expect(read('limits.memory', resources, { divisor: '1Mi' })).toBe('129');
    expect(read('limits.memory', resources, { divisor: '0' })).toBe('135266304');
  });

  test('of a request that is not given is 0, also with a limit', () => {
    expect(read('requests.cpu', { limits: { cpu: '2' } })).toBe('0');
    expect(read('requests.cpu', {})).toBe('0');
  });

  test('of huge pages is that of their size', () => {
    expect(read('limits.hugepages-2Mi', { limits: { 'hugepages-2Mi': '4Mi' } })).toBe('4194304');
    expect(read('limits.hugepages-2Mi', {})).toBe('0');
  });
});

describe('a limit that is not given', () => {
  test('is what the node can give', () => {
    expect([read('limits.cpu', {}), read('limits.ephemeral-storage', {}, { divisor: '1Gi' })]).toEqual([
      '4',
      '100',
    ]);
  });

  test('is that of the whole pod where it is less', () => {
    const ofPod = (memory: string) => ({ spec: { resources: { limits: { memory } } }, divisor: '1Gi' });
    expect(read('limits.memory', {}, ofPod('2Gi'))).toBe('2');
    expect(read('limits.memory', {}, ofPod('64Gi'))).toBe('8');
  });
});

describe('a container that is named', () => {
  const spec = {
    containers: [{ name: 'app' }],
    initContainers: [{ name: 'setup', resources: { limits: { cpu: '3' } } }],
  };
  const ofContainer = (containerName: string) =>
    resourceFieldValue(podOf(spec), spec.containers[0]!, { containerName, resource: 'limits.cpu' }, NODE);

  test('may be another one of the pod, an init container too', () => {
    expect(ofContainer('setup')).toBe('3');
  });

  test('has to exist', () => {
    expect(() => ofContainer('other')).toThrow('container other not found');
  });
});

test.each(['limits.nvidia.com/gpu', 'cpu', 'limits.', 'requests.pods'])('%s is refused', (resource) => {
  expect(() => read(resource, {})).toThrow(
    `unsupported container resource : ${resource} (there are: requests.`,
  );
});
