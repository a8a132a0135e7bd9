/** Volumes of a CSI driver, with pods of containerd and an API server; the test plays the external attacher. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { CSINode, PersistentVolumeClaim, Pod, PodSpec } from '../../../src/types/kubernetes.ts';
import { loopsBelow, makeBlockDevice, removeBlockDevices } from '../../support/block-devices.ts';
import { boundClaim, volumeOf } from '../../support/bound-claim.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { mountsBelow } from '../../support/containerd/wipe.ts';
import { NODE_NAME, printedAddress, startStatelet, statelet } from '../../support/daemon.ts';
import {
  type CsiCall,
  mountsOf,
  TestCsiDriver,
  type TestCsiDriverOptions,
} from '../../support/test-csi-driver.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const CSI_FOLDER = 'plugins/kubernetes.io/csi';
const DRIVER = 'disk.csi.test';
const IN_STORAGE = '/apis/storage.k8s.io/v1';

describeOnCluster('volumes of a CSI driver', {}, (cluster) => {
  let storage: string;
  const drivers: TestCsiDriver[] = [];
  const open = (options: Partial<TestCsiDriverOptions> = {}) => {
    const registryDir = join(cluster.bed.rootDir, 'plugins_registry');
    const driver = new TestCsiDriver({ name: DRIVER, registryDir, storage, ...options });
    drivers.push(driver);
    return driver;
  };
  const csiDriver = (spec: object, name = DRIVER) =>
    cluster.controlPlane.apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name },
      spec: { attachRequired: false, ...spec },
    });
  /** A bound claim with its volume. */
  const bound = async (name: string, csi: object = {}, volumeMode = 'Filesystem') => {
    const handle = `handle of ${name}`;
    mkdirSync(join(storage, handle), { recursive: true });
    const source = { csi: { driver: DRIVER, volumeHandle: handle, ...csi } };
    await boundClaim(cluster.controlPlane, name, { source, volumeMode });
    return handle;
  };
  const mounting = (name: string, volume: object, fields: Partial<PodSpec> = {}) =>
    cluster.create(name, {
      volumes: [{ name: 'data', ...volume }],
      containers: [cluster.server({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      ...fields,
    });
  const claimed = (claimName: string) => ({ persistentVolumeClaim: { claimName } });
  const stagingDir = (handle: string, driver = DRIVER) =>
    join(cluster.bed.rootDir, CSI_FOLDER, driver, sha256(handle));
  const volumeDir = (pod: Pod, name: string) =>
    join(cluster.bed.rootDir, 'pods', pod.metadata.uid, 'volumes/kubernetes.io~csi', name);
  const volumeName = (driver: string, claim: string) => `kubernetes.io/csi/${driver}^handle of ${claim}`;
  const attachment = async (driver: string, claim: string, status: object) => {
    const name = `csi-${sha256(`handle of ${claim}${driver}${NODE_NAME}`)}`;
    await cluster.controlPlane.apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name },
      spec: { attacher: driver, nodeName: NODE_NAME, source: { persistentVolumeName: volumeOf(claim) } },
    });
    await cluster.controlPlane.patch(`${IN_STORAGE}/volumeattachments/${name}/status`, { status });
  };
  /** As an external attacher and its controller do. */
  const attach = async (driver: string, claim: string) => {
    await attachment(driver, claim, { attached: true, attachmentMetadata: { device: 'xvdb' } });
    const volumesAttached = [{ name: volumeName(driver, claim), devicePath: '' }];
    await cluster.controlPlane.patch(`/api/v1/nodes/${NODE_NAME}/status`, { status: { volumesAttached } });
  };
  const inUse = async () => (await cluster.node()).status?.volumesInUse ?? [];
  beforeAll(() => void (storage = mkdtempSync(join(tmpdir(), 'statelet-csi-'))));
  afterEach(async () => {
    for (const driver of drivers) driver.faults.clear();
    await cluster.clear();
    const mounted = () => mountsBelow(cluster.bed.rootDir).filter((path) => path.includes('csi'));
    await cluster.until('volumes to be unmounted', () => mounted().length === 0);
    await cluster.until('no volume to be in use', async () => (await inUse()).length === 0);
    // A volume that need not be attached is never in use. Its record goes when the driver has answered: until then it is needed.
    const records = () => globSync('*/*/**/vol_data.json', { cwd: join(cluster.bed.rootDir, CSI_FOLDER) });
    await cluster.until('no volume to be staged', () => records().length === 0);
    for (const driver of drivers) driver.kill({ removesSocket: true });
    expect(drivers.splice(0).flatMap(({ violations }) => violations)).toEqual([]);
    for (const name of readdirSync(storage))
      expect(readFileSync(join(storage, name, 'kept'), { encoding: 'utf8', flag: 'a+' })).toMatch(
        /^(kept)?$/u,
      );
  });
  afterAll(() => rmSync(storage, { recursive: true, force: true }));

  test('is staged once for two pods, published for each, and nothing is left after the last pod', async () => {
    await csiDriver({ podInfoOnMount: true });
    const topology = { segments: { 'topology.disk.csi.test/rack': 'r1' } };
    const own = `${IN_STORAGE}/csinodes/${NODE_NAME}`;
    const isMade = async () => (await cluster.controlPlane.read(own)) !== undefined;
    await waitFor(isMade, { what: 'the CSINode to be made without a driver', pauseMs: 100 });
    const driver = open({ info: { maxVolumes: 7, topology } });
    await driver.start();
    const { metadata } = await cluster.node();
    expect(metadata.labels).toMatchObject(topology.segments);
    expect(metadata.annotations?.['csi.volume.kubernetes.io/nodeid']).toBe(`{"${DRIVER}":"disk-node"}`);
    const csiNode = await cluster.controlPlane.read<CSINode>(own);
    expect(csiNode?.spec.drivers).toEqual([
      {
        name: DRIVER,
        nodeID: 'disk-node',
        topologyKeys: Object.keys(topology.segments),
        allocatable: { count: 7 },
      },
    ]);
    expect(csiNode?.metadata?.ownerReferences).toMatchObject([
      { kind: 'Node', name: NODE_NAME, uid: metadata.uid },
    ]);

    await cluster.controlPlane.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'key' },
      stringData: { password: 'hidden' },
    });
    const handle = await bound('shared', {
      fsType: 'ext4',
      volumeAttributes: { size: 'small' },
      nodeStageSecretRef: { namespace: 'default', name: 'key' },
    });
    writeFileSync(join(storage, handle, 'kept'), 'kept');
    await mounting('one', claimed('shared'), { securityContext: { fsGroup: 4321 } });
    await mounting('two', claimed('shared'));
    const one = await cluster.podIsReady('one');
    await cluster.podIsReady('two');
    expect(await cluster.bed.exec(one, ['sh', '-c', 'cat /data/kept; stat -c %g /data/kept'])).toBe(
      'kept4321\n',
    );
    expect(driver.staged).toMatchObject([
      {
        volumeId: handle,
        stagingPath: join(stagingDir(handle), 'globalmount'),
        secrets: { password: 'hidden' },
        volumeContext: { size: 'small' },
        capability: { mount: { fsType: 'ext4' }, accessMode: { mode: 'SINGLE_NODE_WRITER' } },
      },
    ]);
    const toOne = driver.published.find(
      ({ volumeContext }) => volumeContext['csi.storage.k8s.io/pod.name'] === 'one',
    );
    expect(toOne).toMatchObject({
      targetPath: join(volumeDir(one, 'pv-shared'), 'mount'),
      readonly: false,
      secrets: {},
      volumeContext: { size: 'small', 'csi.storage.k8s.io/pod.uid': one.metadata.uid },
    });
    expect(JSON.parse(readFileSync(join(stagingDir(handle), 'vol_data.json'), 'utf8'))).toEqual({
      volumeHandle: handle,
      driverName: DRIVER,
    });
    expect(JSON.parse(readFileSync(join(volumeDir(one, 'pv-shared'), 'vol_data.json'), 'utf8'))).toEqual({
      specVolID: 'pv-shared',
      volumeHandle: handle,
      driverName: DRIVER,
      nodeName: NODE_NAME,
      attachmentID: `csi-${sha256(handle + DRIVER + NODE_NAME)}`,
      volumeLifecycleMode: 'Persistent',
    });

    await cluster.controlPlane.deleteAll('/api/v1/namespaces/default/pods/one');
    await cluster.podIsGone('one');
    expect(driver.count('NodeUnstageVolume')).toBe(0);
    await cluster.controlPlane.deleteAll('/api/v1/namespaces/default/pods/two');
    await cluster.podIsGone('two');
    await waitFor(() => !existsSync(stagingDir(handle)), { what: 'the volume to be unstaged' });
    expect(driver.calls.slice(-3).toSorted()).toEqual(
      ['NodeUnpublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'].map((call) => `${call} ${handle}`),
    );
    driver.kill({ removesSocket: true });
    const gone = async () => !JSON.stringify(await cluster.controlPlane.read(own)).includes(DRIVER);
    await waitFor(gone, { what: 'the API server to be told that the driver is gone', pauseMs: 100 });
  });

  test('a volume that must be attached is in use first, and waits for its attachment', async () => {
    const name = 'attached.csi.test';
    await csiDriver({ attachRequired: true }, name);
    const driver = open({ name });
    await driver.start();
    await bound('far', { driver: name });
    await mounting('waiting', claimed('far'));
    await waitFor(async () => (await inUse()).includes(volumeName(name, 'far')), {
      what: 'the volume to be in use',
      pauseMs: 100,
    });
    expect(driver.calls).toEqual([]);
    await attach(name, 'far');
    await cluster.podIsReady('waiting');
    expect(driver.staged).toMatchObject([{ publishContext: { device: 'xvdb' } }]);
    expect(driver.published).toMatchObject([{ publishContext: { device: 'xvdb' } }]);
  });

  describeInBrowser('on the page', (browser) => {
    test('a pod names the volume that it waits for, and the end of the wait is shown', async () => {
      const name = 'shown.csi.test';
      await csiDriver({ attachRequired: true }, name);
      await open({ name }).start();
      await bound('shown', { driver: name });
      await mounting('shown', claimed('shown'));
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      const served = startStatelet('ui', '--root-dir', cluster.bed.rootDir);
      await page.goto(`${await printedAddress(served)}#/pod/default/shown`);
      await page.getByText(`for volume ${volumeName(name, 'shown')} to be attached`).waitFor();
      await attach(name, 'shown');
      await page.getByText('runs as its spec says').waitFor();
      await page.close();
      served.child.kill();
      await served.result;
    });
  });

  test('a pod whose volume cannot be attached since the node has as many as it can have fails after two minutes', async () => {
    const name = 'full.csi.test';
    await csiDriver({ attachRequired: true, nodeAllocatableUpdatePeriodSeconds: 600 }, name);
    const info = { maxVolumes: 7 };
    const driver = open({ name, info });
    await driver.start();
    await bound('beyond', { driver: name });
    await mounting('beyond', claimed('beyond'));
    const attachError = { message: 'no slot is free', errorCode: 8 };
    await attachment(name, 'beyond', { attached: false, attachError });
    await cluster.told('beyond', 'no slot is free');
    const why = async () => (await statelet('why', '--root-dir', cluster.bed.rootDir, 'beyond')).stdout;
    // While it is asked again, the answer only says since when the pod waits.
    await waitFor(async () => (await why()).includes('no slot is free'), { what: 'the answer why it waits' });
    info.maxVolumes = 1;
    const { status: ended } = await cluster.podIs(
      'rejected',
      'beyond',
      (pod) => pod.status?.phase === 'Failed',
    );
    const message =
      'Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded';
    expect(ended).toMatchObject({
      reason: 'VolumeAttachmentLimitExceeded',
      message: `Pod was rejected: ${message}`,
      containerStatuses: [{ name: 'main', started: false }],
    });
    expect(await cluster.eventsOf('beyond')).toContain('VolumeAttachmentLimitExceeded');
    expect(await why()).toContain('volume attachment limit');
    const csiNode = await cluster.controlPlane.read<CSINode>(`${IN_STORAGE}/csinodes/${NODE_NAME}`);
    expect(csiNode?.spec.drivers).toMatchObject([{ name, allocatable: { count: 1 } }]);
  });

  test('errors of the driver become events, and a driver that hangs or is away delays only its own pods', async () => {
    const absent = 'absent.csi.test';
    await csiDriver({});
    await csiDriver({}, absent);
    const driver = open();
    await driver.start();
    driver.faults.set('NodeStageVolume', { kind: 'Internal', words: 'no disk left' });
    await bound('broken');
    await bound('away', { driver: absent });
    await mounting('broken', claimed('broken'));
    await mounting('away', claimed('away'));
    await cluster.told(
      'broken',
      `MountVolume.MountDevice failed for volume "pv-broken" : CSI driver ${DRIVER}`,
    );
    await cluster.told('broken', 'NodeStageVolume: no disk left');
    await cluster.told('away', `driver name ${absent} not found in the list of registered CSI drivers`);
    driver.faults.set('NodeStageVolume', 'never');
    await cluster.create('plain', { containers: [cluster.server()] });
    await cluster.podIsReady('plain');
    driver.faults.clear();
    driver.kill();
    await driver.start();
    await cluster.podIsReady('broken');
  });

  test('a volume that has grown is grown on the node, and its claim has the new size', async () => {
    const name = 'growing.csi.test';
    await csiDriver({}, name);
    const driver = open({ name, capabilities: ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] });
    await driver.start();
    await bound('grown', { driver: name });
    const pv = '/api/v1/persistentvolumes/pv-grown';
    await cluster.controlPlane.patch(pv, { spec: { capacity: { storage: '2Gi' } } });
    const path = '/api/v1/namespaces/default/persistentvolumeclaims/grown';
    const condition = { type: 'FileSystemResizePending', status: 'True' };
    await cluster.controlPlane.patch(`${path}/status`, {
      status: {
        capacity: { storage: '1Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
        conditions: [condition],
      },
    });
    await mounting('grown', claimed('grown'));
    await cluster.podIsReady('grown');
    expect(driver.expanded).toMatchObject([{ range: { requiredBytes: 2 ** 31 } }]);
    const { status } = (await cluster.controlPlane.read<PersistentVolumeClaim>(path)) ?? {};
    expect(status?.capacity).toEqual({ storage: '2Gi' });
    expect([status?.allocatedResourceStatuses ?? {}, status?.conditions ?? []]).toEqual([{}, []]);
    await cluster.told('grown', 'MountVolume.NodeExpandVolume succeeded for volume "pv-grown"');
  });

  test('a block device is a device of the container', async () => {
    const name = 'block.csi.test';
    await csiDriver({}, name);
    const images = mkdtempSync(join(tmpdir(), 'statelet-csi-'));
    const device = makeBlockDevice(join(images, 'disk.img'), 'of the disk');
    const driver = open({ name, devices: new Map([['handle of block', device]]) });
    await driver.start();
    await bound('block', { driver: name }, 'Block');
    await cluster.create('block', {
      volumes: [{ name: 'data', ...claimed('block') }],
      containers: [cluster.server({ volumeDevices: [{ name: 'data', devicePath: '/dev/xvda' }] })],
    });
    const pod = await cluster.podIsReady('block');
    expect(await cluster.bed.exec(pod, ['head', '-c', '11', '/dev/xvda'])).toBe('of the disk');
    expect(driver.published).toMatchObject([{ capability: { mount: undefined, block: {} } }]);
    expect(loopsBelow(cluster.bed.rootDir)).toHaveLength(1);
    await cluster.controlPlane.deleteAll('/api/v1/namespaces/default/pods/block');
    await cluster.podIsGone('block');
    await waitFor(() => driver.count('NodeUnstageVolume') === 1, { what: 'the device to be unstaged' });
    expect(loopsBelow(cluster.bed.rootDir)).toEqual([]);
    removeBlockDevices(images);
    rmSync(images, { recursive: true });
  });

  test('a volume of the pod itself is published alone, where the driver serves such volumes', async () => {
    const name = 'inline.csi.test';
    const driver = open({ name });
    await driver.start();
    await mounting('inline', { csi: { driver: name, readOnly: true, volumeAttributes: { a: 'b' } } });
    await cluster.told(
      'inline',
      `volume mode "Ephemeral" not supported by driver ${name} (no CSIDriver object)`,
    );
    await csiDriver({ volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true }, name);
    const pod = await cluster.podIsReady('inline');
    expect(driver.calls).toEqual([`NodePublishVolume csi-${sha256(`${pod.metadata.uid}data`)}`]);
    expect(driver.published).toMatchObject([
      { stagingPath: '', readonly: true, volumeContext: { a: 'b', 'csi.storage.k8s.io/ephemeral': 'true' } },
    ]);
  });

  test('an agent that is killed at any step finds its volumes again: none is mounted twice, lost, or left', async () => {
    await csiDriver({});
    const driver = open();
    await driver.start();
    const restart = async () => {
      await cluster.daemon.end('SIGKILL');
      driver.faults.clear();
      await cluster.startDaemon();
    };
    const handle = await bound('steady');
    /** The agent is killed while the driver does not answer that call. */
    const killedIn = async (call: CsiCall, begin: () => Promise<void>) => {
      const before = driver.count(call);
      driver.faults.set(call, 'never');
      await begin();
      await waitFor(() => driver.count(call) > before, { what: `${call} is called` });
      await restart();
    };
    const deleted = (name: string) =>
      cluster.controlPlane.deleteAll(`/api/v1/namespaces/default/pods/${name}`);
    await killedIn('NodeStageVolume', () => mounting('steady', claimed('steady')));
    await cluster.podIsReady('steady');
    await deleted('steady');
    await cluster.podIsGone('steady');
    await waitFor(() => !existsSync(stagingDir(handle)), { what: 'the volume to be unstaged' });

    await killedIn('NodePublishVolume', () => mounting('again', claimed('steady')));
    const pod = await cluster.podIsReady('again');
    const target = join(volumeDir(pod, 'pv-steady'), 'mount');
    expect([mountsOf(target), mountsOf(join(stagingDir(handle), 'globalmount'))]).toEqual([1, 1]);
    await restart();
    expect(await cluster.bed.exec(await cluster.podIsReady('again'), ['ls', '/data'])).toBe('');
    expect([mountsOf(target), mountsOf(join(stagingDir(handle), 'globalmount'))]).toEqual([1, 1]);

    await killedIn('NodeUnpublishVolume', () => deleted('again'));
    await cluster.podIsGone('again');
    await mounting('last', claimed('steady'));
    await cluster.podIsReady('last');
    await killedIn('NodeUnstageVolume', () => deleted('last'));
    await cluster.podIsGone('last');
    await waitFor(() => !existsSync(stagingDir(handle)), { what: 'the volume to be unstaged' });
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
