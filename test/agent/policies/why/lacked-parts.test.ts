/** What a pod lacks, by what it was refused with, and who has it. */
import { expect, test } from '@jest/globals';
import { amountOf, heldText, lackOf } from '../../../../src/agent/policies/why/lacked-parts.ts';
import type { HeldResources } from '../../../../src/types/pod-resources.ts';

const GPU = 'example.com/gpu';
const NOTHING: HeldResources = { devices: [], cpuIDs: [], memory: [] };
const gpus = (...deviceIDs: string[]) => ({ ...NOTHING, devices: [{ resourceName: GPU, deviceIDs }] });
const cpus = (...cpuIDs: number[]) => ({ ...NOTHING, cpuIDs });
const memory = (sizeBytes: number) => ({
  ...NOTHING,
  memory: [{ memoryType: 'memory', sizeBytes, numaNodes: [0] }],
});
const holder = (name: string, ...held: HeldResources[]) => ({ name: `default/${name}`, held });

test.each([
  [
    `requested number of devices unavailable for ${GPU}. Requested: 1, Available: 0`,
    { part: GPU, what: `1 ${GPU}`, free: 0 },
  ],
  [
    'not enough cpus available to satisfy request: requested=3, available=1',
    { part: 'cpu', what: '3 CPUs of its own', free: 1 },
  ],
  [
    'SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2',
    { part: 'cpu', what: '8 CPUs in whole cores', free: 6 },
  ],
  [
    'Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected',
    { part: 'memory', what: 'memory of NUMA nodes' },
  ],
  ['the plugin fails', undefined],
])('%s', (message, lack) => {
  expect(lackOf({ message: `Allocate failed due to ${message}, which is unexpected` })).toEqual(lack);
});

const lack = (part: string, free?: number) => ({ part, what: '', free });

test('the only one, both, or all are held by their pods, where there are no others', () => {
  const held = (...holders: ReturnType<typeof holder>[]) => heldText(lack(GPU, 0), holders, holders.length);
  const one = holder('a', gpus('1'));
  expect(held(one)).toBe('it is held by default/a');
  expect(held(one, holder('b', gpus('2')))).toBe('both are held by default/a and default/b');
  expect(held(one, holder('b', gpus('2')), holder('c', NOTHING, gpus('3')))).toBe(
    'all 3 are held by default/a, default/b and default/c',
  );
});

test('else each pod holds so many, the largest first, and of many pods a few are named', () => {
  expect(
    heldText(lack('cpu', 1), [holder('a', cpus(1)), holder('b', cpus(2), cpus(3)), holder('c', NOTHING)], 4),
  ).toBe('default/b holds 2 and default/a holds 1');
  expect(heldText(lack('memory'), [holder('a', memory(2 ** 29))], 2 ** 29)).toBe('default/a holds 512Mi');
  expect(heldText(lack(GPU, 0), [holder('a', NOTHING)], 0)).toBeUndefined();
  const many = Array.from({ length: 9 }, (_, index) => holder(String(index), gpus('x')));
  expect(heldText(lack(GPU, 0), many, 10)).toMatch(
    /^default\/0 holds 1, .*default\/4 holds 1 and 4 others$/u,
  );
});

test('devices count by their resource', () => {
  expect([amountOf(gpus('1', '2'), GPU), amountOf(gpus('1'), 'example.com/other')]).toEqual([2, 0]);
});
