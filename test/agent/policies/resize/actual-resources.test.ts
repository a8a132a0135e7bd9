import { expect, test } from '@jest/globals';
import { actualResources } from '../../../../src/agent/policies/resize/actual-resources.ts';
import type { RuntimeContainerStatus } from '../../../../src/types/runtime-pod.ts';

const MIB = 1024 ** 2;
const ALLOCATED = {
  requests: { cpu: '100m', memory: '64Mi' },
  limits: { cpu: '200m', memory: '128Mi' },
};
const GIVEN = {
  container: { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
};

const actual = (instance: Partial<RuntimeContainerStatus>) =>
  actualResources(ALLOCATED, { state: 'running', ...instance } as RuntimeContainerStatus);

test('a container that does not run is shown with what it will start with', () => {
  expect(actual({ state: 'exited', given: GIVEN })).toBe(ALLOCATED);
});

test('where the runtime reports nothing, a container has what it was told last', () => {
  expect(actual({ given: GIVEN })).toEqual(GIVEN.container);
  expect(actual({})).toEqual(ALLOCATED);
});

test('what the runtime reports counts; memory requests are reported by none', () => {
  const limits = { cpuShares: 307, cpuLimitMilli: 500, memoryLimitBytes: 256 * MIB };
  expect(actual({ given: GIVEN, limits })).toEqual({
    requests: { cpu: '300m', memory: '32Mi' },
    limits: { cpu: '500m', memory: '256Mi' },
  });
});

test('amounts that a runtime rounds are shown as the spec writes them', () => {
  const given = { container: { requests: { cpu: '0.1', memory: '32Mi' }, limits: { cpu: '5m' } } };
  const limits = { cpuShares: 102, cpuLimitMilli: 10, memoryLimitBytes: undefined };
  expect(actual({ given, limits })).toMatchObject({ requests: { cpu: '0.1' }, limits: { cpu: '5m' } });
});

test('other resources do not change, and a missing list stays missing', () => {
  const allocated = { limits: { 'example.com/gpu': '1' } };
  const instance: Partial<RuntimeContainerStatus> = { state: 'running', given: GIVEN };
  expect(actualResources(allocated, instance as RuntimeContainerStatus)).toEqual(allocated);
});
