import { describe, expect, test } from '@jest/globals';
import type { PodStatus } from '../../../src/types/kubernetes.ts';
import { podAddresses } from '../../../src/policies/status/pod-addresses.ts';
import { type PartialSandbox, runtimePodStatus } from '../../support/runtime-pod-status.ts';
import { testPod } from '../../support/pods.ts';

const V4_NODE = ['192.0.2.1', '2001:db8::1'];
const V6_NODE = ['2001:db8::1', '192.0.2.1'];

function podIPs(
  sandboxes: PartialSandbox[],
  hostIPs = V4_NODE,
  hostNetwork = false,
  previous: PodStatus | undefined = { podIPs: [{ ip: '10.0.0.9' }] },
): readonly string[] {
  const base = testPod();
  const pod = { ...base, spec: { ...base.spec, hostNetwork } };
  const found = podAddresses(pod, runtimePodStatus({ sandboxes }), previous, hostIPs);
  expect(found.podIP).toBe(found.podIPs?.[0]?.ip);
  return (found.podIPs ?? []).map(({ ip }) => ip);
}
const sandbox = (...ips: string[]): PartialSandbox => ({ id: 's', ...(ips[0] && { ip: ips[0], ips }) });

describe('the addresses of a pod', () => {
  test('are those of its sandbox, one of each family, the primary family of the node first', () => {
    expect(podIPs([sandbox('10.0.0.7', 'fd00::7')])).toEqual(['10.0.0.7', 'fd00::7']);
    expect(podIPs([sandbox('10.0.0.7', 'fd00::7')], V6_NODE)).toEqual(['fd00::7', '10.0.0.7']);
    expect(podIPs([sandbox('fd00::7', '10.0.0.7', '10.0.0.8', 'fd00::8')])).toEqual(['10.0.0.7', 'fd00::7']);
    expect(podIPs([sandbox('fd00::7')])).toEqual(['fd00::7']);
  });

  test('have their usual spelling, and what is no address is left out', () => {
    expect(podIPs([sandbox('FD00:0::7', 'host', '10.0.0.7')])).toEqual(['10.0.0.7', 'fd00::7']);
  });

  test('may be only the primary one', () => {
    expect(podIPs([{ id: 's', ip: '10.0.0.7' }])).toEqual(['10.0.0.7']);
  });

  test('are kept when there is no sandbox, and none while only an older sandbox is ready', () => {
    expect(podIPs([])).toEqual(['10.0.0.9']);
    expect(podIPs([{ ...sandbox('10.0.0.7'), ready: false }])).toEqual(['10.0.0.9']);
    expect(podIPs([{ id: 'new', ready: false }, sandbox('10.0.0.7')])).toEqual([]);
  });

  test('are those that the runtime still reports of an ended sandbox, if the agent started later', () => {
    expect(podIPs([{ ...sandbox('10.0.0.7'), ready: false }], V4_NODE, false, {})).toEqual(['10.0.0.7']);
    expect(podIPs([{ id: 's', ready: false }], V4_NODE, false, {})).toEqual([]);
  });

  test('are those of the node for a pod on its network', () => {
    expect(podIPs([sandbox()], V4_NODE, true)).toEqual(V4_NODE);
    expect(podIPs([sandbox()], V4_NODE)).toEqual([]);
  });
});
