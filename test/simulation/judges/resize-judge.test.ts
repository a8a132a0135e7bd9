import { expect, test } from '@jest/globals';
import { whyUnresized } from '../../../src/simulation/judges/resize-judge.ts';
import type { Pod, PodStatus } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';

const requests = { cpu: '500m', memory: '128Mi' };

/** It requests memory without a limit: the runtime does not show how much. */
function pod(): Pod {
  const base = testPod();
  return { ...base, spec: { ...base.spec, containers: [{ name: 'main', resources: { requests } }] } };
}

function status(allocatedResources: Record<string, string>, conditions: PodStatus['conditions'] = []) {
  const container = {
    name: 'main',
    allocatedResources,
    image: '',
    imageID: '',
    ready: true,
    restartCount: 0,
  };
  return { conditions, containerStatuses: [container] };
}

const why = (given: PodStatus, { cpuShares = 512, fits = false } = {}) =>
  whyUnresized(
    pod(),
    given,
    () => ({ cpuShares, memoryLimitInBytes: 0 }),
    () => fits,
  );

const pending = (reason: string) => [{ type: 'PodResizePending', status: 'True', reason }];

test('a pod with all that it requests is said to have it', () => {
  expect(why(status(requests))).toBeUndefined();
  expect(why(status(requests, pending('Infeasible')))).toBe('is said to wait for its resize, and has all');
});

test('a pod may wait for memory that does not show in the runtime', () => {
  const less = { cpu: '0.5', memory: '64Mi' };
  expect(why(status(less, pending('Infeasible')))).toBeUndefined();
});

test('a pod with other resources says why, and waits only if there is no room', () => {
  const other = { cpuShares: 256 };
  expect(why(status(requests), other)).toBe('its container main has other resources, and nothing says why');
  expect(why(status(requests, pending('Deferred')), other)).toBeUndefined();
  expect(why(status(requests, pending('Deferred')), { ...other, fits: true })).toBe(
    'waits for a resize for which there is room',
  );
});

test('no resize is in progress in the end', () => {
  const conditions = [{ type: 'PodResizeInProgress', status: 'True' }];
  expect(why(status(requests, conditions))).toBe('is said to be resized, and nothing happens');
});
