import { describe, expect, test } from '@jest/globals';
import {
  ALL_ADMISSION_SETTINGS,
  resolveAdmissionSettings,
} from '../../../src/agent/config/load-admission-settings.ts';
import { KUBELET_CONFIGURATION_SCHEMA } from '../../../src/agent/config/kubelet-configuration.ts';
import { parseSetting, shownDefault } from '../../../src/agent/config/setting.ts';

const resolve = (flags: Record<string, unknown> = {}, file: Record<string, unknown> = {}) =>
  resolveAdmissionSettings({ flags, file, fileName: 'kubelet.yaml' });
const setting = (flag: string) => ALL_ADMISSION_SETTINGS.find((row) => row.flag?.startsWith(`${flag} `))!;

test("without flags and file everything is the kubelet's default, and pods of lower priority are preempted first", () => {
  expect(resolve()).toEqual({
    podsPerCore: 0,
    systemReserved: {},
    kubeReserved: {},
    extendedResources: {},
    nodeLabels: {},
    registerWithTaints: [],
    preemptionLowerPriorityFirst: true,
  });
});

test('every field of the table is a field of KubeletConfiguration', () => {
  const fields = ALL_ADMISSION_SETTINGS.flatMap(({ field }) => field ?? []);
  expect(Object.keys(KUBELET_CONFIGURATION_SCHEMA.properties ?? {})).toEqual(expect.arrayContaining(fields));
});

test('the configuration file overrides the default, and a flag overrides the file', () => {
  const taint = { key: 'maint', effect: 'NoSchedule' };
  const file = {
    podsPerCore: 10,
    systemReserved: { cpu: '1' },
    kubeReserved: { cpu: '1', memory: '1Gi' },
    registerWithTaints: [taint],
  };
  expect(resolve({ kubeReserved: { cpu: '2' }, preemptionLowerPriorityFirst: false }, file)).toMatchObject({
    ...file,
    kubeReserved: { cpu: '2' },
    preemptionLowerPriorityFirst: false,
  });
  expect(resolve({ kubeReserved: { cpu: '2' } }, file).kubeReserved).toEqual({ cpu: '2' });
});

describe('a value that is not valid is an error that names', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    [
      'the flag and the resource',
      { systemReserved: { gpu: '1' } },
      {},
      '--system-reserved: must be quantities of cpu, memory, ephemeral-storage or pid; cannot reserve "gpu" resource (got gpu=1)',
    ],
    [
      'file and field',
      {},
      { kubeReserved: { memory: 'much' } },
      'kubelet.yaml: kubeReserved: must be quantities of cpu, memory, ephemeral-storage or pid; failed to parse quantity "much" for "memory" resource (got memory=much)',
    ],
    [
      'the form of an extended resource',
      { extendedResources: { gpu: '1' } },
      {},
      '--extended-resources: must be resources with a domain of their own, not of kubernetes.io, such as example.com/gpu: "gpu" is none (got gpu=1)',
    ],
    [
      'the label',
      { nodeLabels: { 'a b': 'c' } },
      {},
      '--node-labels: must be labels such as example.com/disk=ssd: "a b" is no name of a label (got a b=c)',
    ],
    [
      'the valid effects',
      {},
      { registerWithTaints: [{ key: 'maint', value: 'x', effect: 'Never' }] },
      'kubelet.yaml: registerWithTaints: must be taints with one of the effects NoSchedule, PreferNoSchedule, NoExecute: "Never" is none (got maint=x:Never)',
    ],
    [
      'an empty taint',
      {},
      { registerWithTaints: [{}] },
      'kubelet.yaml: registerWithTaints: must be taints: "" is no key of a taint (got :)',
    ],
    ['a number that is too small', {}, { podsPerCore: -1 }, 'kubelet.yaml: podsPerCore: must be 0 or more'],
  ])('%s', (_what, flags, file, message) => {
    expect(() => resolve(flags, file)).toThrow(
      expect.objectContaining({ kind: 'InvalidArgument', message: expect.stringContaining(message) }),
    );
  });
});

describe('the text of a flag', () => {
  test.each([
    ['--system-reserved', 'cpu=200m, memory = 500Mi,', { cpu: '200m', memory: '500Mi' }],
    ['--kube-reserved', '', {}],
    ['--node-labels', 'disk=ssd,role=', { disk: 'ssd', role: '' }],
    ['--extended-resources', 'example.com/gpu=2', { 'example.com/gpu': '2' }],
    [
      '--register-with-taints',
      'maint=x:NoExecute,gpu:NoSchedule',
      [
        { key: 'maint', value: 'x', effect: 'NoExecute' },
        { key: 'gpu', effect: 'NoSchedule' },
      ],
    ],
    ['--register-with-taints', '', []],
    ['--preemption-lower-priority-first', 'false', false],
    ['--pods-per-core', '4', 4],
  ])('%s %s', (flag, text, value) => {
    expect(parseSetting(setting(flag), text)).toEqual(value);
  });

  test('adds to pairs of the same flag given before, and replaces any other value', () => {
    const again = (flag: string, first: string, second: string) =>
      parseSetting(setting(flag), second, parseSetting(setting(flag), first));
    expect(again('--node-labels', 'a=1,b=1', 'b=2')).toEqual({ a: '1', b: '2' });
    expect(again('--pods-per-core', '1', '2')).toBe(2);
  });

  test.each([
    ['--system-reserved', 'cpu', 'It must be RESOURCE=QUANTITY with commas between'],
    ['--node-labels', 'disk', 'It must be NAME=VALUE with commas between.'],
    ['--register-with-taints', 'maint', 'It must be KEY=VALUE:EFFECT or KEY:EFFECT, with commas between.'],
    ['--register-with-taints', 'a=b=c:NoSchedule', 'It must be KEY=VALUE:EFFECT'],
    ['--register-with-taints', 'a:b:NoSchedule', 'It must be KEY=VALUE:EFFECT'],
    ['--pods-per-core', 'many', 'It must be a whole number.'],
    ['--preemption-lower-priority-first', 'perhaps', 'It must be true or false.'],
  ])('%s %s: %s', (flag, text, message) => {
    expect(() => parseSetting(setting(flag), text)).toThrow(message);
  });
});

test('defaults are shown in the notation of the flag', () => {
  expect(shownDefault(setting('--kube-reserved'))).toBe('');
});
