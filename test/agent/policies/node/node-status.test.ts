import { describe, expect, test } from '@jest/globals';
import { initialNode } from '../../../../src/agent/policies/node/initial-node.ts';
import { buildNodeStatus, NO_EVENTS_SENT } from '../../../../src/agent/policies/node/node-status.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { NOW_MS, REGISTRATION, registeredNode, statusFacts } from '../../../support/node-status-facts.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('nodeStatus');

const reasons = (events: readonly { readonly reason: string }[]) => events.map(({ reason }) => reason);

describe('the status of a node that registers', () => {
  test('has all parts', () => {
    const { status } = registeredNode({ volumesInUse: ['v'] });
    expect(status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'node-1' },
      ],
      capacity: {
        cpu: '4',
        memory: '8Gi',
        pods: '110',
        'hugepages-2Mi': '1Gi',
        'ephemeral-storage': '100Gi',
      },
      allocatable: { cpu: '3500m', memory: '6Gi', pods: '110', 'hugepages-2Mi': '1Gi' },
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: 'machine',
        bootID: 'boot-1',
        containerRuntimeVersion: 'containerd://1.7.24',
        kubeletVersion: 'v1.36.2',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
      images: [{ names: ['registry.example/app:1'], sizeBytes: 1024 }],
      runtimeHandlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } }],
      features: { supplementalGroupsPolicy: true },
      declaredFeatures: ['RestartAllContainersOnContainerExits'],
      volumesInUse: ['v'],
    });
  });

  test('ends with the Ready condition', () => {
    const conditions = registeredNode().status?.conditions?.map(({ type, status }) => [type, status]);
    expect(conditions).toEqual([
      ['MemoryPressure', 'False'],
      ['DiskPressure', 'False'],
      ['PIDPressure', 'False'],
      ['Ready', 'True'],
    ]);
  });

  test('shows that there is no pressure, and has no Ready condition', () => {
    const { events } = buildNodeStatus(initialNode(REGISTRATION), statusFacts(), NO_EVENTS_SENT);
    expect(reasons(events)).toEqual([
      'NodeHasSufficientMemory',
      'NodeHasNoDiskPressure',
      'NodeHasSufficientPID',
    ]);
  });
});

describe('a later status', () => {
  test('differs only in the heartbeats while nothing has changed', () => {
    const node = registeredNode();
    const later = buildNodeStatus(node, statusFacts({ nowMs: NOW_MS + 10_000 }), NO_EVENTS_SENT);
    const conditions = node.status?.conditions?.map((condition) => ({
      ...condition,
      lastHeartbeatTime: '2030-01-01T00:00:10Z',
    }));
    expect(later).toEqual({
      node: { ...node, status: { ...node.status, conditions } },
      events: [],
      sent: { unschedulable: false, rebooted: false },
      problems: [],
    });
  });

  test('keeps what others have put into the node', () => {
    const condition = { type: 'NetworkUnavailable', status: 'False' };
    const registered = registeredNode();
    const node: Node = {
      ...registered,
      metadata: { ...registered.metadata, labels: { ...registered.metadata.labels, role: 'db' } },
      spec: { taints: [{ key: 'k', effect: 'NoSchedule' }], podCIDR: '10.1.0.0/24' },
      status: {
        ...registered.status,
        capacity: { ...registered.status?.capacity, 'example.com/gpu': '2' },
        conditions: [condition, ...(registered.status?.conditions ?? [])],
        volumesAttached: [{ name: 'v', devicePath: '/dev/v' }],
      },
    };
    const after = buildNodeStatus(node, statusFacts(), NO_EVENTS_SENT).node;
    expect(after).toMatchObject({ metadata: node.metadata, spec: node.spec });
    expect(after.status).toMatchObject({
      capacity: { 'example.com/gpu': '2' },
      allocatable: { 'example.com/gpu': '2' },
      volumesAttached: [{ name: 'v', devicePath: '/dev/v' }],
    });
    expect(after.status?.conditions).toContainEqual(condition);
  });

  test('puts the labels of operating system and architecture back', () => {
    const node = registeredNode();
    const bare = { ...node, metadata: { ...node.metadata, labels: { disk: 'ssd' } } };
    expect(buildNodeStatus(bare, statusFacts(), NO_EVENTS_SENT).node.metadata.labels).toEqual({
      disk: 'ssd',
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
    });
  });

  test('keeps the addresses that cannot be found any more, and says why', () => {
    const { addresses } = statusFacts();
    const lost = { ...addresses, nodeIPs: [] };
    const { node, problems } = buildNodeStatus(
      registeredNode(),
      statusFacts({ addresses: lost }),
      NO_EVENTS_SENT,
    );
    expect(node.status?.addresses).toEqual(registeredNode().status?.addresses);
    expect(problems).toEqual(["can't get ip address of node node-1. error: no default routes"]);
  });
});

test('what is empty is left out: else each report would differ from what the API server keeps', () => {
  const node = registeredNode({ volumesInUse: ['v'] });
  const none = { images: [], handlers: [], declaredFeatures: [], volumesInUse: [] };
  const empty = { ...none, supplementalGroupsPolicy: undefined };
  const { status } = buildNodeStatus(node, statusFacts(empty), NO_EVENTS_SENT).node;
  const lists = ['images', 'runtimeHandlers', 'declaredFeatures', 'volumesInUse'];
  expect(lists.filter((list) => list in (status ?? {}))).toEqual([]);
});

describe('events', () => {
  const rebooted = () => {
    const { resources } = statusFacts();
    return statusFacts({ resources: { ...resources, machine: { ...resources.machine!, bootID: 'boot-2' } } });
  };

  test('a reboot is reported once, even if the report is tried again', () => {
    const first = buildNodeStatus(registeredNode(), rebooted(), NO_EVENTS_SENT);
    expect(first.events).toEqual([
      { type: 'Warning', reason: 'Rebooted', message: 'Node node-1 has been rebooted, boot id: boot-2' },
    ]);
    expect(buildNodeStatus(registeredNode(), rebooted(), first.sent).events).toEqual([]);
  });

  test('a node that is cordoned and uncordoned has an event for each', () => {
    const node = registeredNode();
    const cordoned = buildNodeStatus(
      { ...node, spec: { unschedulable: true } },
      statusFacts(),
      NO_EVENTS_SENT,
    );
    expect(reasons(cordoned.events)).toEqual(['NodeNotSchedulable']);
    expect(buildNodeStatus(cordoned.node, statusFacts(), cordoned.sent).events).toEqual([]);
    expect(reasons(buildNodeStatus(node, statusFacts(), cordoned.sent).events)).toEqual(['NodeSchedulable']);
  });

  test('pressure and readiness are reported when they change', () => {
    const readiness = { problems: ['container runtime is down'], warning: '', needsEphemeralStorage: true };
    const facts = statusFacts({ pressure: new Set(['DiskPressure']), readiness });
    const bad = buildNodeStatus(registeredNode(), facts, NO_EVENTS_SENT);
    expect(reasons(bad.events)).toEqual(['NodeHasDiskPressure', 'NodeNotReady']);
    expect(reasons(buildNodeStatus(bad.node, statusFacts(), bad.sent).events)).toEqual([
      'NodeHasNoDiskPressure',
      'NodeReady',
    ]);
  });
});
