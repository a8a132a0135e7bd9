import { expect, test } from '@jest/globals';
import {
  chooseDevices,
  type DeviceRequest,
  withPreferred,
} from '../../../../src/agent/policies/devices/device-choice.ts';
import { deviceList } from '../../../../src/agent/policies/devices/device-list.ts';

const GPU = 'example.com/gpu';

/** `a1`: device a on NUMA node 1; `a`: without a node; `!a`: unhealthy. */
function devices(...texts: string[]) {
  return deviceList(
    texts.map((text) => {
      const [, bad, ID = '', node] = /^(!?)([a-z]+)(\d?)$/u.exec(text) ?? [];
      const health = bad === '!' ? 'broken' : 'Healthy';
      return { ID, health, ...(node !== '' && { topology: { nodes: [{ ID: Number(node) }] } }) };
    }),
  ).devices;
}

const choose = (count: number, more: Partial<DeviceRequest> = {}) =>
  chooseDevices({
    podUID: 'uid',
    container: 'main',
    resource: GPU,
    count,
    devices: devices('a', 'b', '!c'),
    held: undefined,
    reusable: new Set(),
    allocated: new Set(),
    numaNodes: undefined,
    ...more,
  });
const problem = (count: number, more: Partial<DeviceRequest> = {}) => {
  const choice = choose(count, more);
  return choice.kind === 'refused' ? choice.problem : choice.kind;
};

test('a container gets healthy devices that no other container has', () => {
  expect(choose(1, { allocated: new Set(['a']) })).toEqual({ kind: 'chosen', ids: ['b'] });
  expect(choose(2)).toEqual({ kind: 'chosen', ids: ['a', 'b'] });
  expect(choose(1)).toMatchObject({ kind: 'open', question: { available: ['a', 'b'], size: 1 } });
});

test('refusals have the words of the kubelet', () => {
  expect(problem(3)).toBe(`requested number of devices unavailable for ${GPU}. Requested: 3, Available: 2`);
  expect(problem(1, { devices: undefined })).toBe(`cannot allocate unregistered device ${GPU}`);
  expect(problem(1, { devices: devices('!a') })).toBe(
    `no healthy devices present; cannot allocate unhealthy devices ${GPU}`,
  );
  expect(problem(1, { held: ['c'] })).toBe(
    `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${GPU}`,
  );
  expect(problem(2, { held: ['a'] })).toBe(
    `pod "uid" container "main" changed request for resource "${GPU}" from 1 to 2`,
  );
});

test('what init containers leave is used first, as long as it is healthy', () => {
  const taken = new Set(['a', 'c']);
  expect(choose(1, { reusable: taken, allocated: taken })).toEqual({ kind: 'chosen', ids: ['a'] });
  expect(choose(2, { reusable: taken, allocated: taken })).toEqual({ kind: 'chosen', ids: ['a', 'b'] });
});

test('devices near to the wanted NUMA nodes go first, those without a node last', () => {
  const machine = devices('a', 'b0', 'c1', 'd1', 'e0');
  const near = choose(1, { devices: machine, numaNodes: [1] });
  expect(near).toMatchObject({
    question: { candidates: ['c', 'd'], available: ['c', 'd'], mustInclude: [] },
  });
  const more = choose(3, { devices: machine, numaNodes: [1] });
  expect(more).toMatchObject({ question: { mustInclude: ['c', 'd'], candidates: ['b', 'e', 'a'], size: 3 } });
});

test('a plugin chooses among what is offered, and cannot choose anything else', () => {
  const question = { available: ['a', 'b', 'c'], mustInclude: ['a'], size: 2, candidates: ['b', 'c'] };
  expect(withPreferred(question, ['c', 'x', 'a'])).toEqual(['a', 'c']);
  expect(withPreferred(question, [])).toEqual(['a', 'b']);
  expect(withPreferred(question, ['c', 'b', 'c'])).toEqual(['a', 'b']);
});
