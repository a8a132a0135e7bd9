import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { resolveNodeSettings } from '../../../../src/agent/config/load-node-settings.ts';
import { cpuStateText } from '../../../../src/agent/policies/cpus/cpu-state.ts';
import { openCpuManager } from '../../../../src/agent/runtime/cpus/open-cpu-manager.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { machine } from '../../../support/cpu-machine.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';

let rootDir = '';
let measurements = new RecordedMeasurements();
beforeEach(() => {
  measurements = new RecordedMeasurements();
  rootDir = mkdtempSync(join(tmpdir(), 'cpu-manager-'));
});
afterEach(() => rmSync(rootDir, { recursive: true }));

const FILE = () => join(rootDir, 'cpu_manager_state');
const saved = () => JSON.parse(readFileSync(FILE(), 'utf8')) as Record<string, unknown>;

function open(file: Record<string, unknown>, systemReserved: Record<string, string> = {}, on = 'one socket') {
  const setup = {
    rootDir,
    settings: resolveNodeSettings({
      flags: {},
      file: { cpuManagerPolicy: 'static', ...file },
      fileName: 'kubelet.yaml',
    }),
    reservations: { systemReserved, kubeReserved: {} },
    machine: () => Promise.resolve({ cpus: machine(on) }),
  };
  return openCpuManager(setup, measurements.placement);
}

function guaranteed(uid: string, cpu: string): readonly [Pod, Container] {
  const amounts = { cpu, memory: '1Mi' };
  const container = { name: 'main', image: 'app:1', resources: { limits: amounts, requests: amounts } };
  return [
    { metadata: { uid, name: uid, namespace: 'default' }, spec: { containers: [container] } },
    container,
  ];
}

test('reserved CPU is rounded up, and takes the lowest cores; named CPUs count in its place', async () => {
  expect((await open({}, { cpu: '1100m' })).allocatable).toEqual([2, 3]);
  expect((await open({}, { cpu: '500m' }, 'one socket')).allocatable).toEqual([1, 2, 3]);
  expect((await open({ reservedSystemCPUs: '1,3' }, { cpu: '500m' })).allocatable).toEqual([0, 2]);
});

test('the state is written to the file before any CPU is given out, and the next agent continues with it', async () => {
  const first = await open({ reservedSystemCPUs: '0' });
  expect(saved()).toMatchObject({ policyName: 'static', defaultCpuSet: '0-3' });
  first.allocate(...guaranteed('uid-a', '2'), undefined);
  await first.complete();
  const next = await open({ reservedSystemCPUs: '0' });
  expect(next.exclusive('uid-a', 'main')).toEqual([1, 2]);
  expect(next.cpusetOf('uid-b', 'main')).toBe('0,3');
  expect(() => next.allocate(...guaranteed('uid-b', '2'), undefined)).toThrow('requested=2, available=1');
  await next.release('uid-a');
  expect(saved()).toMatchObject({ defaultCpuSet: '0-3' });
  expect(saved()).not.toHaveProperty('entries');
});

test('CPUs that are given, refused and given back are measured', async () => {
  const settings = { reservedSystemCPUs: '0,6', cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } };
  const cpus = await open(settings, {}, 'two sockets with SMT');
  const first = guaranteed('uid-a', '4');
  cpus.allocate(...first, undefined);
  cpus.allocate(...first, undefined);
  expect(() => cpus.allocate(...guaranteed('uid-b', '8'), undefined)).toThrow('SMT Alignment Error');
  cpus.allocate(...guaranteed('uid-c', '1500m'), undefined);
  await cpus.release('uid-a');
  const given = ['cpu pinned', 'container within physical_cpu'];
  expect(measurements.told).toEqual([
    '10 CPUs free, 0 of node 0,0 of node 1',
    '6 CPUs free, 4 of node 0,0 of node 1',
    ...given,
    'container within uncore_cache',
    // It has them already.
    ...given,
    'cpu not pinned',
    'container not within physical_cpu',
    '10 CPUs free, 0 of node 0,0 of node 1',
  ]);
});

test('options are the settings', async () => {
  const settings = { reservedSystemCPUs: '0,4', cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } };
  const cpus = await open(settings, {}, 'one socket with SMT');
  expect(() => cpus.allocate(...guaranteed('uid-a', '1'), undefined)).toThrow(
    'SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2',
  );
});

test.each<[string, Record<string, unknown>, string]>([
  ['nothing is reserved', {}, 'requires systemReserved.cpu + kubeReserved.cpu to be greater than zero'],
  [
    'a reserved CPU is not there',
    { reservedSystemCPUs: '0,9' },
    'reservedSystemCPUs 0,9 are not all among 0-3',
  ],
])('where %s, the start is refused, and no file is written', async (_, file, problem) => {
  await expect(open(file)).rejects.toMatchObject({
    kind: 'InvalidArgument',
    message: expect.stringContaining(problem) as unknown,
  });
  expect(existsSync(FILE())).toBe(false);
});

test.each<[string, string, string]>([
  ['of other CPUs', cpuStateText('static', { shared: [0, 1], assigned: new Map() }), 'available CPUs "0-3"'],
  [
    'of another policy',
    cpuStateText('none', { shared: [], assigned: new Map() }),
    'configured policy "static"',
  ],
  ['that is broken', '{"policyName":', 'JSON'],
])('a file %s is refused, and stays', async (_, text, problem) => {
  writeFileSync(FILE(), text);
  await expect(open({ reservedSystemCPUs: '0' })).rejects.toMatchObject({
    kind: 'FailedPrecondition',
    message: expect.stringContaining(problem) as unknown,
  });
  await expect(open({ reservedSystemCPUs: '0' })).rejects.toThrow(
    `please drain this node and delete the CPU manager checkpoint file "${FILE()}"`,
  );
  expect(readFileSync(FILE(), 'utf8')).toBe(text);
});
