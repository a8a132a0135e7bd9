/** The Node object and its lease on a real API server, with the rights of a node. */
import { afterEach, expect, test } from '@jest/globals';
import { ClusterNode } from '../../../../src/agent/actors/cluster/cluster-node.ts';
import { NodeLease } from '../../../../src/agent/actors/cluster/node-lease.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ApiClients } from '../../../../src/agent/cluster/service/api-server.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { Lease, Node } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { type ControlPlane, describeOnControlPlane } from '../../../support/control-plane.ts';
import {
  type FactsInput,
  machineFacts,
  OTHER_IDENTITY,
  REGISTRATION,
} from '../../../support/machine-facts.ts';
import { type LogLine, recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** Shorter than in a cluster, so that the tests need not wait long. */
const LEASE_SECONDS = 2;
const LOOK_MS = 500;

interface Running {
  readonly node: ClusterNode;
  readonly lease: NodeLease;
  readonly clients: ApiClients & { close(): void };
}
const running: Running[] = [];
afterEach(() => running.splice(0).forEach(end));

function end({ node, lease, clients }: Running): void {
  node.stop();
  lease.stop();
  clients.close();
}

type Facts = { -readonly [Key in keyof FactsInput]: FactsInput[Key] };

interface Agent extends Running {
  readonly facts: Facts;
  readonly lines: readonly LogLine[];
}

function agentOf(
  controlPlane: ControlPlane,
  options: {
    readonly registerNode?: boolean;
    readonly user?: string;
    readonly lookMs?: number;
    /** For so long a request may take, at most the time of a look; and so long the object of another machine is left alone. */
    readonly leaseSeconds?: number;
  } = {},
): Agent {
  const { nodeName } = controlPlane;
  const clients = openApiClients(
    new FixedCredentials(controlPlane.detailsOf(controlPlane.ca.filesOf(options.user ?? 'node'))),
    new ObservedConnection(),
    { userAgent: 'statelet/test' },
  );
  const { logger, lines } = recordingLogger();
  const facts: Facts = { nowMs: 0 };
  const context = testContext({ clock: systemClock, random: () => 0.5, logger });
  const api = clients.heartbeats;
  const lease = new NodeLease(context, {
    api,
    nodeName,
    leaseDurationSeconds: LEASE_SECONDS,
    timeoutMs: 10_000,
  });
  const node = new ClusterNode(context, {
    api,
    settings: {
      registerNode: options.registerNode ?? true,
      nodeStatusUpdateFrequencyMs: options.lookMs ?? LOOK_MS,
      nodeStatusReportFrequencyMs: 60_000,
      nodeLeaseDurationSeconds: options.leaseSeconds ?? LEASE_SECONDS,
    },
    registration: {
      ...REGISTRATION,
      nodeName,
      hostname: nodeName,
      registerWithTaints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }],
    },
    facts: () => Promise.resolve(machineFacts({ ...facts, nowMs: systemClock.now() })),
    onRegistered: (uid) => lease.nodeKnown(uid),
    onLost: () => lease.nodeLost(),
  });
  const agent = { node, lease, clients, facts, lines };
  running.push(agent);
  lease.start();
  node.start();
  return agent;
}

describeOnControlPlane('a node', (controlPlane) => {
  const nodeNow = () => controlPlane.kubectlJson<Node>('get', 'node', controlPlane.nodeName);
  const leaseNow = () =>
    controlPlane.kubectlJson<Lease>('get', 'lease', controlPlane.nodeName, '--namespace=kube-node-lease');
  const ready = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'Ready');
  const until = <T>(what: string, read: () => Promise<T>, holds: (seen: T) => boolean) =>
    waitFor(
      async () => {
        const seen = await read().catch(() => undefined);
        return seen !== undefined && holds(seen) ? seen : undefined;
      },
      { what, pauseMs: 100 },
    );
  const untilRegistered = ({ node }: Agent) => waitFor(() => node.isRegistered, { what: 'the registration' });

  test('registers, with its taints and its status, and keeps its lease', async () => {
    // These are also the time limit of requests: none may fail here.
    const agent = agentOf(controlPlane, { lookMs: 10_000, leaseSeconds: 10 });
    const node = await until('the node to be Ready', nodeNow, (seen) => ready(seen)?.status === 'True');
    expect(node.spec?.taints).toContainEqual({ key: 'dedicated', value: 'x', effect: 'NoSchedule' });
    expect(node.metadata.labels).toMatchObject({ disk: 'ssd', 'kubernetes.io/arch': 'amd64' });
    expect(node.status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: controlPlane.nodeName },
      ],
      capacity: { cpu: '4', memory: '8Gi', pods: '110' },
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: { machineID: 'machine-a' },
    });
    const lease = await until('the lease', leaseNow, () => true);
    expect(lease).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Node', uid: node.metadata.uid }] },
      spec: { holderIdentity: controlPlane.nodeName, leaseDurationSeconds: LEASE_SECONDS },
    });
    await until('a renewal', leaseNow, ({ spec }) => spec?.renewTime !== lease.spec?.renewTime);
    expect(agent.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  });

  test('reports at once that it is not Ready, and leaves what others have set', async () => {
    const agent = agentOf(controlPlane);
    await untilRegistered(agent);
    await controlPlane.kubectl('taint', 'node', controlPlane.nodeName, 'mine=1:NoSchedule');
    await controlPlane.kubectl('label', 'node', controlPlane.nodeName, 'mine=1');
    const conditions = [{ type: 'KernelDeadlock', status: 'False' }];
    await controlPlane.patch(`/api/v1/nodes/${controlPlane.nodeName}/status`, { status: { conditions } });
    agent.facts.problems = ['node is shutting down'];
    agent.node.reportNow();
    const node = await until('NotReady', nodeNow, (seen) => ready(seen)?.status === 'False');
    expect(ready(node)).toMatchObject({ reason: 'KubeletNotReady', message: 'node is shutting down' });
    expect(node.spec?.taints).toContainEqual({ key: 'mine', value: '1', effect: 'NoSchedule' });
    expect(node.metadata.labels).toMatchObject({ mine: '1' });
    expect(node.status?.conditions?.map(({ type }) => type)).toContain('KernelDeadlock');
  });

  test('takes its object over when it starts again, and goes on through a restart of the API server', async () => {
    const agent = agentOf(controlPlane);
    await untilRegistered(agent);
    const { metadata } = await nodeNow();
    const before = await until('the lease', leaseNow, () => true);
    await controlPlane.apiServer.stop();
    agent.facts.address = '10.0.0.2';
    await waitFor(() => agent.lines.some(({ message }) => message.includes('lease could not be renewed')), {
      what: 'the lease to fail',
    });
    await controlPlane.apiServer.start();
    await until('a renewal', leaseNow, ({ spec }) => spec?.renewTime !== before.spec?.renewTime);
    const node = await until('the new address', nodeNow, ({ status }) =>
      JSON.stringify(status?.addresses).includes('10.0.0.2'),
    );
    expect(node.metadata.uid).toBe(metadata.uid);
  });

  test('whose object is deleted is not registered anew before it is started again', async () => {
    const agent = agentOf(controlPlane);
    await untilRegistered(agent);
    await controlPlane.kubectl('delete', 'node', controlPlane.nodeName);
    // As the watch shows it.
    agent.node.seen(undefined);
    await waitFor(() => !agent.node.isRegistered, { what: 'the loss of the object to be seen' });
    await expect(nodeNow()).rejects.toThrow('NotFound');
    agent.node.stop();
    await untilRegistered(agentOf(controlPlane));
    expect((await nodeNow()).metadata.name).toBe(controlPlane.nodeName);
  });

  test('whose name belongs to another machine leaves that object alone until that machine stops', async () => {
    const { nodeName } = controlPlane;
    const nodeInfo = { ...(await nodeNow()).status?.nodeInfo, ...OTHER_IDENTITY };
    await controlPlane.patch(`/api/v1/nodes/${nodeName}/status`, { status: { nodeInfo } });
    const agent = agentOf(controlPlane, { leaseSeconds: 6 });
    const refusal = () => agent.lines.find(({ level }) => level === 'error');
    const { message } = await waitFor(refusal, { what: 'the refusal to be said' });
    expect(message).toContain('is of another machine: machine ID machine-b');
    const node = await controlPlane.read<Node>(`/api/v1/nodes/${nodeName}`);
    expect(node?.status?.nodeInfo?.machineID).toBe('machine-b');
    await untilRegistered(agent);
    await until('its status', nodeNow, (seen) => seen.status?.nodeInfo?.machineID === 'machine-a');
  });

  test('with the credentials of another node logs that these do not allow it, and keeps trying', async () => {
    controlPlane.addNode('node-9');
    const agent = agentOf(controlPlane, { user: 'node-9', lookMs: 10_000, leaseSeconds: 10 });
    await waitFor(() => agent.node.current.problem, { what: 'the refusal' });
    expect(agent.node.current).toMatchObject({ state: 'Registering' });
    expect(agent.lines.at(0)).toMatchObject({ level: 'warn' });
    expect(agent.lines.at(0)?.message).toMatch(
      /^The node could not be registered.*'node-9' cannot read 'node-1'/,
    );
  });

  test('that does not register itself waits for its object', async () => {
    const { nodeName } = controlPlane;
    await controlPlane.kubectl('delete', 'node', nodeName);
    const agent = agentOf(controlPlane, { registerNode: false });
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } });
    await untilRegistered(agent);
    await until('the node to be Ready', nodeNow, (seen) => ready(seen)?.status === 'True');
  });
});
