/** The environment of containers: variables from objects, fields, files and services of a real API server. */
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Container, PodSpec } from '../../../src/types/kubernetes.ts';
import { ApiFaultProxy } from '../../support/api/fault-proxy.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { containerStatus, NODE_NAME } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

type Variable = NonNullable<Container['env']>[number];
type Variables = Readonly<Record<string, string>>;

const field = (name: string, fieldPath: string): Variable => ({
  name,
  valueFrom: { fieldRef: { fieldPath } },
});
const fromMap = (name: string, map: string, key: string): Variable => ({
  name,
  valueFrom: { configMapKeyRef: { name: map, key } },
});
const fromSecret = (name: string, secret: string, key: string, optional = false): Variable => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key, optional } },
});
const metadata = (name: string, namespace = 'default') => ({ name, namespace });
const service = (name: string, clusterIP: string, ports: readonly object[], namespace = 'default') => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata(name, namespace),
  spec: { clusterIP, ports },
});

const OBJECTS: readonly object[] = [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata('settings'),
    data: { color: 'blue', 'a.b-c': 'dotted', '1st': 'digit', empty: '', ref: '$(COLOR)' },
    binaryData: { bin: '/w==' },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: metadata('binary'), data: { raw: 'YQBi' } },
  { apiVersion: 'v1', kind: 'Secret', metadata: metadata('login'), stringData: { password: 'not-for-logs' } },
  service('my-db', '10.96.7.7', [
    { name: 'sql-main', port: 5432 },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ]),
  service('headless', 'None', [{ port: 80 }]),
  service('elsewhere', '10.96.7.8', [{ port: 80 }], 'kube-system'),
];

const MY_DB = {
  MY_DB_SERVICE_HOST: '10.96.7.7',
  MY_DB_SERVICE_PORT: '5432',
  MY_DB_SERVICE_PORT_SQL_MAIN: '5432',
  MY_DB_SERVICE_PORT_DNS: '53',
  MY_DB_PORT: 'tcp://10.96.7.7:5432',
  MY_DB_PORT_5432_TCP: 'tcp://10.96.7.7:5432',
  MY_DB_PORT_5432_TCP_PROTO: 'tcp',
  MY_DB_PORT_5432_TCP_PORT: '5432',
  MY_DB_PORT_5432_TCP_ADDR: '10.96.7.7',
  MY_DB_PORT_53_UDP: 'udp://10.96.7.7:53',
  MY_DB_PORT_53_UDP_PROTO: 'udp',
  MY_DB_PORT_53_UDP_PORT: '53',
  MY_DB_PORT_53_UDP_ADDR: '10.96.7.7',
};

/** Services are listed at once or held back as a test says. */
const SERVICES = { method: 'GET', path: /^\/api\/v1\/services\?/u };

// All that the log can have.
describeOnCluster('the environment of containers', { flags: ['--v', '10'] }, (cluster) => {
  const kubectl = (...args: string[]) => cluster.controlPlane.kubectl(...args);

  beforeAll(() => cluster.controlPlane.apply(...OBJECTS));
  afterEach(() => cluster.clear());

  /** As the container's first process has it. */
  async function environmentOf(name: string, container = 'main'): Promise<Variables> {
    await cluster.podIs('started', name, ({ status }) =>
      [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])].some(
        (found) => found.name === container && found.state?.running !== undefined,
      ),
    );
    const text = await kubectl('exec', name, `--container=${container}`, '--', 'cat', '/proc/1/environ');
    const pairs = text.split('\0').filter(Boolean);
    return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/su) as [string, string]));
  }

  async function isWaitingWith(name: string): Promise<{ reason?: string; message?: string }> {
    const pod = await cluster.podIs('waiting', name, (found) => {
      const { waiting } = containerStatus(found)?.state ?? {};
      return waiting !== undefined && waiting.reason !== 'ContainerCreating';
    });
    const { reason, message } = containerStatus(pod)!.state!.waiting!;
    return { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
  }

  const events = async (name: string) =>
    (await cluster.wholeEventsOf(name, 'type=Warning'))
      .map(({ reason, involvedObject, message }) => `${reason} ${involvedObject.fieldPath} ${message}\n`)
      .join('');

  test('a container has variables of each kind, and they are filled in where its spec uses them', async () => {
    const writes = `printf "# own\\nTOKEN='from a file'\\n" > /files/own.env`;
    const files = { volumeMounts: [{ name: 'files', mountPath: '/files' }] };
    const ofFile = { volumeName: 'files', path: 'own.env' };
    await cluster.create(
      'every',
      {
        volumes: [{ name: 'files', emptyDir: {} }],
        initContainers: [{ ...cluster.shell(writes, files), name: 'writes' }],
        containers: [
          {
            ...cluster.server(files),
            args: ['$(COLOR)', '$(NONE)', '$$(COLOR)', '$(KUBERNETES_SERVICE_PORT)'],
            resources: { limits: { cpu: '750m', memory: '96Mi' } },
            envFrom: [
              { configMapRef: { name: 'settings' } },
              { prefix: 'P-', configMapRef: { name: 'settings' } },
              { secretRef: { name: 'login' } },
              { secretRef: { name: 'absent', optional: true } },
            ],
            env: [
              field('NAME', 'metadata.name'),
              field('LABEL', "metadata.labels['app']"),
              field('NODE', 'spec.nodeName'),
              field('HOST_IP', 'status.hostIP'),
              field('POD_IP', 'status.podIP'),
              { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
              fromMap('COLOR', 'settings', 'color'),
              fromMap('REF', 'settings', 'ref'),
              fromSecret('PASSWORD', 'login', 'password'),
              fromSecret('LEFT_OUT', 'login', 'none', true),
              { name: 'FILE', valueFrom: { fileKeyRef: { ...ofFile, key: 'TOKEN' } } },
              { name: 'JOINED', value: '$(COLOR)+$(FILE)+$(LATER)+$(MY_DB_SERVICE_HOST)' },
              { name: 'LATER', value: '$$(COLOR)' },
              { name: 'color', value: 'of env' },
              { name: 'MY_DB_PORT', value: 'mine' },
              { name: 'BARE' },
            ],
          },
        ],
      },
      { labels: { app: 'web' } },
    );
    const pod = await cluster.podIsReady('every');
    const variables = await environmentOf('every');
    expect(variables).toMatchObject({
      ...MY_DB,
      MY_DB_PORT: 'mine',
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
      color: 'of env',
      'a.b-c': 'dotted',
      '1st': 'digit',
      empty: '',
      'P-color': 'blue',
      password: 'not-for-logs',
      NAME: 'every',
      LABEL: 'web',
      NODE: NODE_NAME,
      HOST_IP: cluster.controlPlane.nodeIp,
      POD_IP: pod.status?.podIP,
      CPU: '750',
      COLOR: 'blue',
      REF: '$(COLOR)',
      PASSWORD: 'not-for-logs',
      FILE: 'from a file',
      JOINED: 'blue+from a file+$(LATER)+10.96.7.7',
      LATER: '$(COLOR)',
      BARE: '',
    });
    expect(Object.keys(variables).filter((name) => /^(bin|LEFT_OUT|HEADLESS|ELSEWHERE)/u.test(name))).toEqual(
      [],
    );
    const command = await cluster.bed.exec(pod, ['cat', '/proc/1/cmdline']);
    expect(command.split('\0').slice(3, -1)).toEqual(['blue', '$(NONE)', '$(COLOR)', '443']);
    expect(await kubectl('exec', 'every', '--', 'sh', '-c', 'echo $COLOR $MY_DB_SERVICE_HOST')).toBe(
      'blue 10.96.7.7\n',
    );
    expect(JSON.stringify([cluster.daemon.log, await cluster.daemon.pods()])).not.toContain('not-for-logs');
  });

  test('without service links a container finds the API server, and no other service', async () => {
    await cluster.create('alone', { enableServiceLinks: false, containers: [cluster.server()] });
    const names = Object.keys(await environmentOf('alone'));
    expect(names).toContain('KUBERNETES_PORT_443_TCP_ADDR');
    expect(names.filter((name) => name.startsWith('MY_DB'))).toEqual([]);
  });

  test('an ephemeral container has the same kinds of variables as other containers', async () => {
    await cluster.create('looked-at', { containers: [cluster.server()] });
    await cluster.podIsReady('looked-at');
    const { image } = cluster.bed.containerd;
    const debug = {
      ...cluster.server({ env: [fromMap('COLOR', 'settings', 'color'), field('NAME', 'metadata.name')] }),
      name: 'debug',
      image,
    };
    const patch = { spec: { ephemeralContainers: [debug] } };
    await cluster.controlPlane.patch('/api/v1/namespaces/default/pods/looked-at/ephemeralcontainers', patch);
    const { COLOR, NAME, MY_DB_SERVICE_HOST } = await environmentOf('looked-at', 'debug');
    expect({ COLOR, NAME, MY_DB_SERVICE_HOST }).toEqual({
      COLOR: 'blue',
      NAME: 'looked-at',
      MY_DB_SERVICE_HOST: '10.96.7.7',
    });
  });

  test.each<[string, Partial<Container>, string]>([
    [
      'no-key',
      { env: [fromMap('A', 'settings', 'none')] },
      "couldn't find key none in ConfigMap default/settings",
    ],
    [
      'binary-key',
      { env: [fromMap('A', 'settings', 'bin')] },
      "couldn't find key bin in ConfigMap default/settings",
    ],
    [
      'no-secret-key',
      { env: [fromSecret('A', 'login', 'none')] },
      "couldn't find key none in Secret default/login",
    ],
    ['no-secret', { envFrom: [{ secretRef: { name: 'never' } }] }, 'secret "never" not found'],
    [
      'binary',
      { env: [fromSecret('A', 'binary', 'raw')] },
      'environment variable "A" has a NUL character in its value; mount it as a file of a volume',
    ],
  ])(
    '%s: the container waits with CreateContainerConfigError, and an event says why',
    async (name, fields, message) => {
      await cluster.create(name, { containers: [cluster.server(fields)] });
      expect(await isWaitingWith(name)).toEqual({ reason: 'CreateContainerConfigError', message });
      const event = `Failed spec.containers{main} Error: ${message}\n`;
      await waitFor(async () => (await events(name)).includes(event), { what: `the event ${event}` });
    },
  );

  test('ten thousand keys are as many variables, and a container with a variable too long for Linux is not created', async () => {
    const data = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`k.${index}`, String(index)]),
    );
    const large = { big: 'x'.repeat(150_000) };
    const map = (name: string, values: object) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: metadata(name),
      data: values,
    });
    await cluster.controlPlane.apply(map('many', data), map('large', large));
    const from = (name: string) => ({
      containers: [cluster.server({ envFrom: [{ configMapRef: { name } }] })],
    });
    await cluster.create('of-many', from('many'));
    await cluster.create('of-large', from('large'));
    const variables = await environmentOf('of-many');
    expect(Object.keys(variables).filter((name) => name.startsWith('k.'))).toHaveLength(10_000);
    expect(await isWaitingWith('of-large')).toEqual({
      reason: 'CreateContainerConfigError',
      message: expect.stringMatching(/\bbig\b/),
    });
  });

  test('a container that waits for an object starts when the object appears, with its content at that time', async () => {
    const env = [fromMap('LATE', 'late', 'key')];
    await cluster.create('patient', { containers: [cluster.server({ env })] });
    expect(await isWaitingWith('patient')).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'configmap "late" not found',
    });
    await kubectl('create', 'configmap', 'late', '--from-literal=key=there');
    await cluster.podIsReady('patient');
    expect((await environmentOf('patient')).LATE).toBe('there');
    await kubectl('delete', 'configmap', 'late');
  });

  test('before services are listed no container of the API server starts, but static pods do; then all go on', async () => {
    const proxy = await new ApiFaultProxy(cluster.controlPlane).open();
    try {
      const held = proxy.hold(SERVICES);
      await cluster.daemon.end();
      const { manifestDir } = cluster.bed;
      await cluster.startDaemon('--kubeconfig', proxy.kubeconfig(), '--pod-manifest-path', manifestDir);
      const spec: Partial<PodSpec> = { containers: [cluster.server()] };
      cluster.bed.apply('own', spec);
      await cluster.create('linked', spec);
      expect(await isWaitingWith('linked')).toEqual({
        reason: 'CreateContainerConfigError',
        message: 'services have not yet been read at least once, cannot construct envvars',
      });
      await cluster.podIsReady(`own-${NODE_NAME}`);
      held.release();
      expect(await environmentOf('linked')).toMatchObject(MY_DB);
      cluster.bed.withdraw('own');
      await cluster.podIsGone(`own-${NODE_NAME}`);
    } finally {
      await cluster.daemon.end();
      await cluster.startDaemon();
      await proxy.close();
    }
  });

  test('a service that comes later has variables in containers that start later', async () => {
    await cluster.create('before', { containers: [cluster.server()] });
    await cluster.podIsReady('before');
    await cluster.controlPlane.apply(service('comes-late', '10.96.7.9', [{ port: 8080 }]));
    let count = 0;
    const isKnown = async () => {
      const name = `after-${(count += 1)}`;
      await cluster.create(name, { containers: [cluster.server()] });
      return (await environmentOf(name)).COMES_LATE_SERVICE_HOST === '10.96.7.9';
    };
    await waitFor(isKnown, { what: 'the variables of the service' });
    expect((await environmentOf('before')).COMES_LATE_SERVICE_HOST).toBeUndefined();
    await kubectl('delete', 'service', 'comes-late');
  });
});
