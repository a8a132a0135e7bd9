import type { NetworkInterfaceInfo } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { commandResolver, nodeAddresses } from '../../src/runtime/node-facts.ts';
import type { Container } from '../../src/types/kubernetes.ts';
import { runtimePodStatus } from '../support/runtime-pod-status.ts';
import { podOf } from './pod-bed.ts';

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
  const resolve = (hostNetwork: boolean, sandboxIp?: string) => {
    const podStatus = runtimePodStatus({ sandboxes: [{ id: 's', ...(sandboxIp && { ip: sandboxIp }) }] });
    const pod = podOf({ containers: [main], hostNetwork });
    const { envs, ...command } = commandResolver(['192.0.2.7'], { cpu: '3800m', memory: '1Gi' })(
      pod,
      main,
      podStatus,
    );
    return { ...command, env: Object.fromEntries(envs.map(({ key, value }) => [key, value])) };
  };

  test('the address of the pod is the one of its sandbox, the address of the host the first of the node', () => {
    expect(resolve(false, '10.0.0.9').env).toMatchObject({ HOST_IP: '192.0.2.7', POD_IP: '10.0.0.9' });
  });

  test("on the host's network the pod has the node's address", () => {
    expect(resolve(true).env).toMatchObject({ HOST_IP: '192.0.2.7', POD_IP: '192.0.2.7' });
  });

  test('a container without limits may have all that pods may have', () => {
    expect(resolve(false).env).toMatchObject({ CPUS: '4', MEMORY: String(2 ** 30) });
  });

  test('command and arguments are filled in with its environment, and what is not there is left as it is', () => {
    expect(resolve(false, '10.0.0.9')).toMatchObject({
      command: ['serve', '--on', '10.0.0.9'],
      args: ['$(UNKNOWN)'],
    });
  });

  test('a reference to what only an API server has throws', () => {
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
    const asking: Container = { name: 'main', env };
    const pod = podOf({ containers: [asking] });
    expect(() => commandResolver([], {})(pod, asking, runtimePodStatus({}))).toThrow('Secret s');
  });
});
