import { expect, test } from '@jest/globals';
import { computePodQOS } from '../../../../src/agent/policies/pod/qos.ts';
import { withDefaults } from '../../../../src/agent/sources/defaults/pod-defaults.ts';
import { canonicalAmounts } from '../../../../src/agent/sources/defaults/resource-defaults.ts';

const made = (spec: object = {}) => withDefaults({ containers: [{ name: 'main' }], ...spec });
const container = (fields: object, spec: object = {}) =>
  made({ ...spec, containers: [{ name: 'main', ...fields }] }).containers[0];

const podOf = (spec: object) => ({
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: made(spec),
});

test('a resource without a request requests its limit; quantities become canonical', () => {
  expect(
    container({ resources: { limits: { cpu: 0.5, memory: '1Gi' }, requests: { cpu: '100m' } } })?.resources,
  ).toEqual({
    limits: { cpu: '500m', memory: '1Gi' },
    requests: { cpu: '100m', memory: '1Gi' },
  });
});

test('a pod with limits requests the sum of its containers, and its limit of resources that no container requests', () => {
  const resources = { limits: { cpu: 1, memory: '64Mi' } };
  const ofContainers = { initContainers: [{ name: 'a', resources: { requests: { cpu: '0.02' } } }] };
  expect(made({ resources, ...ofContainers }).resources).toEqual({
    limits: { cpu: '1', memory: '64Mi' },
    requests: { cpu: '20m', memory: '64Mi' },
  });
  expect(computePodQOS(podOf({ resources, ...ofContainers }))).toBe('Burstable');
  expect(computePodQOS(podOf({ resources }))).toBe('Guaranteed');
});

test('a pod whose resources are empty requests nothing as a whole', () => {
  const containers = [{ name: 'a', resources: { requests: { cpu: '1' } } }];
  expect(made({ resources: { limits: {} }, containers }).resources).toEqual({ limits: {} });
});

test('the limit of a pod on huge pages is the sum of its containers, and is requested', () => {
  const resources = { limits: { 'hugepages-2Mi': '4Mi', memory: '1Gi' } };
  const pod = made({ resources: { limits: { memory: '2Gi' } }, containers: [{ name: 'a', resources }] });
  expect(pod.resources).toEqual({
    limits: { 'hugepages-2Mi': '4Mi', memory: '2Gi' },
    requests: { 'hugepages-2Mi': '4Mi', memory: '1Gi' },
  });
});

test('amounts finer than a thousandth are rounded up', () => {
  expect(canonicalAmounts({ cpu: '0.0001', memory: 1000 })).toEqual({ cpu: '1m', memory: '1k' });
});
