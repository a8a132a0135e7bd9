import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { emptyMachine } from '../../../../src/agent/policies/memory-manager/numa-memory.ts';
import { CpuManager } from '../../../../src/agent/runtime/cpus/cpu-manager.ts';
import { MemoryManager } from '../../../../src/agent/runtime/memory-manager/memory-manager.ts';
import { resourceHolders } from '../../../../src/agent/runtime/node/resource-holders.ts';
import { storedText } from '../../../../src/system/newest-file.ts';
import { testPod } from '../../../support/pods.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { machine, NO_CPU_OPTIONS } from '../../../support/cpu-machine.ts';

let rootDir = '';
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'statelet-pod-resources-'));
});
afterEach(() => rm(rootDir, { recursive: true }));

/** Four CPUs, each a core of one socket; the first is reserved. */
function openCpus(): CpuManager {
  return CpuManager.open(storedText(join(rootDir, 'cpu_manager_state')), {
    topology: machine('one socket'),
    options: NO_CPU_OPTIONS,
    reserved: [0],
  });
}

test('a container has the CPUs that it has for itself, and can be given those that are not reserved', async () => {
  const cpus = openCpus();
  const container = (name: string, cpu: string): Container => {
    const amounts = { cpu, memory: '1Mi' };
    return { name, image: 'app:1', resources: { limits: amounts, requests: amounts } };
  };
  const [own, sharing] = [container('own', '2'), container('sharing', '500m')];
  const pod: Pod = {
    metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
    spec: { containers: [own, sharing] },
  };
  for (const each of [own, sharing]) cpus.allocate(pod, each, undefined);
  const holders = resourceHolders({ cpus });
  expect(holders.ofContainer(pod, own).cpuIDs).toEqual([1, 2]);
  expect(holders.ofContainer(pod, sharing).cpuIDs).toEqual([]);
  expect(holders.allocatable().cpuIDs).toEqual([1, 2, 3]);
  await cpus.release('uid-web');
  expect(holders.ofContainer(pod, own).cpuIDs).toEqual([]);
});

test('a container has the memory of NUMA nodes that is kept for it', async () => {
  const sizes = new Map([[0, new Map([['memory', 1000]])]]);
  const reserved = new Map([[0, new Map([['memory', 200]])]]);
  const memory = MemoryManager.open(
    storedText(join(rootDir, 'memory_manager_state')),
    emptyMachine(sizes, reserved),
  );
  const amounts = { cpu: '1', memory: '300' };
  const own: Container = { name: 'own', image: 'app:1', resources: { limits: amounts, requests: amounts } };
  const pod: Pod = {
    metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
    spec: { containers: [own] },
  };
  memory.allocate(pod, own, undefined);
  const holders = resourceHolders({ memory });
  const ofNodeZero = (sizeBytes: number) => [{ memoryType: 'memory', sizeBytes, numaNodes: [0] }];
  expect(holders.ofContainer(pod, own).memory).toEqual(ofNodeZero(300));
  expect(holders.allocatable().memory).toEqual(ofNodeZero(800));
  await memory.release('uid-web');
  expect(holders.ofContainer(pod, own).memory).toEqual([]);
});

test('a node without managers for CPUs and memory gives out none', () => {
  const nothing = { devices: [], cpuIDs: [], memory: [] };
  const holders = resourceHolders({});
  const pod = testPod();
  const [main] = pod.spec.containers;
  if (main) expect(holders.ofContainer(pod, main)).toEqual({ ...nothing, claims: [] });
  expect(holders.allocatable()).toEqual(nothing);
});
