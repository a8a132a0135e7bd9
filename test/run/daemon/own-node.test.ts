import { expect, test } from '@jest/globals';
import { resolveConfig } from '../../../src/agent/config/config.ts';
import { ownNode, registrationOf } from '../../../src/run/daemon/own-node.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { testContext } from '../../support/test-context.ts';

const FACTS = {
  name: 'node-1',
  os: 'linux',
  arch: 'arm64',
  labels: {},
  taints: [],
  capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
  allocatable: {},
  conditions: [],
};
const VERSION = { runtimeName: 'containerd', runtimeVersion: 'v2.1.9', runtimeApiVersion: 'v1' };

const config = resolveConfig({
  hostnameOverride: 'node-1',
  nodeIp: ['10.0.0.1'],
  nodeLabels: { disk: 'ssd' },
  maxPods: 7,
  registerWithTaints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
});

test('the node is as it would be registered, with conditions that have no times', async () => {
  const clock = new VirtualClock();
  const node = await ownNode(testContext({ clock }), config, {
    runtime: { version: () => Promise.resolve(VERSION), listImages: () => Promise.resolve([]) },
    facts: FACTS,
    port: 10250,
    conditions: () => ['MemoryPressure'],
    health: () => ({
      runtime: { status: { conditions: [], handlers: [] }, readyAt: clock.now() },
      plegProblem: undefined,
      isShuttingDown: false,
    }),
  });
  expect(node).toMatchObject({
    metadata: { name: 'node-1', labels: { disk: 'ssd', 'kubernetes.io/arch': 'arm64' } },
    spec: { taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] },
    status: {
      capacity: { pods: '7' },
      nodeInfo: { containerRuntimeVersion: 'containerd://2.1.9' },
    },
  });
  const conditions = node.status?.conditions ?? [];
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'MemoryPressure', status: 'True' }));
  expect(conditions.map((condition) => Object.keys(condition))).toEqual(
    conditions.map(() => ['type', 'status', 'reason', 'message']),
  );
  expect(clock.armed).toBe(0);
});

test('a cloud controller gives the node its addresses and its identity', () => {
  const { externalCloudProvider, providerID } = registrationOf(
    resolveConfig({ hostnameOverride: 'node-1', cloudProvider: 'external', providerId: 'cloud://1' }),
    FACTS,
  );
  expect({ externalCloudProvider, providerID }).toEqual({
    externalCloudProvider: true,
    providerID: 'cloud://1',
  });
});
