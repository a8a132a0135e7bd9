import { expect, test } from '@jest/globals';
import { generateAPIPodStatus } from '../../../src/policies/status/pod-status.ts';
import type { Container, PodSpec } from '../../../src/types/kubernetes.ts';
import { factsOf, podOf } from '../../support/pod-status-facts.ts';

function shown(spec: Partial<PodSpec>) {
  const pod = podOf();
  const { allocatedResources, resources } = generateAPIPodStatus(
    factsOf({ ...pod, spec: { ...pod.spec, ...spec } }, {}),
  );
  return { allocatedResources, resources };
}

test('requests and limits are the sums over the containers that run at one time, as the kubelet writes them', () => {
  const initContainers = [{ name: 'init', resources: { requests: { cpu: '40m' }, limits: { cpu: '3' } } }];
  const containers: Container[] = [
    { name: 'a', resources: { requests: { cpu: '10m', memory: '8Mi' }, limits: { memory: '0.5Gi' } } },
    {
      name: 'b',
      resources: { requests: { cpu: '20m', memory: '8M' }, limits: { memory: '64Mi', cpu: '1.5' } },
    },
  ];
  const requests = { cpu: '40m', memory: '16388608' };
  expect(shown({ initContainers, containers })).toEqual({
    allocatedResources: requests,
    resources: { requests, limits: { cpu: '3', memory: '576Mi' } },
  });
});

test('resources of the pod itself count instead, and overhead is added', () => {
  const containers = [{ name: 'a', resources: { requests: { cpu: '30m', memory: '8Mi' } } }];
  const requests = { cpu: '35m', memory: '100Mi' };
  expect(
    shown({ containers, overhead: { cpu: '5m' }, resources: { requests: { memory: '100Mi' } } }),
  ).toEqual({ allocatedResources: requests, resources: { requests } });
});

test('a request of 0 is shown, and a pod without requests and limits shows that it has none', () => {
  const requests = { cpu: '0' };
  expect(shown({ containers: [{ name: 'a', resources: { requests } }] })).toEqual({
    allocatedResources: requests,
    resources: { requests },
  });
  expect(shown({ containers: [{ name: 'a' }] })).toEqual({ resources: {} });
});
