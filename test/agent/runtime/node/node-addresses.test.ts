import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { cpus, type NetworkInterfaceInfo, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { milliValue, parseQuantity, quantityValue } from '../../../../src/agent/policies/formats/quantity.ts';
import {
  commandResolver,
  nodeAddresses,
  readNodeFacts,
} from '../../../../src/agent/runtime/node/node-addresses.ts';
import type { Container } from '../../../../src/types/kubernetes.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { podOf } from '../pods/pod-bed.ts';

const ip = (address: string, internal = false): NetworkInterfaceInfo => {
  const common = { address, netmask: '', mac: '', internal, cidr: null };
  return address.includes(':') ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' };
};

describe('addresses of the node', () => {
  test('one of each family, IPv4 first', () => {
    const interfaces = { eth0: [ip('2001:db8::7'), ip('192.0.2.7')], eth1: [ip('198.51.100.7')] };
    expect(nodeAddresses([], interfaces)).toEqual(['192.0.2.7', '2001:db8::7']);
  });

  test('no loopback and no link-local address', () => {
    const interfaces = {
      lo: [ip('127.0.0.1', true), ip('::1', true)],
      eth0: [ip('fe80::1'), ip('192.0.2.7')],
    };
    expect(nodeAddresses([], interfaces)).toEqual(['192.0.2.7']);
  });

  test('a node of IPv6 alone', () => {
    expect(nodeAddresses([], { eth0: [ip('2001:db8::7')] })).toEqual(['2001:db8::7']);
  });

  test('loopback where there is nothing else', () => {
    expect(nodeAddresses([], { lo: [ip('127.0.0.1', true)] })).toEqual(['127.0.0.1']);
    expect(nodeAddresses([], {})).toEqual(['127.0.0.1']);
  });

  test('this machine has one', () => {
    expect(nodeAddresses()[0]).toMatch(/^[0-9a-f.:]+$/);
  });
});

describe('facts of this node', () => {
  const OPTIONS = {
    rootDir: tmpdir(),
    nodeName: 'node1',
    maxPods: 10,
    podsPerCore: 0,
    systemReserved: {},
    kubeReserved: { cpu: '100m' },
    evictionHard: { 'memory.available': '100Mi' },
    extendedResources: { 'example.com/gpu': '2' },
    nodeLabels: { disk: 'ssd' },
    registerWithTaints: [],
    mergeDefaultEvictionSettings: false,
    preemptionLowerPriorityFirst: true,
  };
  const value = (text?: string) => quantityValue(parseQuantity(text ?? 'none'));

  test('its capacity is that of the machine and of the settings', async () => {
    const { capacity } = await readNodeFacts(OPTIONS);
    expect(capacity).toMatchObject({ cpu: String(cpus().length), pods: '10', 'example.com/gpu': '2' });
    expect(value(capacity.memory)).toBe(BigInt(totalmem()));
    const { blocks, bsize } = await statfs(tmpdir());
    expect(value(capacity['ephemeral-storage'])).toBe(BigInt(blocks * bsize));
  });

  test('what pods may have is less', async () => {
    const { capacity, allocatable } = await readNodeFacts(OPTIONS);
    const reserved = milliValue(parseQuantity(capacity.cpu!)) - milliValue(parseQuantity(allocatable.cpu!));
    expect(reserved).toBe(100n);
    const hugePages = Object.entries(capacity).filter(([name]) => name.startsWith('hugepages-'));
    const taken = hugePages.reduce((sum, [, amount]) => sum + value(amount), 100n * 2n ** 20n);
    expect(value(allocatable.memory)).toBe(value(capacity.memory) - taken);
  });

  test('huge pages are set apart', async () => {
    const root = mkdtempSync(join(tmpdir(), 'machine-'));
    const folder = join(root, 'sys/kernel/mm/hugepages/hugepages-2048kB');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'nr_hugepages'), '4\n');
    const { capacity } = await readNodeFacts(OPTIONS, root);
    rmSync(root, { recursive: true });
    expect(capacity).toMatchObject({ 'hugepages-2Mi': '8Mi' });
  });

  test('operating system and architecture are named as Go names them, in its labels too', async () => {
    const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? expect.any(String);
    const facts = await readNodeFacts(OPTIONS);
    expect(facts).toMatchObject({ name: 'node1', os: 'linux', arch, conditions: [], taints: [] });
    const own = {
      'kubernetes.io/hostname': 'node1',
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': arch,
    };
    expect(facts.labels).toEqual({ ...own, disk: 'ssd' });
  });

  test('the labels of the settings replace its own, and taints are kept', async () => {
    const registerWithTaints = [{ key: 'maint', effect: 'NoSchedule' }];
    const nodeLabels = { 'kubernetes.io/hostname': 'other' };
    const facts = await readNodeFacts({ ...OPTIONS, nodeLabels, registerWithTaints });
    expect(facts).toMatchObject({ labels: nodeLabels, taints: registerWithTaints });
  });

  test('reserving more than the machine has is an error', async () => {
    const kubeReserved = { memory: '1Ei' };
    await expect(readNodeFacts({ ...OPTIONS, kubeReserved })).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: expect.stringContaining('Resource "memory" has a reservation of'),
    });
  });
});

describe('what a container refers to', () => {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const limit = (name: string, resource: string) => ({
    name,
    valueFrom: { resourceFieldRef: { resource } },
  });
  const main: Container = {
    name: 'main',
    command: ['serve', '--on', '$(POD_IP)'],
    args: ['$(UNKNOWN)'],
    env: [
      field('HOST_IP', 'status.hostIP'),
      field('POD_IP', 'status.podIP'),
      limit('CPUS', 'limits.cpu'),
      limit('MEMORY', 'limits.memory'),
    ],
  };
  const resolve = async (hostNetwork: boolean, sandboxIp?: string) => {
    const podStatus = runtimePodStatus({ sandboxes: [{ id: 's', ...(sandboxIp && { ip: sandboxIp }) }] });
    const pod = podOf({ containers: [main], hostNetwork });
    const resolved = commandResolver(['192.0.2.7'], { cpu: '3800m', memory: '1Gi' });
    const { envs, ...command } = await resolved(pod, main, podStatus);
    return { ...command, env: Object.fromEntries(envs.map(({ key, value }) => [key, value])) };
  };

  test('the address of the pod is the one of its sandbox, the address of the host the first of the node', async () => {
    expect((await resolve(false, '10.0.0.9')).env).toMatchObject({
      HOST_IP: '192.0.2.7',
      POD_IP: '10.0.0.9',
    });
  });

  test("on the host's network the pod has the node's address", async () => {
    expect((await resolve(true)).env).toMatchObject({ HOST_IP: '192.0.2.7', POD_IP: '192.0.2.7' });
  });

  test('a container without limits may have all that pods may have', async () => {
    expect((await resolve(false)).env).toMatchObject({ CPUS: '4', MEMORY: String(2 ** 30) });
  });

  test('command and arguments are filled in with its environment, and what is not there is left as it is', async () => {
    expect(await resolve(false, '10.0.0.9')).toMatchObject({
      command: ['serve', '--on', '10.0.0.9'],
      args: ['$(UNKNOWN)'],
    });
  });

  test('a reference to an object of the API server is refused', async () => {
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
    const asking: Container = { name: 'main', env };
    const pod = podOf({ containers: [asking] });
    const resolved = commandResolver([], {})(pod, asking, runtimePodStatus({}));
    await expect(resolved).rejects.toThrow('Secret s');
  });
});
