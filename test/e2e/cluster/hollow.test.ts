/** `statelet hollow`: nodes of the real agent that run nothing, in a cluster, as its users see them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type {
  CSINode,
  Node,
  PersistentVolumeClaim,
  Pod,
  ResourceSlice,
  VolumeAttachment,
} from '../../../src/types/kubernetes.ts';
import { LIST } from '../../../src/agent/server/pod-resources/pod-resources-messages.ts';
import { attachmentName } from '../../../src/agent/runtime/volumes/csi/csi-names.ts';
import { GrpcClient } from '../../../src/system/grpc/grpc-client.ts';
import type { Summary } from '../../../src/types/stats.ts';
import { boundClaim, volumeOf } from '../../support/bound-claim.ts';
import { cli, startCli } from '../../support/cli.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const NODES = ['hollow-1', 'hollow-2', 'hollow-3'];
/** A container uses what it requests, and a node of 1 GiB has less than 100 MiB left with one of 800. */
const PLAN = `
capacity: { cpu: 4, memory: 1Gi, pods: 20, example.com/license: 5, hugepages-2Mi: 4Mi }
taints: [{ key: hollow, value: yes, effect: PreferNoSchedule }]
memory: { uses: [1] }
disk: { uses: [1] }
cpu: { uses: [0.5] }
calls: { PullImage: 20ms }
csiDrivers:
  - name: disks.csi.test
    maxVolumes: 7
    topology: { zone.csi.test: a }
    calls: { ControllerPublishVolume: 20ms, ControllerExpandVolume: 20ms, NodeStageVolume: 20ms }
draDrivers:
  - { name: gpus.dra.test, devices: 2, attributes: { model: a, index: 3 }, capacity: { memory: 1Gi } }
numaNodes: 2
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
devicePlugins:
  - { resourceName: example.com/gpu, devices: 4 }
  - { resourceName: example.com/nic, devices: 1, failures: { every: 5s, down: 1h } }
`;
const POD = { apiVersion: 'v1', kind: 'Pod' };

describeOnControlPlane('hollow nodes', (controlPlane) => {
  const root = mkdtempSync(join(tmpdir(), 'statelet-hollow-'));
  let running: ReturnType<typeof startCli> | undefined;

  const where = (rootDir: string) => {
    const { adminKubeconfig, nodeIp, serverFlags } = controlPlane;
    return ['--kubeconfig', adminKubeconfig, '--node-ip', nodeIp, ...serverFlags, '--root-dir', rootDir];
  };

  beforeAll(() => {
    const plan = join(root, 'plan.yaml');
    writeFileSync(plan, PLAN);
    running = startCli('hollow', '--nodes', String(NODES.length), '--plan', plan, ...where(root));
  });

  afterAll(async () => {
    running?.child.kill();
    await running?.finished;
    rmSync(root, { recursive: true });
  });

  const act = async (...words: readonly string[]) => {
    const { stdout, stderr } = await cli('hollow', ...words, '--root-dir', root);
    expect(stderr).toBe('');
    return stdout;
  };
  const create = (name: string, fields: Partial<Pod['spec']>, nodeName = 'hollow-1') =>
    controlPlane.apply({
      ...POD,
      metadata: { name },
      spec: { nodeName, automountServiceAccountToken: false, containers: [], ...fields },
    });
  const podIs = (name: string, what: string, is: (pod: Pod) => boolean): Promise<Pod> =>
    waitFor(
      async () => {
        const pod = await controlPlane.read<Pod>(`/api/v1/namespaces/default/pods/${name}`);
        return pod !== undefined && is(pod) && pod;
      },
      { what: `${name} to be ${what}` },
    );
  const isReady = ({ status }: Node | Pod) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;

  const read = (node: string, path: string) =>
    controlPlane.kubectl('get', '--raw', `/api/v1/nodes/${node}/proxy/${path}`);
  const summaryOf = async (node: string) => JSON.parse(await read(node, 'stats/summary')) as Summary;

  test('join the cluster, and are ready', async () => {
    const allReady = async () => {
      const { items = [] } = (await controlPlane.read<{ items: Node[] }>('/api/v1/nodes')) ?? {};
      return items.length === NODES.length && items.every(isReady) && items;
    };
    const nodes = await waitFor(allReady, { what: 'all nodes to be ready' });
    expect(nodes.map(({ metadata }) => metadata.name).toSorted()).toEqual(NODES);
    expect(nodes[0]?.status?.capacity).toMatchObject({ memory: '1Gi', pods: '20' });
    // One server serves all, at a port for each.
    const ports = nodes.map(({ status }) => status?.daemonEndpoints?.kubeletEndpoint?.Port);
    expect(new Set(ports).size).toBe(NODES.length);
  });

  test('run pods, whose probes reach for no network, and answer kubectl logs and exec', async () => {
    const readinessProbe = { httpGet: { port: 80 }, periodSeconds: 1 };
    await create('web', { containers: [{ name: 'main', image: 'nginx', readinessProbe }] });
    await podIs('web', 'ready', isReady);
    expect(await controlPlane.kubectl('logs', 'web')).toBe(
      'hollow container "main" of nginx:latest on hollow-1: nothing runs here\n',
    );
    expect(await controlPlane.kubectl('exec', 'web', '--', 'hostname')).toBe('web\n');
    await expect(controlPlane.kubectl('exec', 'web', '--', 'sh', '-c', 'exit 3')).rejects.toMatchObject({
      code: 3,
    });
  });

  test('serve what their pods use', async () => {
    const resources = { requests: { cpu: '500m', memory: '200Mi' } };
    await create('used', { containers: [{ name: 'main', image: 'nginx', resources }] }, 'hollow-2');
    await podIs('used', 'ready', isReady);
    const { node, pods } = await summaryOf('hollow-2');
    expect(node).toMatchObject({ nodeName: 'hollow-2' });
    expect(node.memory?.workingSetBytes).toBeGreaterThan(200 * 2 ** 20);
    const used = pods.find(({ podRef }) => podRef.name === 'used');
    expect(used?.podRef.namespace).toBe('default');
    expect(used?.containers).toMatchObject([
      { name: 'main', cpu: { usageNanoCores: 250_000_000 }, memory: { workingSetBytes: 200 * 2 ** 20 } },
    ]);
    const metrics = await read('hollow-2', 'metrics/resource');
    expect(metrics).toMatch(
      /^container_memory_working_set_bytes\{container="main",namespace="default",pod="used"\} 2\.097152e\+08 /mu,
    );
    expect(await read('hollow-3', 'metrics/resource')).not.toContain('pod="used"');
    const all = await read('hollow-2', 'metrics');
    expect(all).toMatch(/^kubelet_node_name\{node="hollow-2"\} 1$/mu);
    expect(all).toMatch(/^kubelet_running_containers\{container_state="running"\} 1$/mu);
    expect(all).toMatch(/^kubelet_pod_start_duration_seconds_count [1-9]\d*$/mu);
    expect(await read('hollow-3', 'metrics')).not.toContain('container_state="running"');
  });

  test('have the figures of containers by the names of cAdvisor, and their own size', async () => {
    const limits = { cpu: '500m', memory: '100Mi' };
    await create(
      'charted',
      { containers: [{ name: 'main', image: 'nginx', resources: { limits } }] },
      'hollow-2',
    );
    await podIs('charted', 'ready', isReady);
    const text = await controlPlane.readText('/api/v1/nodes/hollow-2/proxy/metrics/cadvisor');
    const names = 'image="[^"]*nginx[^"]*",name="[^"]+",namespace="default",pod="charted"';
    const id = 'id="/kubepods/pod[^"/]+/[^"]+"';
    for (const [name, value] of [
      ['container_cpu_usage_seconds_total', '\\S+ \\d+'],
      ['container_memory_working_set_bytes', '\\S+ \\d+'],
      ['container_spec_memory_limit_bytes', '1\\.048576e\\+08'],
      ['container_spec_cpu_quota', '50000'],
    ] as const) {
      const cpu = name === 'container_cpu_usage_seconds_total' ? 'cpu="total",' : '';
      expect(text).toMatch(new RegExp(`^${name}\\{container="main",${cpu}${id},${names}\\} ${value}$`, 'mu'));
    }
    expect(text).toMatch(/^machine_cpu_cores\{boot_id="hollow-2-boot-1",[^}]*\} 4$/mu);
  });

  test('show the configuration by which they behave, each with its own port', async () => {
    const { items } = (await controlPlane.read<{ items: Node[] }>('/api/v1/nodes')) ?? { items: [] };
    for (const { metadata, status } of items) {
      const shown = await controlPlane.readText(`/api/v1/nodes/${metadata.name}/proxy/configz`);
      const { kubeletconfig } = JSON.parse(shown) as { readonly kubeletconfig: Record<string, unknown> };
      expect(kubeletconfig).toMatchObject({
        kind: 'KubeletConfiguration',
        port: status?.daemonEndpoints?.kubeletEndpoint?.Port,
        maxPods: 20,
        syncFrequency: '1m0s',
        evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
        cpuManagerPolicy: 'static',
        reservedSystemCPUs: '0',
        topologyManagerPolicy: 'single-numa-node',
        registerWithTaints: [{ key: 'hollow', value: 'yes', effect: 'PreferNoSchedule' }],
      });
    }
  });

  test('show their flags and their versions, and serve profiles and the verbosity of the process', async () => {
    expect(await read('hollow-2', 'flagz')).toMatch(/^hostname-override[ :=]+hollow-2$/mu);
    expect(await read('hollow-2', 'statusz')).toMatch(/^Paths.* \/flagz/mu);
    await expect(read('hollow-2', 'debug/pprof/heap?seconds=301')).rejects.toThrow('BadRequest');
    const GZIP = '\u001F';
    expect((await read('hollow-2', 'debug/pprof/heap?seconds=1'))[0]).toBe(GZIP);
    const level = join(root, 'level');
    writeFileSync(level, '4');
    const path = '/api/v1/nodes/hollow-2/proxy/debug/flags/v';
    await controlPlane.kubectl('replace', '--raw', path, '-f', level);
    await create('talked-about', { containers: [{ name: 'main', image: 'nginx' }] }, 'hollow-2');
    const logsMore = () => running?.output.stdout.includes('"level":"debug"');
    await waitFor(logsMore, { what: 'the process to log more' });
  });

  test('serve their health and their pods, each at its own port', async () => {
    await create('listed', { containers: [{ name: 'main', image: 'nginx' }] }, 'hollow-3');
    await podIs('listed', 'ready', isReady);
    for (const path of ['healthz', 'healthz/ping', 'healthz/syncloop'])
      expect(await read('hollow-3', path)).toBe('ok');
    for (const path of ['pods', 'runningpods/']) {
      const { items } = JSON.parse(await read('hollow-3', path)) as { readonly items: readonly Pod[] };
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['listed']);
    }
    const posted = controlPlane.kubectl(
      'create',
      '--raw',
      '/api/v1/nodes/hollow-3/proxy/pods',
      '-f',
      '/dev/null',
    );
    await expect(posted).rejects.toThrow(/method/iu);
  });

  test('pull images as a real node does, with its events', async () => {
    const wants = (image: string, imagePullPolicy?: 'Never') => ({
      containers: [{ name: 'main', image, imagePullPolicy }],
    });
    await create('pulled', wants('example.com/web:1'), 'hollow-2');
    await create('unpullable', wants('example.com/missing:1'), 'hollow-2');
    await create('unpulled', wants('example.com/other:1', 'Never'), 'hollow-2');
    await podIs('pulled', 'ready', isReady);
    const waitsFor = (reason: string) => (pod: Pod) =>
      pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === reason;
    await podIs('unpullable', 'held back', waitsFor('ImagePullBackOff'));
    await podIs('unpulled', 'refused', waitsFor('ErrImageNeverPull'));
    const isTold = async () => {
      type Events = { items: { involvedObject: { name?: string }; reason: string }[] };
      const events = await controlPlane.read<Events>('/api/v1/namespaces/default/events');
      const told = new Set(
        events?.items.map(({ involvedObject, reason }) => `${involvedObject.name ?? ''} ${reason}`),
      );
      const ofFailed = ['unpullable Pulling', 'unpullable Failed', 'unpullable BackOff'];
      return ['pulled Pulling', 'pulled Pulled', ...ofFailed].every((event) => told.has(event));
    };
    await waitFor(isTold, { what: 'the events of the pulls' });
  });

  test('run containers to their end whose command ends', async () => {
    const containers = [{ name: 'main', image: 'busybox', command: ['sh', '-c', 'exit 4'] }];
    await create('job', { restartPolicy: 'Never', containers }, 'hollow-2');
    const { status } = await podIs('job', 'over', (pod) => pod.status?.phase === 'Failed');
    expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 4 });
  });

  test('have the CSI drivers of the plan, which take the volumes of their pods', async () => {
    const storage = '/apis/storage.k8s.io/v1';
    const csiNode = await waitFor(
      async () => {
        const found = await controlPlane.read<CSINode>(`${storage}/csinodes/hollow-2`);
        return found?.spec.drivers.length === 1 && found;
      },
      { what: 'the driver to be registered' },
    );
    expect(csiNode.spec.drivers).toEqual([
      {
        name: 'disks.csi.test',
        nodeID: 'hollow-2',
        topologyKeys: ['zone.csi.test'],
        allocatable: { count: 7 },
      },
    ]);
    const source = { csi: { driver: 'disks.csi.test', volumeHandle: 'disk-1' } };
    await controlPlane.apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'growing' },
      provisioner: 'disks.csi.test',
      allowVolumeExpansion: true,
    });
    await boundClaim(controlPlane, 'disk', { source, storageClassName: 'growing' });
    const claim = () =>
      controlPlane.read<PersistentVolumeClaim>('/api/v1/namespaces/default/persistentvolumeclaims/disk');
    await controlPlane.patch('/api/v1/namespaces/default/persistentvolumeclaims/disk', {
      spec: { resources: { requests: { storage: '3Gi' } } },
    });
    const isExpanded = async () =>
      (await claim())?.status?.allocatedResourceStatuses?.storage === 'NodeResizePending';
    await waitFor(isExpanded, { what: 'the volume to be expanded by the controller' });
    await boundClaim(controlPlane, 'folder', { source: { nfs: { server: 'nfs.test', path: '/' } } });
    await create(
      'stored',
      {
        containers: [
          {
            name: 'main',
            image: 'nginx',
            volumeMounts: [
              { name: 'disk', mountPath: '/disk' },
              { name: 'folder', mountPath: '/folder' },
            ],
          },
        ],
        volumes: [
          { name: 'disk', persistentVolumeClaim: { claimName: 'disk' } },
          { name: 'folder', persistentVolumeClaim: { claimName: 'folder' } },
        ],
      },
      'hollow-2',
    );
    const volume = 'kubernetes.io/csi/disks.csi.test^disk-1';
    const inUse = async (is: boolean) => {
      const node = await controlPlane.read<Node>('/api/v1/nodes/hollow-2');
      const found = node?.status?.volumesInUse?.includes(volume) ?? false;
      return found === is && { node };
    };
    const { node } = await waitFor(() => inUse(true), { what: 'the volume to be in use' });
    expect(node?.metadata.labels).toMatchObject({ 'zone.csi.test': 'a' });
    // The test plays the attach controller of a cluster.
    const metadata = { name: attachmentName({ driver: 'disks.csi.test', handle: 'disk-1' }, 'hollow-2') };
    await controlPlane.apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata,
      spec: {
        attacher: 'disks.csi.test',
        nodeName: 'hollow-2',
        source: { persistentVolumeName: volumeOf('disk') },
      },
    });
    const path = `${storage}/volumeattachments/${metadata.name}`;
    await waitFor(async () => (await controlPlane.read<VolumeAttachment>(path))?.status?.attached === true, {
      what: 'the volume to be attached',
    });
    const waiting = await controlPlane.read<Pod>('/api/v1/namespaces/default/pods/stored');
    expect(waiting?.status?.phase).toBe('Pending');
    const volumesAttached = [{ name: volume, devicePath: '' }];
    await controlPlane.patch('/api/v1/nodes/hollow-2/status', { status: { volumesAttached } });
    await podIs('stored', 'ready', isReady);
    expect((await claim())?.status).toMatchObject({ capacity: { storage: '3Gi' } });
    // All was used of the volume before it grew.
    const [used] = (await summaryOf('hollow-2')).pods
      .filter(({ podRef }) => podRef.name === 'stored')
      .flatMap(({ volume = [] }) => volume);
    expect(used).toMatchObject({
      name: 'disk',
      pvcRef: { name: 'disk', namespace: 'default' },
      capacityBytes: 3 * 2 ** 30,
      usedBytes: 2 ** 30,
      availableBytes: 2 * 2 ** 30,
    });
    const metrics = await read('hollow-2', 'metrics');
    expect(metrics).toContain(
      'kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="disk"} 1.073741824e+09',
    );
    expect(metrics).toMatch(
      /^kubelet_container_log_filesystem_used_bytes\{container="main",namespace="default",pod="stored",uid="[-0-9a-f]+"\} [1-9]/mu,
    );
    await controlPlane.kubectl('delete', 'pod', 'stored', '--grace-period=1');
    await waitFor(() => inUse(false), { what: 'the volume to be released' });
  });

  test('have the devices of DRA drivers, which prepare the claims of pods', async () => {
    const group = '/apis/resource.k8s.io/v1';
    const slice = `${group}/resourceslices/hollow-3-gpus.dra.test`;
    const published = (before?: string) =>
      waitFor(
        async () => {
          const found = await controlPlane.read<ResourceSlice>(slice);
          return found?.metadata?.uid !== before && found;
        },
        { what: 'the devices to be published' },
      );
    const { metadata, spec } = await published();
    const kinds = {
      attributes: { model: { string: 'a' }, index: { int: 3 } },
      capacity: { memory: { value: '1Gi' } },
    };
    expect(spec).toMatchObject({
      driver: 'gpus.dra.test',
      nodeName: 'hollow-3',
      pool: { name: 'hollow-3', generation: 1, resourceSliceCount: 1 },
      devices: [
        { name: 'device-0', ...kinds },
        { name: 'device-1', ...kinds },
      ],
    });
    expect(metadata?.ownerReferences).toMatchObject([{ kind: 'Node', name: 'hollow-3' }]);
    await controlPlane.deleteAll(slice);
    await published(metadata?.uid);

    const path = `${group}/namespaces/default/resourceclaims/gpu`;
    await controlPlane.apply({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaim',
      metadata: { name: 'gpu' },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'any' } }] } },
    });
    const results = [{ driver: 'gpus.dra.test', pool: 'hollow-3', device: 'device-1', request: 'r' }];
    await controlPlane.patch(`${path}/status`, { status: { allocation: { devices: { results } } } });
    const claiming = { name: 'main', image: 'nginx', resources: { claims: [{ name: 'gpu' }] } };
    // The test plays the scheduler, which reserves the claim before it binds the pod.
    await create('computing', {
      nodeName: undefined,
      schedulerName: 'none',
      resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }],
      containers: [claiming],
    });
    const made = await controlPlane.read<Pod>('/api/v1/namespaces/default/pods/computing');
    const reservedFor = [{ resource: 'pods', name: 'computing', uid: made?.metadata.uid }];
    await controlPlane.patch(`${path}/status`, { status: { reservedFor } });
    await controlPlane.bind('computing', 'hollow-3');
    await podIs('computing', 'ready', isReady);
  });

  test('have device plugins whose devices fail, and the extended resources of the plan', async () => {
    const amounts = async () => (await controlPlane.read<Node>('/api/v1/nodes/hollow-3'))?.status;
    const failed = await waitFor(
      async () => {
        const status = await amounts();
        const [has, allows] = [status?.capacity, status?.allocatable].map(
          (list) => list?.['example.com/nic'],
        );
        return has === '1' && allows === '0' && status;
      },
      { what: 'the nic to fail' },
    );
    const pluginResources = { 'example.com/gpu': '4', 'example.com/license': '5', 'hugepages-2Mi': '4Mi' };
    expect(failed.capacity).toMatchObject({ ...pluginResources, cpu: '4' });
    // One CPU, and the memory of the eviction threshold, are reserved.
    expect(failed.allocatable).toMatchObject({ ...pluginResources, cpu: '3' });
  });

  test('give CPUs of one NUMA node and devices to containers, or refuse the pod', async () => {
    const asking = (amounts: Readonly<Record<string, string>>) => ({
      containers: [{ name: 'main', image: 'nginx', resources: { requests: amounts, limits: amounts } }],
    });
    await create('narrow', asking({ cpu: '2', memory: '16Mi', 'example.com/gpu': '2' }), 'hollow-3');
    await podIs('narrow', 'running', ({ status }) => status?.phase === 'Running');
    const socket = join(root, 'nodes/hollow-3/pod-resources/kubelet.sock');
    const client = new GrpcClient('agent', socket);
    const { podResources } = await client.call(LIST, {}, AbortSignal.timeout(PATIENCE_MS));
    client.close();
    const given = podResources.find(({ name }) => name === 'narrow')?.containers;
    const ofNode = { topology: { nodes: [{ ID: 1 }] } };
    expect(given).toMatchObject([
      {
        cpuIDs: [1, 3],
        devices: [
          { resourceName: 'example.com/gpu', deviceIDs: ['gpu-1'], ...ofNode },
          { resourceName: 'example.com/gpu', deviceIDs: ['gpu-3'], ...ofNode },
        ],
      },
    ]);
    // Each NUMA node has two CPUs.
    await create('wide', asking({ cpu: '3', memory: '16Mi' }));
    const wide = await podIs('wide', 'refused', ({ status }) => status?.phase === 'Failed');
    expect(wide.status).toMatchObject({
      reason: 'TopologyAffinityError',
      message: 'Pod was rejected: Resources cannot be allocated with Topology locality',
    });
    await create('greedy', asking({ cpu: '100m', memory: '16Mi', 'example.com/gpu': '3' }), 'hollow-3');
    const greedy = await podIs('greedy', 'refused', ({ status }) => status?.phase === 'Failed');
    expect(greedy.status?.reason).toBe('TopologyAffinityError');
  });

  test('have the static pods of the plan, with mirror pods', async () => {
    const plan = join(root, 'static.yaml');
    writeFileSync(plan, 'names: static-\nstaticPodPath: manifests\n');
    const spec = { containers: [{ name: 'main', image: 'nginx' }] };
    const manifest = { ...POD, metadata: { name: 'proxy' }, spec };
    mkdirSync(join(root, 'manifests'));
    writeFileSync(join(root, 'manifests/proxy.json'), JSON.stringify(manifest));
    const fleet = startCli('hollow', '--nodes', '2', '--plan', plan, ...where(join(root, 'static')));
    for (const node of ['static-1', 'static-2']) {
      const { metadata } = await podIs(`proxy-${node}`, 'ready', isReady);
      expect(metadata.annotations).toMatchObject({ 'kubernetes.io/config.source': 'file' });
      expect(metadata.annotations).toHaveProperty(['kubernetes.io/config.mirror']);
      expect(metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: node }]);
    }
    fleet.child.kill();
    await fleet.finished;
  });

  test('do not start with static pods that are broken', async () => {
    const plan = join(root, 'broken.yaml');
    writeFileSync(plan, 'staticPodPath: broken.json\n');
    writeFileSync(join(root, 'broken.json'), JSON.stringify({ ...POD, metadata: { name: 'x' }, spec: {} }));
    const { code, stderr } = await cli('hollow', '--plan', plan, ...where(join(root, 'broken')));
    const problem = `${join(root, 'broken.json')}: spec.containers: is required`;
    expect([code, stderr]).toEqual([2, `statelet: staticPodPath: ${problem}\n`]);
  });

  test('evict when their memory runs out', async () => {
    const resources = { requests: { memory: '800Mi' } };
    await create('big', { containers: [{ name: 'main', image: 'redis', resources }] }, 'hollow-3');
    const { status } = await podIs('big', 'evicted', (pod) => pod.status?.reason === 'Evicted');
    expect(status?.message).toContain('The node was low on resource: memory.');
  });

  test('evict when their disk is full, and whoever writes more than its limit', async () => {
    const storage = (amount: string, limits = {}) => ({
      containers: [
        {
          name: 'main',
          image: 'redis',
          resources: { requests: { 'ephemeral-storage': amount }, limits },
        },
      ],
    });
    await create('beyond', storage('1Gi', { 'ephemeral-storage': '1Gi' }));
    await create('full', storage('95Gi'), 'hollow-2');
    const beyond = await podIs('beyond', 'evicted', (pod) => pod.status?.reason === 'Evicted');
    expect(beyond.status?.message).toContain('ephemeral local storage');
    const full = await podIs('full', 'evicted', (pod) => pod.status?.reason === 'Evicted');
    expect(full.status?.message).toContain('The node was low on resource: ephemeral-storage.');
    const node = await controlPlane.read<Node>('/api/v1/nodes/hollow-2');
    expect(node?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DiskPressure', status: 'True', reason: 'KubeletHasDiskPressure' }),
    );
  });

  test('die on demand, and start their pods again when they come back', async () => {
    expect(await act('kill', 'hollow-1')).toBe('hollow-1: dead\n');
    expect(await act('start', 'hollow-1')).toBe('hollow-1: running\n');
    const restarts = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount;
    const pod = await podIs('web', 'started again', (one) => restarts(one) === 1 && isReady(one));
    expect(pod.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({ reason: 'Unknown' });
    expect(await act('list', 'hollow-1', 'hollow-2')).toMatch(
      /^NAME +STATE +PODS\nhollow-1 +running +3\nhollow-2 +running +8\n$/u,
    );
  });

  test('are named when they are not there', async () => {
    const { code, stderr } = await cli('hollow', 'kill', 'hollow-9', '--root-dir', root);
    expect([code, stderr]).toEqual([1, 'statelet: there is no hollow node "hollow-9"\n']);
  });
});
