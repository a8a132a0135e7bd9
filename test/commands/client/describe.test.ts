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

async function described(pods: readonly Pod[], words: string, flags = {}, events: readonly object[] = []) {
  socket = await ownerSocket(
    [
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
  test('has what the pod does now, and its own events', async () => {
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

  test('of several pods has a blank line between them', async () => {
    const text = await described([podOnNode('web'), podOnNode('db'), podOnNode('x', 'kube-system')], 'pods');
    expect(text.match(/^Name: .*$/gmu)).toEqual(['Name:         web-node-a', 'Name:         db-node-a']);
    expect(text).toContain('\n\n\nName:');
  });

  test('of a pod that is not there is an error', async () => {
    await expect(described([podOnNode('web')], 'pod db')).rejects.toMatchObject({ kind: 'NotFound' });
  });

  test('of none is empty, and that is told', async () => {
    expect(await described([podOnNode('web')], 'pods', { selector: 'a' })).toBe('');
    expect(told).toEqual(['No resources found in default namespace.']);
  });

  test('keeps to its lines, whatever the pod says', async () => {
    const pod = podOnNode('web', 'default', {
      containers: [{ name: 'main', env: [{ name: 'A', value: 'a\tb\u001b[2J' }] }],
    });
    const text = await described([pod], 'pod web');
    expect(text).toMatch(/\n {6}A: +a b\\u001b\[2J\n/u);
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

  beforeEach(async () => {
    await controlPlane.apply(POD);
    const patch = JSON.stringify({ status: STATUS });
    await controlPlane.kubectl('patch', 'pod', 'web', '--subresource=status', '--type=merge', '-p', patch);
  });

  test('each line is the same', async () => {
    const pod = await controlPlane.kubectlJson<Pod>('get', 'pod', 'web');
    const theirs = await controlPlane.kubectl('describe', 'pod', 'web');
    const plain = (text: string) => text.split('\n').map((line) => line.trimEnd());
    expect(plain(await described([pod], 'pod web'))).toEqual(plain(theirs));
  });
});
