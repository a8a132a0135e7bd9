import { describe, expect, test } from '@jest/globals';
import { resourceFieldValue } from '../../../src/policies/volumes/downward-resources.ts';
import type { Container, PodSpec } from '../../../src/types/kubernetes.ts';
import { podOf } from '../../support/pod-status-facts.ts';

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
