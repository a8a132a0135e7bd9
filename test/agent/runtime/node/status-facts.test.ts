import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { initialNode } from '../../../../src/agent/policies/node/initial-node.ts';
import {
  buildNodeStatus,
  NO_EVENTS_SENT,
  type NodeStatusFacts,
} from '../../../../src/agent/policies/node/node-status.ts';
import type { NodeHealth } from '../../../../src/agent/policies/node/ready-problems.ts';
import { nodePatch } from '../../../../src/agent/policies/node/registration.ts';
import { nodeHasChanged } from '../../../../src/agent/policies/node/status-report.ts';
import type { AddressReaders } from '../../../../src/agent/runtime/node/own-addresses.ts';
import { StatusFacts, type StatusFactsParts } from '../../../../src/agent/runtime/node/status-facts.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Image } from '../../../../src/types/cri.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { REGISTRATION } from '../../../support/node-status-facts.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

const IMAGE: Image = { id: 'sha256:1', repoTags: ['registry.example/app:1'], size: 1024 };
const VERSION = { runtimeName: 'containerd', runtimeVersion: 'v1.7.24', runtimeApiVersion: 'v1' };

let clock: VirtualClock;
let facts: StatusFacts | undefined;
let health: NodeHealth;
let listImages: () => Promise<readonly Image[]>;
let conditions: readonly string[];

beforeEach(() => {
  clock = new VirtualClock();
  facts = undefined;
  listImages = () => Promise.resolve([IMAGE]);
  conditions = [];
  health = {
    runtime: {
      status: {
        conditions: [],
        handlers: [{ name: 'runc' }, { name: '' }],
        supplementalGroupsPolicy: true,
      },
      readyAt: clock.now(),
    },
    plegProblem: undefined,
    isShuttingDown: false,
  };
});
afterEach(() => facts?.stop());

const READERS: AddressReaders = {
  dns: () => Promise.resolve([]),
  defaultRoute: () => Promise.resolve({ ipv4: '10.0.0.7', ipv6: 'fd00::7' }),
};

function parts(own: Partial<StatusFactsParts> = {}): StatusFactsParts {
  return {
    runtime: { version: () => Promise.resolve(VERSION), listImages: () => listImages() },
    nodeIPs: [],
    externalCloudProvider: false,
    maxPods: 110,
    podsPerCore: 0,
    extendedResources: { 'example.com/gpu': '2' },
    reservations: { systemReserved: { cpu: '100m' }, kubeReserved: { cpu: '100m' }, evictionHard: {} },
    port: 10250,
    maxImages: 50,
    facts: {
      name: 'node-1',
      os: 'linux',
      arch: 'amd64',
      labels: {},
      taints: [],
      capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: {},
      conditions: [],
    },
    conditions: () => conditions,
    health: () => health,
    ...own,
  };
}

async function opened(
  own: Partial<StatusFactsParts> = {},
  readers: Partial<AddressReaders> = {},
): Promise<StatusFacts> {
  facts = await StatusFacts.open(testContext({ clock }), parts(own), { ...READERS, ...readers });
  await settled();
  return facts;
}

const statusOf = (from: StatusFacts) =>
  buildNodeStatus({ metadata: { name: 'node-1' } }, from.now(), NO_EVENTS_SENT).node.status;

test('the facts make a status that is whole and ready', async () => {
  const status = statusOf(await opened());
  expect(status).toMatchObject({
    addresses: [
      { type: 'InternalIP', address: '10.0.0.7' },
      { type: 'Hostname', address: 'node-1' },
    ],
    capacity: { 'example.com/gpu': '2', 'ephemeral-storage': '100Gi', pods: '110' },
    allocatable: { 'example.com/gpu': '2' },
    nodeInfo: { containerRuntimeVersion: 'containerd://1.7.24', operatingSystem: 'linux' },
    images: [{ names: ['registry.example/app:1'] }],
    runtimeHandlers: [{ name: '' }, { name: 'runc' }],
    features: { supplementalGroupsPolicy: true },
  });
  expect(status?.nodeInfo?.bootID).not.toBe('');
  expect(status?.conditions?.at(-1)).toMatchObject({ type: 'Ready', status: 'True' });
});

test('the reservations are what allocatable lacks', async () => {
  expect((await opened()).now().resources.reserved).toEqual({ cpu: '200m' });
});

test('pressure and problems are those of now', async () => {
  const from = await opened();
  conditions = ['DiskPressure'];
  health = { ...health, isShuttingDown: true };
  const now = from.now();
  expect(now.pressure).toEqual(new Set(['DiskPressure']));
  expect(now.readiness.problems).toEqual(['node is shutting down']);
});

describe('for a caller that asks once', () => {
  test('the facts have the answers of DNS and the runtime, and no request is sent afterwards', async () => {
    const once = await StatusFacts.once(testContext({ clock }), parts(), READERS);
    expect(once).toMatchObject({ images: [IMAGE], versions: { runtimeName: 'containerd' } });
    expect(once.addresses.defaultRoute(true)).toBe('10.0.0.7');
    expect(clock.armed).toBe(0);
  });

  test('the facts wait at most 5 s for a runtime that hangs', async () => {
    let isGivenUp: boolean | undefined;
    listImages = () => new Promise(() => undefined);
    const version = ({ signal }: { readonly signal?: AbortSignal } = {}) =>
      new Promise<never>(() => signal?.addEventListener('abort', () => (isGivenUp = true)));
    const hanging = { runtime: { version, listImages } };
    let once: NodeStatusFacts | undefined;
    const asking = StatusFacts.once(testContext({ clock }), parts(hanging), READERS).then(
      (now) => (once = now),
    );
    await waitFor(() => clock.armed > 0, { what: 'the limit' });
    await clock.advance(4_999);
    expect(once).toBeUndefined();
    await clock.advance(1);
    await asking;
    expect(once).toMatchObject({ images: undefined, versions: { runtimeName: 'unknown' } });
    expect([isGivenUp, clock.armed]).toEqual([true, 0]);
  });
});

describe('what is read in the background', () => {
  test('images are listed again every 30 s', async () => {
    const from = await opened();
    listImages = () => Promise.resolve([IMAGE, { ...IMAGE, id: 'sha256:2' }]);
    await clock.advance(29_999);
    expect(from.now().images).toHaveLength(1);
    await clock.advance(1);
    expect(from.now().images).toHaveLength(2);
  });

  test('a runtime that does not answer gets another request after 2 s, and its last images stay', async () => {
    const from = await opened();
    let asked = 0;
    listImages = () => {
      asked += 1;
      return Promise.reject(new StateletError('Unavailable', 'nobody answers'));
    };
    await clock.advance(34_000);
    expect(asked).toBe(3);
    expect(from.now().images).toEqual([IMAGE]);
  });

  test('a runtime that hangs delays nothing', async () => {
    listImages = () => new Promise(() => undefined);
    const from = await opened();
    expect(from.now().images).toBeUndefined();
    expect(statusOf(from)).toMatchObject({ nodeInfo: { containerRuntimeVersion: 'containerd://1.7.24' } });
  });

  test('after a stop, no request is sent any more', async () => {
    const from = await opened();
    from.stop();
    expect(clock.armed).toBe(0);
  });
});

describe('addresses', () => {
  test('no request goes to DNS and no route is read if --node-ip or the name is an address', async () => {
    let asked = 0;
    const dns = () => {
      asked += 1;
      return Promise.resolve([]);
    };
    (await opened({ nodeIPs: ['10.0.0.1'] }, { dns })).stop();
    expect(asked).toBe(0);
    await opened({ nodeIPs: ['0.0.0.0'] }, { dns });
    expect(asked).toBe(1);
  });

  test('without a default route of the wanted family, the other one counts', async () => {
    const defaultRoute = () => Promise.resolve({ ipv4: '10.0.0.7' });
    const from = await opened({ nodeIPs: ['::'] }, { defaultRoute });
    expect(statusOf(from)?.addresses).toContainEqual({ type: 'InternalIP', address: '10.0.0.7' });
  });

  test('a DNS server that hangs delays only the first report, for 5 s; the default route is known all the same', async () => {
    const from = await opened({}, { dns: () => new Promise(() => undefined) });
    let isKnown = false;
    void from.known.then(() => (isKnown = true));
    await clock.advance(4_999);
    expect(isKnown).toBe(false);
    await clock.advance(1);
    expect(isKnown).toBe(true);
    expect(statusOf(from)?.addresses).toContainEqual({ type: 'InternalIP', address: '10.0.0.7' });
  });

  test('a stop ends that wait', async () => {
    const from = await opened({}, { dns: () => new Promise(() => undefined) });
    from.stop();
    await from.known;
    expect(clock.armed).toBe(0);
  });
});

describeOnControlPlane('an API server', (controlPlane) => {
  test('keeps the status as it is: of the next report only the heartbeats differ', async () => {
    const clients = openApiClients(new FixedCredentials(controlPlane.details()), new ObservedConnection(), {
      userAgent: 'statelet/test',
    });
    const target = { resource: 'nodes', name: controlPlane.nodeName } as const;
    const from = await opened();
    const build = (node: Node) => buildNodeStatus(node, from.now(), NO_EVENTS_SENT).node;
    const settings = { ...REGISTRATION, nodeName: controlPlane.nodeName };
    await clients.heartbeats.create<Node>({ resource: 'nodes' }, build(initialNode(settings)));

    const before = await clients.heartbeats.get<Node>(target);
    await clock.advance(10_000);
    const after = build(before);
    expect(nodeHasChanged(before, after)).toBe(false);
    const beats = after.status?.conditions?.map(({ type, lastHeartbeatTime }) => ({
      lastHeartbeatTime,
      type,
    }));
    const patch = nodePatch(before, after);
    expect(patch).toEqual({
      status: {
        '$setElementOrder/conditions': beats?.map(({ type }) => ({ type })),
        conditions: expect.arrayContaining(beats ?? []),
      },
    });
    await clients.heartbeats.patch<Node>({ ...target, subresource: 'status' }, patch);
    expect(nodeHasChanged(await clients.heartbeats.get<Node>(target), after)).toBe(false);
    clients.close();
  });
});
