/** ResourceClaims of a DRA driver, with pods of containerd and an API server; the test plays the scheduler. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { ClaimState } from '../../../src/agent/policies/dra/claim-devices.ts';
import { readClaims } from '../../../src/agent/policies/dra/claims-checkpoint.ts';
import type { Pod, ResourceClaim, ResourceSlice } from '../../../src/types/kubernetes.ts';
import { crc32 } from 'node:zlib';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { hasContainerd } from '../../support/containerd/suite.ts';
import { SERVING } from '../../support/cri-daemon.ts';
import { NODE_NAME, statelet } from '../../support/daemon.ts';
import { cdiIdOf, TestDraDriver } from '../../support/test-dra-driver.ts';
import { waitFor } from '../../support/wait-for.ts';

const DRIVER = 'gpu.dra.test';
const API_VERSION = 'resource.k8s.io/v1';
const IN_DEFAULT = `/apis/${API_VERSION}/namespaces/default`;
const SLICES = `/apis/${API_VERSION}/resourceslices`;
const KNOWS_CDI = hasContainerd(2);

describeOnCluster('resource claims of a DRA driver', {}, (cluster) => {
  let cdiDir: string;
  const drivers: TestDraDriver[] = [];
  const open = (name = DRIVER) => {
    const registryDir = join(cluster.bed.rootDir, 'plugins_registry');
    const driver = new TestDraDriver({ name, registryDir, cdiDir });
    drivers.push(driver);
    return driver;
  };
  const slice = (name: string, driver = DRIVER) =>
    cluster.controlPlane.apply({
      apiVersion: API_VERSION,
      kind: 'ResourceSlice',
      metadata: { name },
      spec: {
        driver,
        nodeName: NODE_NAME,
        pool: { name: 'pool', generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'device-1' }],
      },
    });
  const slices = async () => {
    const { items = [] } = (await cluster.controlPlane.read<{ items: ResourceSlice[] }>(SLICES)) ?? {};
    return items.map(({ metadata }) => metadata?.name);
  };
  const claim = async (name: string, driver = DRIVER) => {
    await cluster.controlPlane.apply({
      apiVersion: API_VERSION,
      kind: 'ResourceClaim',
      metadata: { name },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'any' } }] } },
    });
    const results = [{ driver, pool: 'pool', device: 'device-1', request: 'r' }];
    await cluster.controlPlane.patch(`${IN_DEFAULT}/resourceclaims/${name}/status`, {
      status: { allocation: { devices: { results } } },
    });
    const made = await cluster.controlPlane.read<ResourceClaim>(`${IN_DEFAULT}/resourceclaims/${name}`);
    return made?.metadata?.uid ?? '';
  };
  /** A pod that uses the claims: they are reserved for it first, as a scheduler does. */
  const using = (name: string, ...claims: readonly string[]) => running(SERVING, name, ...claims);
  /** `script`: what its container does, once. */
  const running = async (script: string, name: string, ...claims: readonly string[]) => {
    await cluster.create(name, {
      // No scheduler knows it.
      nodeName: undefined,
      schedulerName: 'none',
      restartPolicy: 'Never',
      resourceClaims: claims.map((one) => ({ name: one, resourceClaimName: one })),
      containers: [cluster.shell(script, { resources: { claims: claims.map((one) => ({ name: one })) } })],
    });
    const uid = (await cluster.pod(name))?.metadata.uid;
    for (const one of claims) {
      const path = `${IN_DEFAULT}/resourceclaims/${one}`;
      const { status } = (await cluster.controlPlane.read<ResourceClaim>(path)) ?? {};
      const reservedFor = [...(status?.reservedFor ?? []), { resource: 'pods', name, uid }];
      await cluster.controlPlane.patch(`${path}/status`, { status: { reservedFor } });
    }
    await cluster.controlPlane.bind(name, NODE_NAME);
  };
  const deleted = (name: string) => cluster.controlPlane.deleteAll(`/api/v1/namespaces/default/pods/${name}`);
  /** Until the answer of `statelet why` has the words. */
  const why = (name: string, words: string) =>
    waitFor(
      async () => (await statelet('why', '--root-dir', cluster.bed.rootDir, name)).stdout.includes(words),
      { what: `the answer why ${name} waits: ${words}` },
    );
  const kept = (): readonly ClaimState[] =>
    readClaims(readFileSync(join(cluster.bed.rootDir, 'dra_manager_state'), 'utf8'), crc32);

  beforeAll(() => {
    ({ cdiDir } = cluster.bed.containerd);
  });
  afterEach(async () => {
    for (const driver of drivers) driver.faults.clear();
    await cluster.clear();
    for (const driver of drivers.splice(0)) {
      expect([...driver.prepared]).toEqual([]);
      driver.kill();
    }
    expect(kept()).toEqual([]);
  });

  test('are prepared once for two pods, in one call for a pod, and nothing is left after the last pod', async () => {
    const driver = open();
    await driver.start();
    const uid = await claim('shared');
    await claim('own');
    await using('one', 'shared', 'own');
    const one = await cluster.podIsReady('one');
    expect(driver.calls).toEqual(['NodePrepareResources shared own']);
    expect(kept().find(({ name }) => name === 'shared')).toMatchObject({
      uid,
      namespace: 'default',
      pods: [one.metadata.uid],
      drivers: { [DRIVER]: [{ pool: 'pool', device: 'device-1', cdiIds: [cdiIdOf(DRIVER, { uid })] }] },
    });
    driver.tellHealth([
      {
        device: { pool: 'pool', device: 'device-1' },
        health: 'Unhealthy',
        timeoutSeconds: 600,
        message: 'hot',
      },
    ]);
    const ofContainer = ({ status }: Pod) => status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? [];
    const told = await cluster.podIs('told of its devices', 'one', (pod) =>
      ofContainer(pod).every(({ resources }) => resources?.[0]?.health === 'Unhealthy'),
    );
    expect(ofContainer(told)[0]).toEqual({
      name: 'claim:shared',
      resources: [{ resourceID: cdiIdOf(DRIVER, { uid }), health: 'Unhealthy', message: 'hot' }],
    });
    await using('two', 'shared');
    const two = await cluster.podIsReady('two');
    if (KNOWS_CDI) expect(await cluster.bed.exec(two, ['sh', '-c', 'echo $CLAIM'])).toBe('shared\n');
    expect(driver.count('NodePrepareResources')).toBe(1);

    await deleted('one');
    await cluster.podIsGone('one');
    expect([...driver.prepared]).toEqual([uid]);
    await deleted('two');
    await cluster.podIsGone('two');
    expect(driver.calls.slice(1)).toEqual(['NodeUnprepareResources own', 'NodeUnprepareResources shared']);
  });

  test('the API server learns that a pod has run to its end only when its claim is unprepared', async () => {
    const driver = open();
    await driver.start();
    await claim('brief');
    const held = Promise.withResolvers<undefined>();
    driver.faults.set('NodeUnprepareResources', held.promise);
    await running('until [ -e /tmp/end ]; do sleep 0.1; done', 'brief', 'brief');
    await cluster.bed.execLast(await cluster.podIsReady('brief'), ['touch', '/tmp/end']);
    await waitFor(() => driver.count('NodeUnprepareResources') > 0, { what: 'the driver to be asked' });
    expect((await cluster.pod('brief'))?.status?.phase).toBe('Running');
    held.resolve(undefined);
    await cluster.podIs('over', 'brief', ({ status }) => status?.phase === 'Succeeded');
    expect([...driver.prepared]).toEqual([]);
  });

  test('a problem of a claim or an error of its driver is an event, and delays no other pod', async () => {
    const absent = 'absent.dra.test';
    const driver = open();
    await driver.start();
    await claim('away', absent);
    await claim('broken');
    driver.faults.set('NodePrepareResources', { kind: 'Internal', words: 'no device left' });
    await using('away', 'away');
    await using('broken', 'broken');
    const begin = 'Failed to prepare dynamic resources: prepare dynamic resources: ';
    await cluster.told('away', `${begin}DRA driver ${absent} is not registered`);
    await cluster.told(
      'broken',
      `${begin}NodePrepareResources: DRA driver ${DRIVER}: rpc error: code = Internal desc = no device left`,
    );
    await why('broken', 'waits for its resource claims: ');
    await why('broken', 'desc = no device left');
    driver.faults.set('NodePrepareResources', 'never');
    await claim('hung');
    await using('hung', 'hung');
    const isAsked = () => driver.calls.includes('NodePrepareResources hung');
    await waitFor(isAsked, { what: 'the driver to be asked' });
    await why('hung', ` for resource claim hung to be prepared by DRA driver ${DRIVER}`);
    await cluster.create('plain', { containers: [cluster.server()] });
    await cluster.podIsReady('plain');
    // A pod is not held by a driver that hangs: it ends, and the driver is asked to undo what it may have done.
    await deleted('hung');
    await cluster.podIsGone('hung');
    expect(driver.calls).toContain('NodeUnprepareResources hung');
    await open(absent).start();
    await cluster.podIsReady('away');
  });

  test('after an agent is killed in a call, the next one asks again: nothing stays prepared', async () => {
    const driver = open();
    await driver.start();
    const killedIn = async (
      call: Parameters<typeof driver.count>[0],
      begin: () => Promise<unknown>,
    ): Promise<void> => {
      const before = driver.count(call);
      driver.faults.set(call, 'never');
      await begin();
      await waitFor(() => driver.count(call) > before, { what: `${call} is called` });
      await cluster.daemon.end('SIGKILL');
      driver.faults.clear();
    };
    await claim('steady');
    await slice('of-the-driver');
    await killedIn('NodePrepareResources', () => using('steady', 'steady'));
    await cluster.startDaemon();
    await cluster.podIsReady('steady');
    await waitFor(async () => (await slices()).length === 0, { what: 'its ResourceSlices to be deleted' });

    // A pod that runs keeps its claim, whether its driver is there or not.
    await cluster.daemon.end('SIGKILL');
    driver.kill();
    await cluster.startDaemon();
    expect((await cluster.podIsReady('steady')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await deleted('steady');
    await driver.start();
    await cluster.podIsGone('steady');
    expect([...driver.prepared]).toEqual([]);

    const again = await claim('again');
    await using('again', 'again');
    await cluster.podIsReady('again');
    await killedIn('NodeUnprepareResources', () => deleted('again'));
    // By now neither the pod nor its claim is known to anybody else.
    await cluster.controlPlane.deleteAll(`/api/v1/namespaces/default/pods/again?gracePeriodSeconds=0`);
    await cluster.controlPlane.deleteAll(`${IN_DEFAULT}/resourceclaims/again`);
    expect([...driver.prepared]).toEqual([again]);
    await cluster.startDaemon();
    await waitFor(() => driver.prepared.size === 0, { what: 'the claim to be unprepared' });
    await waitFor(() => kept().length === 0, { what: 'the claim to be forgotten' });
  });
});
