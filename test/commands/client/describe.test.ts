import { afterEach, beforeEach, describe as suite, expect, test } from '@jest/globals';
import { describe } from '../../../src/commands/client/describe.ts';
import { answerJSON } from '../../../src/agent/server/routes/route.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { type OwnerSocket, ownerSocket, podOnNode } from '../../support/owner-socket.ts';

const EVENT = {
  metadata: { name: 'a', namespace: 'default' },
  involvedObject: { kind: 'Pod', uid: 'uid-web', fieldPath: 'spec.containers{main}' },
  type: 'Warning',
  reason: 'BackOff',
  message: 'Back-off\nrestarting',
  source: { component: 'statelet' },
  firstTimestamp: '2030-01-01T00:00:00Z',
  lastTimestamp: '2030-01-01T00:01:00Z',
  count: 3,
};
const NOW = Date.parse('2030-01-01T00:01:30Z');

let socket: OwnerSocket | undefined;
let told: string[];
beforeEach(() => {
  told = [];
});
afterEach(async () => {
  await socket?.close();
  socket = undefined;
});

interface Served {
  readonly node?: object;
  readonly objects?: readonly object[];
}

async function described(
  pods: readonly Pod[],
  words: string,
  flags = {},
  events: readonly object[] = [],
  { node = {}, objects = [] }: Served = {},
) {
  await socket?.close();
  socket = await ownerSocket(
    [
      { path: '/node/object', handle: (_, response) => answerJSON(response, node) },
      { path: '/objects', handle: (_, response) => answerJSON(response, { items: objects }) },
      { path: '/why', handle: (_, response) => answerJSON(response, { sentences: ['The node is ready.'] }) },
      { path: '/events', handle: (_, response) => answerJSON(response, { items: events }) },
      {
        path: '/why/default/web-node-a',
        handle: (_, response) => answerJSON(response, { sentences: ['default/web waits for its image.'] }),
      },
    ],
    pods,
  );
  return describe(words.split(' '), { rootDir: socket.rootDir, ...flags }, (line) => told.push(line), NOW);
}

suite('a description', () => {
  test('has the present state of the pod, and its own events', async () => {
    const others = { ...EVENT, involvedObject: { ...EVENT.involvedObject, uid: 'other' } };
    const text = await described([podOnNode('web')], 'pod web', {}, [EVENT, others]);
    expect(text).toMatch(/^Name: +web-node-a\nNamespace: +default\nNode: +Node-A\/\n/u);
    expect(text).toMatch(
      /\nWhy:\n {2}default\/web waits for its image\.\nEvents:\n {2}Type +Reason +Age +From +Message\n {2}----.*\n {2}Warning {2}BackOff {2}30s \(x3 over 90s\) {2}statelet {2}spec\.containers\{main\}: Back-off restarting\n$/u,
    );
  });

  test('has no events where they are not wanted', async () => {
    expect(await described([podOnNode('web')], 'pod web', { showEvents: false }, [EVENT])).not.toContain(
      'Events',
    );
  });

  test('of several pods is in their order, with a blank line between them', async () => {
    const text = await described([podOnNode('web'), podOnNode('db'), podOnNode('x', 'kube-system')], 'pods');
    expect(text.match(/^Name: .*$/gmu)).toEqual(['Name:         db-node-a', 'Name:         web-node-a']);
    expect(text).toContain('\n\n\nName:');
  });

  test('of a pod that is not there is an error', async () => {
    await expect(described([podOnNode('web')], 'pod db')).rejects.toMatchObject({ kind: 'NotFound' });
  });

  test('of none is empty, and a message says so', async () => {
    expect(await described([podOnNode('web')], 'pods', { selector: 'a' })).toBe('');
    expect(told).toEqual(['No resources found in default namespace.']);
  });

  test('keeps the structure of its lines, whatever texts the pod has', async () => {
    const pod = podOnNode('web', 'default', {
      containers: [{ name: 'main', env: [{ name: 'A', value: 'a\tb\u001b[2J' }] }],
    });
    const text = await described([pod], 'pod web');
    expect(text).toMatch(/\n {6}A: +a b\\u001b\[2J\n/u);
  });
});

suite('a description of the node', () => {
  const node = {
    metadata: { name: 'one' },
    status: {
      allocatable: { cpu: '2', memory: '0', pods: '110', 'example.com/gpu': '4', 'hugepages-2Mi': '4Mi' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };
  const greedy = podOnNode('web', 'default', {
    containers: [
      { name: 'main', resources: { requests: { cpu: '500m', memory: '1Gi', 'example.com/gpu': '1' } } },
    ],
  });

  test('has its state, its own events, and the requests of its pods', async () => {
    const involvedObject = { kind: 'Node', name: 'one', uid: 'one' };
    const events = [EVENT, { ...EVENT, involvedObject, message: 'It is short of memory.', reason: 'Short' }];
    const over = { ...podOnNode('done'), status: { phase: 'Succeeded' } };
    const text = await described([greedy, over], 'nodes', {}, events, { node });
    expect(text).toMatch(/^Name: +one\nRoles: +<none>\n/u);
    expect(text).toMatch(/\n {2}Ready +True +<unknown> +<unknown> *\n/u);
    expect(text).toMatch(/\nNon-terminated Pods: +\(1 in total\)\n/u);
    expect(text).toMatch(/\n {2}default +web-node-a +500m \(25%\) +0 \(0%\) +1Gi \(0%\) +0 \(0%\) +\S+\n/u);
    expect(text).toMatch(/\n {2}hugepages-2Mi +0 \(0%\) +0 \(0%\)\n {2}example.com\/gpu +1 +0\n/u);
    expect(text).toMatch(/\nWhy:\n {2}The node is ready\.\nEvents:\n/u);
    expect(text.match(/Short|BackOff/gu)).toEqual(['Short']);
  });

  test('of another node is an error', async () => {
    await expect(described([], 'node two', {}, [], { node })).rejects.toThrow(
      'there is no node "two" here, but one',
    );
  });
});

suite('a description of what pods refer to', () => {
  const metadata = { name: 'token', namespace: 'default' };

  test('does not have the values of a Secret', async () => {
    const secret = { kind: 'Secret', metadata, data: { password: '***' } };
    expect(await described([], 'secret token', {}, [], { objects: [secret] })).toMatch(
      /\n\nType: +Opaque\n\nData\n====\npassword: +\*\*\*\n$/u,
    );
  });

  test('says which pods use a claim', async () => {
    const user = podOnNode('web', 'default', {
      containers: [{ name: 'main' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'token' } }],
    });
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const objects = [{ kind: 'PersistentVolumeClaim', metadata, spec }];
    const text = await described([user, podOnNode('db')], 'pvc', {}, [], { objects });
    expect(text).toMatch(/\nCapacity: +1Gi\nAccess Modes: +RWO\nUsed By: +web-node-a\nEvents: +<none>\n$/u);
  });

  test('has no control characters for a terminal, whatever a ConfigMap contains', async () => {
    const objects = [{ kind: 'ConfigMap', metadata, data: { key: 'a\n\u001b[2Jb' } }];
    expect(await described([], 'cm', {}, [], { objects })).toContain('\nkey:\n----\na\n\\u001b[2Jb\n\n');
  });

  test('of one that does not exist is an error', async () => {
    await expect(described([], 'cm other')).rejects.toMatchObject({ kind: 'NotFound' });
  });
});

describeOnControlPlane('beside kubectl', (controlPlane) => {
  /** What versions of kubectl show differently is left out: names of ports, and parts of projected volumes. */
  const probe = { exec: { command: ['sh', '-c', 'true'] }, periodSeconds: 7 };
  const POD = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      labels: { b: '2', app: 'web' },
      annotations: { note: 'hello', 'example.com/x': 'y' },
    },
    spec: {
      nodeName: 'node-1',
      priority: 0,
      nodeSelector: { disk: 'ssd' },
      tolerations: [
        { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
        { key: 'b', value: 'c' },
      ],
      initContainers: [{ name: 'init', image: 'init:1', command: ['true'] }],
      containers: [
        {
          name: 'main',
          image: 'web:1',
          command: ['sh', '-c', 'echo a\necho b'],
          args: ['x'],
          ports: [
            { containerPort: 80, protocol: 'TCP' },
            { containerPort: 81, hostPort: 8081, protocol: 'UDP' },
          ],
          resources: { limits: { memory: '64Mi' }, requests: { memory: '32Mi', cpu: '100m' } },
          livenessProbe: { httpGet: { path: '/x', port: 80, scheme: 'HTTP' }, timeoutSeconds: 1 },
          readinessProbe: { tcpSocket: { port: 81 }, initialDelaySeconds: 3 },
          startupProbe: probe,
          envFrom: [
            { configMapRef: { name: 'cm' } },
            { prefix: 'P_', secretRef: { name: 's', optional: true } },
          ],
          env: [
            { name: 'PLAIN', value: 'a\nb' },
            { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
            { name: 'OTHER', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k', optional: true } } },
          ],
          volumeMounts: [
            { name: 'scratch', mountPath: '/z', subPath: 'in' },
            { name: 'config', mountPath: '/c', readOnly: true },
          ],
        },
        { name: 'side', image: 'side:1' },
      ],
      volumes: [
        { name: 'scratch', emptyDir: { sizeLimit: '1Mi' } },
        { name: 'config', configMap: { name: 'cm' } },
        { name: 'host', hostPath: { path: '/srv', type: 'Directory' } },
        { name: 'secret', secret: { secretName: 's', optional: true } },
        { name: 'claim', persistentVolumeClaim: { claimName: 'data' } },
        {
          name: 'down',
          downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
        },
      ],
    },
  };
  const times = { startedAt: '2030-01-01T00:00:00Z', finishedAt: '2030-01-01T00:00:01Z' };
  const ended = { exitCode: 3, reason: 'Error', message: 'oh', ...times };
  const container = (name: string, more: object) => ({
    name,
    image: `${name}:1`,
    imageID: `sha256:${name}`,
    containerID: `statelet://${name}`,
    restartCount: 2,
    ready: false,
    ...more,
  });
  const STATUS = {
    phase: 'Running',
    reason: 'Odd',
    message: 'It is odd.',
    hostIP: '10.0.0.9',
    podIP: '10.1.0.1',
    podIPs: [{ ip: '10.1.0.1' }, { ip: 'fd00::1' }],
    startTime: '2030-01-01T00:00:00Z',
    conditions: [
      { type: 'PodReadyToStartContainers', status: 'True' },
      { type: 'Ready', status: 'False' },
    ],
    initContainerStatuses: [container('init', { state: { terminated: ended }, ready: true })],
    containerStatuses: [
      container('main', { state: { running: times }, lastState: { terminated: ended }, ready: true }),
      container('side', { state: { waiting: { reason: 'CrashLoopBackOff' } } }),
    ],
  };

  const plain = (text: string) => text.split('\n').map((line) => line.trimEnd());

  beforeEach(async () => {
    await controlPlane.apply(POD);
    const patch = JSON.stringify({ status: STATUS });
    await controlPlane.kubectl('patch', 'pod', 'web', '--subresource=status', '--type=merge', '-p', patch);
  });

  test('each line is the same', async () => {
    const pod = await controlPlane.kubectlJson<Pod>('get', 'pod', 'web');
    const theirs = await controlPlane.kubectl('describe', 'pod', 'web');
    expect(plain(await described([pod], 'pod web'))).toEqual(plain(theirs));
  });

  test('those of a ConfigMap are', async () => {
    await controlPlane.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', labels: { app: 'web' }, annotations: { note: 'one\ntwo' } },
      data: { key: 'one\ntwo\n' },
      binaryData: { bin: 'AAECAw==' },
    });
    const object = await controlPlane.kubectlJson<object>('get', 'cm', 'settings');
    const theirs = await controlPlane.kubectl('describe', 'cm', 'settings');
    expect(plain(await described([], 'cm settings', {}, [], { objects: [object] }))).toEqual(plain(theirs));
  });

  test('those of the node are, but for its lease', async () => {
    const amounts = {
      cpu: '3800m',
      memory: '7Gi',
      pods: '110',
      'example.com/gpu': '4',
      'hugepages-2Mi': '4Mi',
    };
    const heldSince = { lastHeartbeatTime: times.startedAt, lastTransitionTime: times.startedAt };
    await controlPlane.apply({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'node-1', labels: { 'node-role.kubernetes.io/worker': '' } },
      spec: {
        taints: [
          { key: 'b', value: 'c', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoExecute' },
        ],
        podCIDR: '10.1.0.0/24',
        podCIDRs: ['10.1.0.0/24'],
        providerID: 'x://y',
        unschedulable: true,
      },
    });
    await controlPlane.patch('/api/v1/nodes/node-1/status', {
      status: {
        capacity: amounts,
        allocatable: amounts,
        conditions: [{ type: 'Ready', status: 'True', reason: 'Good', message: 'It is.', ...heldSince }],
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        nodeInfo: {
          kernelVersion: '6.12',
          osImage: 'Debian',
          architecture: 'amd64',
          kubeletVersion: 'v1.36.2',
        },
      },
    });
    const node = await controlPlane.kubectlJson<object>('get', 'node', 'node-1');
    const pod = await controlPlane.kubectlJson<Pod>('get', 'pod', 'web');
    const theirs = await controlPlane.kubectl('describe', 'node', 'node-1', '--show-events=false');
    // Later versions of kubectl do not show that of kube-proxy, and the socket does not know the lease.
    const others =
      /^(?:Lease:| {2}(?:Kube-Proxy|HolderIdentity|AcquireTime|RenewTime)|Why:| {2}The node is)/u;
    const lines = (text: string) =>
      plain(text.replace(/^( {2}default .*) \S+$/mu, '$1')).filter((line) => !others.test(line));
    expect(lines(await described([pod], 'node', { showEvents: false }, [], { node }))).toEqual(lines(theirs));
  });
});
