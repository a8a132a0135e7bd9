/** The source api, with a real API server and the rights of a node. */
import { afterEach, expect, test } from '@jest/globals';
import { openApiClients } from '../../../src/agent/cluster/client/open-api-clients.ts';
import { RuntimeClassWatch } from '../../../src/agent/cluster/watches/runtime-class-watch.ts';
import { watchNode } from '../../../src/agent/cluster/watches/watched-object.ts';
import { runtimeClassesOf } from '../../../src/agent/policies/cri/sandbox-config.ts';
import { apiSource } from '../../../src/agent/sources/api-source.ts';
import { podConfig, type PodConfigEvent } from '../../../src/agent/sources/pod-config.ts';
import { systemClock } from '../../../src/system/timer.ts';
import { FixedCredentials } from '../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Collector } from './support.ts';

const timing = { clock: systemClock, random: () => 0 };

describeOnControlPlane('the source api with a real API server', (controlPlane) => {
  const opened: { close(): void }[] = [];
  afterEach(() => {
    for (const each of opened.splice(0).reverse()) each.close();
  });

  function open() {
    const credentials = new FixedCredentials(controlPlane.details());
    const { main, close } = openApiClients(credentials, new ObservedConnection(), {
      userAgent: 'statelet/test',
    });
    opened.push({ close });
    return main;
  }

  /** What becomes of the pods of this node, each event as `OP NAME`. */
  function follow() {
    const api = open();
    const { nodeName } = controlPlane;
    const node = watchNode(api, nodeName, timing);
    const problems: string[] = [];
    const options = {
      now: () => Date.now(),
      onProblem: ({ message }: { message: string }) => problems.push(message),
    };
    const source = apiSource({ api, nodeName, node, ...timing });
    const events = new Collector(podConfig({ api: source }, options));
    opened.push(events);
    return { events, problems };
  }

  const pod = (name: string, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...more },
    spec: { nodeName: controlPlane.nodeName, containers: [{ name: 'main', image: 'x' }] },
  });
  const briefly = (event: PodConfigEvent) =>
    'type' in event ? event.type : `${event.op} ${event.pods.map(({ metadata }) => metadata.name).join(' ')}`;
  const forced = ['--grace-period=0', '--force', '--wait=false'];

  test('gets a pod from its creation to its end, before the node has an object', async () => {
    const { events, problems } = follow();
    expect(briefly(await events.next())).toBe('SOURCE_SEEN');

    await controlPlane.apply(pod('life'));
    const added = await events.next();
    expect(briefly(added)).toBe('ADD life');
    expect('pods' in added && added.pods[0]).toMatchObject({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { annotations: { 'kubernetes.io/config.source': 'api' } },
      spec: { restartPolicy: 'Always' },
    });

    await controlPlane.kubectl('label', 'pod', 'life', 'a=b');
    expect(briefly(await events.next())).toBe('UPDATE life');
    await controlPlane.kubectl('delete', 'pod', 'life', '--wait=false');
    const deleted = await events.next();
    expect(briefly(deleted)).toBe('DELETE life');
    expect('pods' in deleted && deleted.pods[0]?.metadata.deletionGracePeriodSeconds).toBe(30);
    await controlPlane.kubectl('delete', 'pod', 'life', ...forced);
    expect(briefly(await events.until((event) => briefly(event).startsWith('REMOVE')))).toBe('REMOVE life');
    expect(problems).toEqual([]);
  });

  test('finds nothing wrong with a pod that has about everything', async () => {
    await controlPlane.apply(everything(controlPlane.nodeName));
    const { events, problems } = follow();
    const added = await events.until((event) => briefly(event).includes('everything'));
    expect(problems).toEqual([]);
    expect('pods' in added && added.pods[0]?.spec.volumes).toHaveLength(13);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null }] };
    const everythingPath = '/api/v1/namespaces/default/pods/everything';
    await controlPlane.patch(`${everythingPath}/status`, { status });
    expect(briefly(await events.until((event) => 'op' in event))).toBe('RECONCILE everything');
    const debug = { ephemeralContainers: [{ name: 'debug', image: 'x', targetContainerName: 'main' }] };
    await controlPlane.patch(`${everythingPath}/ephemeralcontainers`, { spec: debug });
    expect(briefly(await events.until((event) => 'op' in event))).toBe('UPDATE everything');
    expect(problems).toEqual([]);
    await controlPlane.kubectl('patch', 'pod', 'everything', '--patch', '{"metadata":{"finalizers":null}}');
    await controlPlane.kubectl('delete', 'pod', 'everything', ...forced);
    await events.until((event) => briefly(event) === 'REMOVE everything');
  });

  test('removes nothing while the API server is away, and gets the changes afterwards', async () => {
    await controlPlane.apply(pod('stays'), pod('replaced'));
    const { events, problems } = follow();
    expect(briefly(await events.next())).toMatch(/^ADD (stays replaced|replaced stays)$/);
    expect(briefly(await events.next())).toBe('SOURCE_SEEN');

    await controlPlane.apiServer.stop();
    await waitFor(() => problems.length > 0, { what: 'the source to notice that the server is away' });
    await controlPlane.apiServer.start();
    await controlPlane.kubectl('delete', 'pod', 'replaced', ...forced);
    await controlPlane.apply(pod('replaced', { labels: { again: 'yes' } }));
    const seen: string[] = [];
    while (!seen.some((text) => text.startsWith('ADD'))) seen.push(briefly(await events.next()));
    expect(seen.filter((text) => text.includes('stays'))).toEqual([]);
    expect(seen.at(-1)).toBe('ADD replaced');
    expect(seen).toContain('REMOVE replaced');
    await controlPlane.kubectl('delete', 'pod', 'stays', 'replaced', ...forced);
  });

  test('the RuntimeClasses of the cluster are known to the node', async () => {
    const watch = new RuntimeClassWatch(open(), runtimeClassesOf([]), timing);
    opened.push(watch);
    const metadata = { name: 'gvisor' };
    await controlPlane.apply({
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata,
      handler: 'runsc',
    });
    await waitFor(() => watch.handlers.get('gvisor') === 'runsc', { what: 'the RuntimeClass' });
  });
});

/** All kinds of volumes, probes, hooks and variables. */
function everything(nodeName: string): object {
  const httpGet = { path: '/', port: 'http', httpHeaders: [{ name: 'X-A', value: 'b' }] };
  const resources = {
    limits: { cpu: '0.5', memory: '1e6', 'example.com/gpu': 1 },
    requests: { cpu: '100m' },
  };
  const items = [
    { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
    { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' } },
  ];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'everything',
      namespace: 'default',
      labels: { 'example.com/a': 'b', empty: '' },
      annotations: { 'example.com/long': 'x'.repeat(1000) },
      finalizers: ['example.com/hold'],
    },
    spec: {
      nodeName,
      os: { name: 'linux' },
      hostNetwork: false,
      hostUsers: false,
      shareProcessNamespace: true,
      subdomain: 'sub',
      hostname: 'host',
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.1'], options: [{ name: 'ndots', value: '2' }] },
      hostAliases: [{ ip: '10.0.0.2', hostnames: ['other'] }],
      readinessGates: [{ conditionType: 'example.com/ready' }],
      schedulingGates: [],
      nodeSelector: { a: 'b' },
      imagePullSecrets: [{ name: 'pull' }],
      securityContext: {
        fsGroup: 5,
        supplementalGroups: [6],
        supplementalGroupsPolicy: 'Merge',
        fsGroupChangePolicy: 'OnRootMismatch',
        sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }],
        seccompProfile: { type: 'RuntimeDefault' },
        appArmorProfile: { type: 'Unconfined' },
      },
      tolerations: [
        { operator: 'Exists' },
        { key: 'a', effect: 'NoExecute', operator: 'Exists', tolerationSeconds: 5 },
      ],
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
      volumes: [
        { name: 'empty', emptyDir: { medium: 'Memory', sizeLimit: '1.5Gi' } },
        { name: 'host', hostPath: { path: '/tmp', type: 'DirectoryOrCreate' } },
        { name: 'config', configMap: { name: 'c', defaultMode: 256, items: [{ key: 'k', path: 'a/b' }] } },
        { name: 'secret', secret: { secretName: 's', optional: true } },
        { name: 'downward', downwardAPI: { items } },
        { name: 'claim', persistentVolumeClaim: { claimName: 'data' } },
        {
          name: 'own-claim',
          ephemeral: {
            volumeClaimTemplate: {
              metadata: { labels: { a: 'b' } },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          },
        },
        { name: 'nfs', nfs: { server: 'nfs', path: '/' } },
        { name: 'csi', csi: { driver: 'd.example.com', volumeAttributes: { a: 'b' } } },
        { name: 'image', image: { reference: 'registry.example/x:1', pullPolicy: 'IfNotPresent' } },
        { name: 'iscsi', iscsi: { targetPortal: '10.0.0.3', iqn: 'iqn.2001-04.com.example:x', lun: 0 } },
        { name: 'fc', fc: { targetWWNs: ['500a0982991b8dc5'], lun: 0 } },
        {
          name: 'projected',
          projected: {
            sources: [
              { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              { downwardAPI: { items } },
              { secret: { name: 's' } },
            ],
          },
        },
      ],
      serviceAccountName: 'default',
      initContainers: [
        { name: 'setup', image: 'x', command: ['true'] },
        {
          name: 'sidecar',
          image: 'x',
          restartPolicy: 'Always',
          startupProbe: { exec: { command: ['true'] } },
        },
      ],
      containers: [
        {
          name: 'main',
          image: 'registry.example:5000/a/b@sha256:' + '0'.repeat(64),
          ports: [{ name: 'http', containerPort: 80, hostPort: 8080 }],
          env: [
            { name: 'A', value: '$(B)' },
            { name: 'odd name!', value: '' },
            { name: 'C', valueFrom: { configMapKeyRef: { name: 'c', key: 'k', optional: true } } },
            { name: 'D', valueFrom: { fieldRef: { fieldPath: 'status.hostIPs' } } },
            { name: 'E', valueFrom: { resourceFieldRef: { resource: 'requests.memory', divisor: '1Mi' } } },
          ],
          envFrom: [{ prefix: 'P_', secretRef: { name: 's' } }],
          resources,
          resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
          livenessProbe: { httpGet, terminationGracePeriodSeconds: 5 },
          readinessProbe: { grpc: { port: 9000 } },
          lifecycle: { preStop: { sleep: { seconds: 1 } }, stopSignal: 'SIGUSR1' },
          volumeMounts: [
            { name: 'empty', mountPath: '/e', subPathExpr: '$(A)' },
            { name: 'host', mountPath: '/h', mountPropagation: 'HostToContainer', readOnly: true },
          ],
          securityContext: { capabilities: { add: ['NET_ADMIN'] }, procMount: 'Default', runAsUser: 0 },
        },
      ],
    },
  };
}
