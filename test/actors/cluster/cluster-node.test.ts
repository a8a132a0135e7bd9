import { afterEach, describe, expect, test } from '@jest/globals';
import { ClusterNode } from '../../../src/actors/cluster/cluster-node.ts';
import type { MachineIdentity } from '../../../src/policies/node-status/machine-identity.ts';
import type { RegistrationSettings } from '../../../src/policies/node-status/initial-node.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { Node } from '../../../src/types/kubernetes.ts';
import { type FactsInput, machineFacts, OTHER_IDENTITY, REGISTRATION } from '../../support/machine-facts.ts';
import { NodeApi, refusal } from '../../support/node-api.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

const MINUTE_MS = 60_000;
const nothing = () => undefined;
const started: ClusterNode[] = [];
afterEach(() => started.splice(0).forEach((node) => node.stop()));

interface Options {
  readonly registerNode?: boolean;
  readonly registration?: Partial<RegistrationSettings>;
  readonly random?: number;
}

function setUp({ registerNode = true, registration = {}, random = 0 }: Options = {}) {
  const clock = new VirtualClock();
  const api = new NodeApi(() => clock.now());
  const { logger, lines } = recordingLogger();
  const events: string[] = [];
  const told: string[] = [];
  const facts: { -readonly [Key in keyof FactsInput]: FactsInput[Key] } = { nowMs: 0 };
  const node = new ClusterNode({
    api,
    settings: {
      registerNode,
      nodeStatusUpdateFrequencyMs: 10_000,
      nodeStatusReportFrequencyMs: 5 * MINUTE_MS,
      nodeLeaseDurationSeconds: 40,
    },
    registration: { ...REGISTRATION, ...registration },
    facts: () => Promise.resolve(machineFacts({ ...facts, nowMs: clock.now() })),
    isReady: () => (facts.problems ?? []).length === 0,
    onRegistered: (uid) => told.push(`registered ${uid}`),
    onLost: () => told.push('lost'),
    clock,
    random: () => random,
    recorder: { nodeEvent: (type, reason) => events.push(`${type} ${reason}`) },
    logger,
  });
  started.push(node);
  return { clock, api, node, facts, events, told, lines };
}

/** Registered and reported; the requests until then are forgotten. */
async function registered(options: Options = {}) {
  const it = setUp(options);
  it.node.start();
  await it.clock.advance(1_000);
  it.api.requests.length = 0;
  it.events.length = 0;
  return it;
}

const condition = (node: Node | undefined, type: string) =>
  node?.status?.conditions?.find((found) => found.type === type);
const nodeOf = (identity: MachineIdentity): Node => ({
  metadata: { name: 'node-1', labels: { zone: 'a' } },
  spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }] },
  status: {
    nodeInfo: {
      ...identity,
      architecture: 'amd64',
      containerRuntimeVersion: '',
      kernelVersion: '',
      kubeProxyVersion: '',
      kubeletVersion: '',
      operatingSystem: 'linux',
      osImage: '',
    },
  },
});

describe('registration', () => {
  test('creates the Node object with its status after 100 ms', async () => {
    const { clock, api, node, told } = setUp();
    node.start();
    await clock.advance(99);
    expect(api.requests).toEqual([]);
    await clock.advance(1);
    expect(api.verbs).toEqual(['create node', 'patch node/status']);
    expect(api.requests[0]?.body).toMatchObject({
      metadata: { name: 'node-1', labels: { 'kubernetes.io/hostname': 'node-1', disk: 'ssd' } },
      status: { capacity: { cpu: '4' }, nodeInfo: { machineID: 'machine-a' } },
    });
    expect(condition(api.node, 'Ready')).toMatchObject({ status: 'True', reason: 'KubeletReady' });
    expect(told).toEqual(['registered uid-1']);
    expect(node.isRegistered).toBe(true);
    expect(node.node).toBe(api.node);
  });

  test('has the taints and the provider that the settings name', async () => {
    const registration = {
      registerWithTaints: [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }],
      registerSchedulable: false,
      externalCloudProvider: true,
      providerID: 'cloud://1',
    };
    const { api } = await registered({ registration });
    expect(api.node?.spec).toEqual({
      unschedulable: true,
      providerID: 'cloud://1',
      taints: [
        { key: 'dedicated', value: 'x', effect: 'NoExecute' },
        { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
        { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
      ],
    });
  });

  test('takes over an object that exists, and leaves its spec and what else it has', async () => {
    const { clock, api, node } = setUp();
    api.putNode({
      metadata: { name: 'node-1', uid: 'old', labels: { zone: 'a', 'kubernetes.io/arch': 'arm64' } },
      spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }] },
    });
    node.start();
    await clock.advance(1_000);
    expect(api.verbs.slice(0, 3)).toEqual(['create node', 'get node', 'patch node/status']);
    expect(api.node).toMatchObject({
      metadata: { uid: 'old', labels: { zone: 'a', 'kubernetes.io/arch': 'amd64' } },
      spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }] },
      status: { nodeInfo: { machineID: 'machine-a' } },
    });
  });

  test('reads the object also where the node may not create it', async () => {
    const { clock, api, node, told } = setUp();
    api.putNode({ metadata: { name: 'node-1', uid: 'old' } });
    api.fault = ({ verb }) => {
      if (verb === 'create') throw refusal('Forbidden');
    };
    node.start();
    await clock.advance(1_000);
    expect(told).toEqual(['registered old']);
  });

  test('is tried again after 100 ms, doubling to 7 s, for ever', async () => {
    const { clock, api, node, lines } = setUp();
    const begin = clock.now();
    api.fault = () => {
      throw refusal('InternalError');
    };
    node.start();
    await clock.advance(27_000);
    const at = api.requests.map((request) => request.at - begin);
    expect(at).toEqual([100, 300, 700, 1500, 3100, 6300, 12_700, 19_700, 26_700]);
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    api.fault = undefined;
    await clock.advance(7_000);
    expect(node.isRegistered).toBe(true);
  });

  test('records what the status says as events', async () => {
    const { clock, node, events } = setUp();
    node.start();
    await clock.advance(1_000);
    expect(events).toEqual([
      'Normal NodeHasSufficientMemory',
      'Normal NodeHasNoDiskPressure',
      'Normal NodeHasSufficientPID',
    ]);
  });

  test('each request has a time limit', async () => {
    const { clock, api, node } = setUp();
    node.start();
    await clock.advance(1_000);
    expect(new Set(api.requests.map(({ timeoutMs }) => timeoutMs))).toEqual(new Set([10_000]));
  });
});

describe('without --register-node', () => {
  test('the object of another client is waited for, and kept up to date', async () => {
    const { clock, api, node, told } = setUp({ registerNode: false });
    node.start();
    await clock.advance(25_000);
    expect(api.verbs).toEqual(['get node', 'get node', 'get node']);
    expect(node.isRegistered).toBe(false);
    api.putNode({ metadata: { name: 'node-1' } });
    await clock.advance(10_000);
    expect(told).toEqual(['registered uid-1']);
    expect(condition(api.node, 'Ready')).toMatchObject({ status: 'True' });
  });

  test('the watch shows the object at once', async () => {
    const { clock, api, node, told } = setUp({ registerNode: false });
    node.start();
    await clock.advance(1_000);
    api.putNode({ metadata: { name: 'node-1' } });
    node.seen(api.node);
    await clock.advance(0);
    expect(told).toEqual(['registered uid-1']);
  });
});

describe('reports', () => {
  test('without a change go out after 5 min; until then nothing is asked of the server', async () => {
    const { clock, api } = await registered({ random: 0.5 });
    await clock.advance(5 * MINUTE_MS - 10_000);
    expect(api.requests).toEqual([]);
    await clock.advance(20_000);
    expect(api.verbs).toEqual(['patch node/status']);
    expect(Object.keys(api.requests[0]?.body ?? {})).toEqual(['status']);
  });

  test('go out at the next look after a change', async () => {
    const { clock, api, facts } = await registered();
    facts.address = '10.0.0.2';
    await clock.advance(10_000);
    expect(api.verbs).toEqual(['patch node/status']);
    expect(api.node?.status?.addresses).toEqual([
      { type: 'InternalIP', address: '10.0.0.2' },
      { type: 'Hostname', address: 'node-1' },
    ]);
  });

  test('go out at once where that is asked for', async () => {
    const { clock, api, node, facts, events } = await registered();
    facts.problems = ['node is shutting down'];
    node.reportNow();
    await clock.advance(0);
    expect(api.verbs).toEqual(['patch node/status']);
    expect(condition(api.node, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'node is shutting down',
    });
    expect(events).toEqual(['Normal NodeNotReady']);
  });

  test('of a change that comes while one is under way go out after it', async () => {
    const { clock, api, node, facts } = await registered();
    let answer: () => void = nothing;
    api.fault = () => new Promise((resolve) => (answer = resolve));
    facts.address = '10.0.0.2';
    node.reportNow();
    await clock.advance(0);
    facts.problems = ['node is shutting down'];
    node.reportNow();
    node.reportNow();
    api.fault = undefined;
    answer();
    await clock.advance(0);
    expect(api.verbs).toEqual(['patch node/status', 'patch node/status']);
    expect(condition(api.node, 'Ready')).toMatchObject({ status: 'False' });
  });

  test('are patches: what others have put into the status stays', async () => {
    const { clock, api, node, facts } = await registered();
    const foreign = { type: 'KernelDeadlock', status: 'False' };
    api.putNode({
      ...api.node!,
      status: { ...api.node?.status, conditions: [foreign, ...(api.node?.status?.conditions ?? [])] },
    });
    facts.address = '10.0.0.2';
    node.reportNow();
    await clock.advance(0);
    expect(condition(api.node, 'KernelDeadlock')).toEqual(foreign);
  });

  test('put back labels of the platform that were removed', async () => {
    const { clock, api, node } = await registered();
    const labels = { 'kubernetes.io/arch': 'amd64' };
    api.putNode({ ...api.node!, metadata: { ...api.node!.metadata, labels } });
    node.seen(api.node);
    await clock.advance(10_000);
    expect(api.node?.metadata.labels).toMatchObject({ 'kubernetes.io/os': 'linux' });
  });

  test('are tried five times, from the second try with what the server has now, then with the next look', async () => {
    const { clock, api, facts } = await registered();
    api.fault = ({ verb }) => {
      if (verb === 'patch') throw refusal('Conflict');
    };
    facts.address = '10.0.0.2';
    await clock.advance(10_000);
    const again = ['get node', 'patch node/status'];
    expect(api.verbs).toEqual(['patch node/status', ...again, ...again, ...again, ...again]);
    api.fault = undefined;
    await clock.advance(10_000);
    expect(api.verbs.slice(9)).toEqual(['patch node/status']);
  });

  test('that fail record no event, until one succeeds', async () => {
    const { clock, api, node, facts, events } = await registered();
    api.fault = () => {
      throw refusal('InternalError');
    };
    facts.problems = ['container runtime is down'];
    node.reportNow();
    await clock.advance(0);
    expect(events).toEqual([]);
    api.fault = undefined;
    await clock.advance(10_000);
    expect(events).toEqual(['Normal NodeNotReady']);
  });

  test('end with the stop, and nothing is armed', async () => {
    const { clock, node } = await registered();
    node.stop();
    expect(clock.armed).toBe(0);
  });
});

describe('a node that is not Ready when it starts', () => {
  test('is reported within 100 ms after it has become Ready, and costs no request before', async () => {
    const { clock, api, node, facts, events } = setUp();
    facts.problems = ['container runtime status check may not have completed yet'];
    node.start();
    await clock.advance(5_000);
    expect(api.verbs).toEqual(['create node', 'patch node/status']);
    facts.problems = [];
    await clock.advance(100);
    expect(condition(api.node, 'Ready')).toMatchObject({ status: 'True' });
    expect(events.at(-1)).toBe('Normal NodeReady');
  });

  test('is looked at often for two minutes alone', async () => {
    const { clock, api, node, facts } = setUp();
    facts.problems = ['container runtime is down'];
    node.start();
    await clock.advance(125_000);
    api.requests.length = 0;
    facts.problems = [];
    await clock.advance(1_000);
    expect(api.requests).toEqual([]);
    await clock.advance(10_000);
    expect(api.verbs).toEqual(['patch node/status']);
  });
});

describe('an object that was deleted', () => {
  test('is said and not made anew, and kept up to date when it is there again', async () => {
    const { clock, api, node, told, lines } = await registered();
    api.node = undefined;
    node.seen(undefined);
    await clock.advance(30_000);
    expect(told).toEqual(['registered uid-1', 'lost']);
    expect(new Set(api.verbs)).toEqual(new Set(['get node']));
    expect(lines.at(-1)).toEqual({
      level: 'warn',
      message: 'The Node object node-1 was deleted. Restart the agent to register the node again',
    });
    api.putNode({ metadata: { name: 'node-1', uid: 'new' } });
    await clock.advance(10_000);
    expect(told.at(-1)).toBe('registered new');
    expect(condition(api.node, 'Ready')).toMatchObject({ status: 'True' });
  });

  test('and made anew at once is told with its new UID', async () => {
    const { clock, api, node, told } = await registered();
    api.putNode({ metadata: { name: 'node-1', uid: 'new' } });
    node.seen(api.node);
    await clock.advance(0);
    expect(told).toEqual(['registered uid-1', 'registered new']);
    expect(api.node?.status?.nodeInfo?.machineID).toBe('machine-a');
  });
});

describe('an object of another machine', () => {
  const TAKEN =
    'The Node object node-1 is of another machine: machine ID machine-b, system UUID system-b, boot ID boot-2';

  test('is said, and not written while that machine renews its lease', async () => {
    const { clock, api, node, told, events, lines } = setUp();
    api.putNode(nodeOf(OTHER_IDENTITY));
    const before = api.node;
    node.start();
    for (let renewals = 0; renewals < 30; renewals += 1) {
      api.putLease({ metadata: { name: 'node-1' } });
      await clock.advance(10_000);
    }
    expect(api.node).toBe(before);
    expect(told).toEqual([]);
    expect(events).toEqual(['Warning NodeNameTaken']);
    const advice = 'It is not changed while that machine renews its lease. Give this node another name';
    expect(lines).toEqual([{ level: 'error', message: `${TAKEN}. ${advice}` }]);
  });

  test.each([['is not renewed', true] as const, ['does not exist', false] as const])(
    'is taken over if its lease %s for 40 s',
    async (_, hasLease) => {
      const { clock, api, node, told } = setUp();
      api.putNode(nodeOf(OTHER_IDENTITY));
      // The clock of the other machine may be wrong by hours: only what changes counts.
      if (hasLease)
        api.putLease({ metadata: { name: 'node-1' }, spec: { renewTime: '2031-01-01T00:00:00Z' } });
      node.start();
      await clock.advance(40_000);
      expect(told).toEqual([]);
      await clock.advance(10_000);
      expect(told).toEqual(['registered uid-1']);
      expect(api.node?.status?.nodeInfo?.machineID).toBe('machine-a');
    },
  );

  test('that takes the object of a running node is said, and not overwritten', async () => {
    const { clock, api, node, told, events } = await registered();
    api.putNode({ ...api.node!, status: nodeOf(OTHER_IDENTITY).status! });
    node.seen(api.node);
    api.requests.length = 0;
    await clock.advance(15_000);
    expect(told).toEqual(['registered uid-1', 'lost']);
    expect(events).toEqual(['Warning NodeNameTaken']);
    expect(api.verbs).not.toContain('patch node/status');
  });

  test('is not suspected where only what is known is old', async () => {
    const { clock, api, node, told } = await registered();
    node.seen({ ...api.node!, status: nodeOf(OTHER_IDENTITY).status! });
    await clock.advance(10_000);
    expect(api.verbs).toEqual(['get node']);
    expect(told).toEqual(['registered uid-1']);
  });
});

test('a machine that was started anew is the same machine: its object is taken, and Rebooted recorded', async () => {
  const { clock, api, node, told, events } = setUp();
  api.putNode(nodeOf({ machineID: 'machine-a', systemUUID: 'system-a', bootID: 'boot-0' }));
  node.start();
  await clock.advance(1_000);
  expect(told).toEqual(['registered uid-1']);
  expect(events.filter((event) => event.endsWith('Rebooted'))).toEqual(['Warning Rebooted']);
  expect(api.node?.status?.nodeInfo?.bootID).toBe('boot-1');
});
