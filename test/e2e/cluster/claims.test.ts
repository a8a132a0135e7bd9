/** Claims of pods with a real API server, whose controllers bind claims and make those of ephemeral volumes. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Container, PersistentVolume, PodSpec } from '../../../src/types/kubernetes.ts';
import type { Summary } from '../../../src/types/stats.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { mountsBelow } from '../../support/containerd/wipe.ts';
import { NODE_NAME } from '../../support/daemon.ts';
import { KUBECTL_PATIENCE, waitFor } from '../../support/wait-for.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];

const ON = (node: string) => ({
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
    ],
  },
});

describeOnCluster(
  'the claims of a pod',
  { controlPlane: { with: ['kube-controller-manager'] } },
  (cluster) => {
    const kubectl = (...args: string[]) => cluster.controlPlane.kubectl(...args);
    /** A folder of the node. */
    let disk: string;
    let disks: string;
    let count = 0;

    beforeAll(() => void (disks = mkdtempSync(join(tmpdir(), 'statelet-disks-'))));
    beforeEach(() => {
      disk = join(disks, String((count += 1)));
      mkdirSync(disk);
      writeFileSync(join(disk, 'file'), 'kept');
    });
    afterEach(async () => {
      await cluster.clear();
      // The server deletes a pod that has succeeded at once. The agent may still be at its clean-up.
      const isUnmounted = () =>
        !mountsBelow(cluster.bed.rootDir).some((path) => path.includes('kubernetes.io~local-volume'));
      await waitFor(isUnmounted, { what: 'local volumes to be unmounted' });
      expect(readFileSync(join(disk, 'file'), 'utf8')).toBe('kept');
      await kubectl('delete', 'persistentvolumeclaims,persistentvolumes', '--all', '--wait=false');
    });
    afterAll(() => rmSync(disks, { recursive: true, force: true }));

    const size = { storage: '1Gi' };
    const persistentVolume = (name: string, spec: NonNullable<PersistentVolume['spec']>): object => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `pv-${name}` },
      spec: { capacity: size, accessModes: ['ReadWriteOnce'], storageClassName: name, ...spec },
    });
    const local = (name: string, spec: NonNullable<PersistentVolume['spec']> = {}) =>
      persistentVolume(name, { local: { path: disk }, nodeAffinity: ON(NODE_NAME), ...spec });
    const claimSpec = (storageClassName: string, fields: object = {}) => ({
      accessModes: ['ReadWriteOnce'],
      storageClassName,
      resources: { requests: size },
      ...fields,
    });
    const claim = (name: string, fields: object = {}): object => ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: claimSpec(name, fields),
    });
    const claimed = (claimName: string, fields: object = {}): Volume => ({
      name: 'data',
      persistentVolumeClaim: { claimName, ...fields },
    });
    const create = (
      name: string,
      volume: Volume,
      script: string | undefined,
      spec: Partial<PodSpec> = {},
      mount: Partial<NonNullable<Container['volumeMounts']>[number]> = {},
    ) => {
      const fields = { volumeMounts: [{ name: 'data', mountPath: '/data', ...mount }] };
      const container =
        script === undefined
          ? cluster.server(fields)
          : cluster.shell(`(${script}) > /dev/termination-log 2>&1`, fields);
      return cluster.create(name, {
        volumes: [volume],
        containers: [container],
        ...(script !== undefined && { restartPolicy: 'Never' }),
        ...spec,
      });
    };
    const messageOf = async (name: string) => {
      const { status } = await cluster.podIs('Succeeded', name, (pod) => pod.status?.phase === 'Succeeded');
      return status?.containerStatuses?.[0]?.state?.terminated?.message;
    };
    test('a local volume is read, written, in part, by its group, and outlives the pod', async () => {
      await cluster.controlPlane.apply(local('orders'), claim('orders'));
      await create(
        'writer',
        claimed('orders'),
        'cat /data/file; echo new > /data/new; stat -c %g.%a /data; id -G',
        { securityContext: { fsGroup: 7777, runAsUser: 1000 } },
      );
      expect(await messageOf('writer')).toMatch(/^kept7777\.2775\n.*\b7777\b/u);
      expect(readFileSync(join(disk, 'new'), 'utf8')).toBe('new\n');
      expect(statSync(join(disk, 'file')).gid).toBe(7777);
      mkdirSync(join(disk, 'part'));
      writeFileSync(join(disk, 'part', 'inner'), '');
      await create(
        'reader',
        claimed('orders', { readOnly: true }),
        'ls /data; touch /data/x || echo no',
        {},
        {
          subPath: 'part',
        },
      );
      expect(await messageOf('reader')).toMatch(/^inner\n[^]*Read-only file system\nno\n$/u);
    });

    test('a hostPath volume keeps the group of its files', async () => {
      const spec = { hostPath: { path: disk, type: 'Directory' } };
      await cluster.controlPlane.apply(persistentVolume('host', spec), claim('host'));
      await create('host', claimed('host'), 'cat /data/file', { securityContext: { fsGroup: 7777 } });
      expect(await messageOf('host')).toBe('kept');
      expect(statSync(join(disk, 'file')).gid).toBe(0);
    });

    test('a claim on a local volume has figures, as metrics and in the Summary; one on a hostPath has none', async () => {
      const hostPath = { hostPath: { path: disk, type: 'Directory' } };
      await cluster.controlPlane.apply(local('sized'), claim('sized'));
      await cluster.controlPlane.apply(persistentVolume('unsized', hostPath), claim('unsized'));
      await create('with-figures', claimed('sized'), undefined);
      await create('without-figures', claimed('unsized'), undefined);
      await cluster.podIsReady('with-figures');
      await cluster.podIsReady('without-figures');
      const ask = (path: string) => kubectl('get', '--raw', `/api/v1/nodes/${NODE_NAME}/proxy${path}`);
      const { bsize, blocks, files } = statfsSync(disk);
      const metrics = (await ask('/metrics')).split('\n');
      const figures = metrics.filter((line) => line.startsWith('kubelet_volume_stats_'));
      const labels = '{namespace="default",persistentvolumeclaim="sized"}';
      const all = ['capacity_bytes', 'available_bytes', 'used_bytes', 'inodes', 'inodes_free', 'inodes_used'];
      expect(figures.map((line) => line.split(' ')[0]).sort()).toEqual(
        all.map((name) => `kubelet_volume_stats_${name}${labels}`).sort(),
      );
      const size = figures.find((line) => line.startsWith('kubelet_volume_stats_capacity'));
      expect(Number(size?.split(' ')[1])).toBe(blocks * bsize);
      const { pods } = JSON.parse(await ask('/stats/summary')) as Summary;
      const volumesOf = (name: string) => pods.find(({ podRef }) => podRef.name === name)?.volume;
      expect(volumesOf('without-figures')).toBeUndefined();
      expect(volumesOf('with-figures')).toEqual([
        expect.objectContaining({
          name: 'data',
          pvcRef: { name: 'sized', namespace: 'default' },
          capacityBytes: blocks * bsize,
          inodes: files,
        }),
      ]);
    });

    test('a pod waits for a claim that is missing, then unbound, and goes on when it is bound', async () => {
      await create('patient', claimed('late'), 'cat /data/file');
      const about = 'failed to process volumes=[data]: error processing PVC default/late:';
      const lists = 'Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[]';
      const why = 'failed to fetch PVC from API server: persistentvolumeclaims "late" not found';
      await cluster.told('patient', `${lists}, ${about} ${why}`);
      await cluster.controlPlane.apply(claim('late'));
      await cluster.told('patient', `${about} PVC is not bound`);
      await cluster.controlPlane.apply(local('late'));
      expect(await messageOf('patient')).toBe('kept');
    });

    test('an ephemeral volume has the claim that is made for its pod, and no other of that name', async () => {
      const ephemeral = { volumeClaimTemplate: { spec: claimSpec('scratch') } };
      await cluster.controlPlane.apply(local('scratch'));
      await create('first', { name: 'data', ephemeral }, 'cat /data/file');
      expect(await messageOf('first')).toBe('kept');
      await cluster.controlPlane.apply(local('taken'), claim('second-data', { storageClassName: 'taken' }));
      await create('second', { name: 'data', ephemeral }, 'cat /data/file');
      await cluster.told(
        'second',
        'PVC default/second-data was not created for pod default/second (pod is not owner)',
      );
    });

    test('pods wait for what this node cannot mount, and end cleanly when they are deleted', async () => {
      const block = { volumeMode: 'Block' };
      await cluster.controlPlane.apply(
        // Nobody attaches it.
        persistentVolume('csi', { csi: { driver: 'csi.example.com', volumeHandle: 'h' } }),
        persistentVolume('nfs', { nfs: { server: '127.0.0.1', path: '/' } }),
        local('away', { nodeAffinity: ON('elsewhere') }),
        local('none', { local: { path: join(disk, 'none') } }),
        local('block', block),
        persistentVolume('options', { hostPath: { path: disk }, mountOptions: ['noatime'] }),
        ...['csi', 'nfs', 'away', 'none', 'options'].map((name) => claim(name)),
        claim('block', block),
      );
      for (const name of ['csi', 'nfs', 'away', 'none', 'options'])
        await create(name, claimed(name), undefined);
      const devices = cluster.server({ volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] });
      await create('block', claimed('block'), undefined, { containers: [devices] });
      await create('inline', { name: 'data', nfs: { server: '127.0.0.1', path: '/' } }, undefined);
      await cluster.told(
        'nfs',
        'MountVolume.SetUp failed for volume "pv-nfs" : a PersistentVolume of nfs is not supported',
      );
      await cluster.told(
        'away',
        'MountVolume.NodeAffinity check failed for volume "pv-away" : no matching NodeSelectorTerms',
      );
      await cluster.told(
        'none',
        `MountVolume.NewMounter initialization failed for volume "pv-none" : path "${disk}/none" does not exist`,
      );
      await cluster.told('options', 'mount options are not supported for this volume type');
      await cluster.told('block', 'is not a block device');
      await cluster.told(
        'inline',
        'MountVolume.SetUp failed for volume "data" : a volume of nfs is not supported',
      );
      await cluster.create('dynamic', {
        resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }],
        containers: [cluster.server({ resources: { claims: [{ name: 'gpu' }] } })],
      });
      await cluster.told(
        'dynamic',
        'Failed to prepare dynamic resources: prepare dynamic resources: fetch ResourceClaim gpu: resourceclaims.resource.k8s.io "gpu" not found',
      );
      await kubectl('delete', 'pods', '--all', KUBECTL_PATIENCE);
      expect(await cluster.bed.containerd.leftovers()).toEqual([]);
    });

    test('a volume for one pod is refused to a second one until the first one is gone', async () => {
      const accessModes = ['ReadWriteOncePod'];
      await cluster.controlPlane.apply(local('single', { accessModes }), claim('single', { accessModes }));
      await create('one', claimed('single'), undefined);
      await cluster.podIsReady('one');
      await create('two', claimed('single'), undefined);
      await cluster.told(
        'two',
        'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
      );
      await kubectl('delete', 'pod', 'one', KUBECTL_PATIENCE);
      await cluster.podIsReady('two');
    });

    test('a claim that is deleted holds while its pod runs, also over a restart of the agent and of the container', async () => {
      await cluster.controlPlane.apply(local('held'), claim('held'));
      await create('holder', claimed('held'), undefined);
      const { status } = await cluster.podIsReady('holder');
      await kubectl('delete', 'persistentvolumeclaim', 'held', '--wait=false');
      await create('new', claimed('held'), undefined);
      await cluster.told('new', 'error processing PVC default/held: PVC is being deleted');
      await cluster.daemon.end('SIGKILL');
      await cluster.startDaemon();
      const id = status?.containerStatuses?.[0]?.containerID?.slice('containerd://'.length) ?? '';
      await cluster.bed.runtime.stopContainer(id, 0);
      const { status: later } = await cluster.podIs('restarted', 'holder', (pod) => {
        const [container] = pod.status?.containerStatuses ?? [];
        return container?.restartCount === 1 && container.ready;
      });
      expect(later?.containerStatuses?.[0]?.containerID).not.toContain(id);
      expect(readdirSync(disk)).toEqual(['file']);
    });
  },
);
