import { afterEach, describe, expect, test } from '@jest/globals';
import type { ObjectReference } from '../../../../src/agent/cluster/service/api-resources.ts';
import type { ApiObject } from '../../../../src/agent/cluster/service/api-server.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { MINUTE_MS, registered, setUp, stopNodes } from '../../../support/cluster-node-bed.ts';
import { refusal } from '../../../support/node-api.ts';

const nothing = () => undefined;
afterEach(stopNodes);

const condition = (node: Node | undefined, type: string) =>
  node?.status?.conditions?.find((found) => found.type === type);
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

  test('is measured until the new node is ready; one that existed is not new', async () => {
    const { measurements } = await registered();
    expect(measurements.told).toEqual(['registration begins', 'registered', 'node ready']);
    const { clock, api, node, measurements: others } = setUp();
    api.putNode({ metadata: { name: 'node-1', uid: 'old' } });
    node.start();
    await clock.advance(1_000);
    expect(others.told).toEqual(['registration begins', 'node ready']);
  });

  test('has the taints and the provider ID of the settings', async () => {
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

  test('takes over an object that exists, and leaves its spec and its other fields unchanged', async () => {
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

  test('sets extended resources of a former node to 0 where no agent of this machine has handed out devices', async () => {
    const outcomes = [];
    for (const resetsExtendedResources of [true, false]) {
      const { clock, api, node } = setUp({ registration: { resetsExtendedResources } });
      const resources = { cpu: '4', 'example.com/gpu': '3' };
      api.putNode({
        metadata: { name: 'node-1', uid: 'old' },
        status: { capacity: resources, allocatable: resources },
      });
      node.start();
      await clock.advance(1_000);
      outcomes.push(
        [api.node?.status?.capacity, api.node?.status?.allocatable].map((all) => all?.['example.com/gpu']),
      );
    }
    expect(outcomes).toEqual([
      ['0', '0'],
      ['3', '3'],
    ]);
  });

  test('reads the object also if the node may not create it', async () => {
    const { clock, api, node, told } = setUp();
    api.putNode({ metadata: { name: 'node-1', uid: 'old' } });
    api.fault = ({ verb }) => {
      if (verb === 'create') throw refusal('Forbidden');
    };
    node.start();
    await clock.advance(1_000);
    expect(told).toEqual(['registered old']);
  });

  test('logs that the node may not create the object, if there is none', async () => {
    const { clock, api, node } = setUp();
    api.fault = ({ verb }) => {
      if (verb === 'create') throw refusal('Forbidden');
    };
    node.start();
    await clock.advance(100);
    expect(node.current).toMatchObject({ state: 'Registering', problem: 'the server says Forbidden' });
  });

  test('whose answer is lost finds its own object with the next try', async () => {
    const { clock, api, node, told } = setUp();
    api.fault = ({ verb, body }) => {
      if (verb !== 'create') return;
      api.fault = undefined;
      api.putNode(body as Node);
      throw refusal('InternalError');
    };
    node.start();
    await clock.advance(1_000);
    expect(api.verbs.slice(0, 3)).toEqual(['create node', 'create node', 'get node']);
    expect(told).toEqual(['registered uid-1']);
  });

  test('is tried again after 100 ms, doubling to 7 s, without end', async () => {
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

  test('records changes of the status as events, after the UID to which they refer is known', async () => {
    const { clock, node, events, toldAtEvents } = setUp();
    node.start();
    await clock.advance(1_000);
    for (const told of toldAtEvents) expect(told).toEqual(['registered uid-1']);
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
  test('without a change go out after 5 min; until then there are no requests to the server', async () => {
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

  test('go out at once on request', async () => {
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

  test('of a change that comes while a report is under way go out after it', async () => {
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

  test('are patches: fields of the status that other clients have set stay', async () => {
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

  test('are tried five times, from the second try with the present object of the server, then at the next look', async () => {
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

  test('are compared with what the watch has shown, also where an older answer comes after it', async () => {
    const { clock, api, node, facts } = await registered();
    const before = api.node!;
    facts.address = '10.0.0.2';
    // The server takes long for the patch, and carries it out only when it has read the object for the next try.
    api.fault = ({ verb }) => {
      if (verb === 'get') facts.address = undefined;
      else throw refusal('InternalError');
    };
    const get = api.get.bind(api);
    api.get = async <T extends ApiObject>(target: ObjectReference) => {
      const answer = await get<T>(target);
      api.putNode({ ...before, status: { ...before.status, addresses: [] } });
      node.seen(api.node);
      return answer;
    };
    node.reportNow();
    await clock.advance(0);
    expect(api.verbs).toEqual(['patch node/status', 'get node']);
    api.fault = undefined;
    await clock.advance(10_000);
    expect(api.node?.status?.addresses).toEqual(before.status?.addresses);
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

  test('end with the stop: no timer is set and no request is sent any more', async () => {
    const { clock, api, node } = await registered();
    node.stop();
    expect(clock.armed).toBe(0);
    node.reportNow();
    await clock.advance(0);
    expect(api.requests).toEqual([]);
  });
});

describe('a node that is not Ready when it starts', () => {
  test('is reported as soon as it has become Ready, and sends no request before', async () => {
    const { clock, api, node, facts, events } = setUp();
    facts.problems = ['container runtime status check may not have completed yet'];
    node.start();
    await clock.advance(5_000);
    expect(api.verbs).toEqual(['create node', 'patch node/status']);
    facts.problems = [];
    node.reportNow();
    await clock.advance(0);
    expect(condition(api.node, 'Ready')).toMatchObject({ status: 'True' });
    expect(events.at(-1)).toBe('Normal NodeReady');
  });
});

describe('an object that was deleted', () => {
  test('is logged and not created again, and kept up to date when it exists again', async () => {
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

  test('and created again at once is reported with its new UID', async () => {
    const { clock, api, node, told } = await registered();
    api.putNode({ metadata: { name: 'node-1', uid: 'new' } });
    node.seen(api.node);
    await clock.advance(0);
    expect(told).toEqual(['registered uid-1', 'registered new']);
    expect(api.node?.status?.nodeInfo?.machineID).toBe('machine-a');
  });
});
