/** Claims of pods with drivers over real sockets: what is asked of a driver, kept in the file, and told of failures. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ResourceClaims } from '../../../../src/agent/actors/dra/resource-claims.ts';
import type { ClaimDevice } from '../../../../src/agent/policies/dra/claim-devices.ts';
import { readClaims } from '../../../../src/agent/policies/dra/claims-checkpoint.ts';
import { claimsFile } from '../../../../src/agent/runtime/dra/claims-file.ts';
import { DraDriver } from '../../../../src/agent/runtime/dra/dra-driver.ts';
import { DraNode } from '../../../../src/agent/runtime/dra/dra-node.ts';
import { NEVER_ABORTED } from '../../../../src/system/promises.ts';
import type { ErrorKind } from '../../../../src/types/errors.ts';
import type { Pod, ResourceClaim } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { testContext } from '../../../support/test-context.ts';
import { cdiIdOf, TestDraDriver, type TestDraDriverOptions } from '../../../support/test-dra-driver.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { storedText } from '../../../../src/system/newest-file.ts';
import { systemClock } from '../../../../src/system/timer.ts';

const GPU = 'gpu.dra.test';
const NIC = 'nic.dra.test';
/** The pod `web`, with a sandbox. */
const RUNNING = { ...runtimePodStatus({ sandboxes: [{ id: 's', ready: true }] }), uid: 'uid-of-web' };

let dir: string;
let measurements: RecordedMeasurements;
let objects: Map<string, ResourceClaim>;
let doubles: TestDraDriver[];
let clients: DraDriver[];
let node: { dra: DraNode; claims: ResourceClaims };

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-dra-'));
  measurements = new RecordedMeasurements();
  objects = new Map();
  doubles = [];
  clients = [];
  node = openNode();
});

afterEach(() => {
  node.claims.stop();
  for (const one of clients) one.close();
  for (const one of doubles) one.kill();
  rmSync(dir, { recursive: true });
});

function openNode() {
  const context = testContext({ measurements });
  const resourceClaim = (_namespace: string, name: string) => Promise.resolve(objects.get(name));
  const dra = new DraNode(context, {
    objects: { resourceClaim },
    file: claimsFile(storedText(join(dir, 'dra_manager_state'))),
  });
  return { dra, claims: new ResourceClaims(context, dra) };
}

async function openDriver(name: string, options: Partial<TestDraDriverOptions> = {}): Promise<TestDraDriver> {
  const double = new TestDraDriver({ name, registryDir: dir, ...options });
  doubles.push(double);
  await double.listen();
  registered(name, options.version);
  return double;
}

function registered(name: string, version: 'v1' | 'v1beta1' = 'v1'): void {
  const service = `k8s.io.kubelet.pkg.apis.dra.${version}.DRAPlugin` as const;
  const driver = new DraDriver(
    { clock: systemClock, measurements },
    { name, endpoint: join(dir, `${name}-reg.sock`), service },
  );
  clients.push(driver);
  node.dra.drivers.register(driver);
}

function claim(name: string, drivers: readonly string[], pods: readonly Pod[]): void {
  const results = drivers.map((driver) => ({ driver, pool: 'pool', device: 'device-1', request: 'r' }));
  const reservedFor = pods.map(({ metadata }) => ({
    resource: 'pods',
    name: metadata.name,
    uid: metadata.uid,
  }));
  const status = { allocation: { devices: { results } }, reservedFor };
  objects.set(name, { metadata: { name, uid: `uid-${name}` }, status });
}

function podUsing(name: string, ...claims: readonly string[]): Pod {
  const pod = testPod({ name });
  const resourceClaims = claims.map((one) => ({ name: one, resourceClaimName: one }));
  const resources = { claims: claims.map((one) => ({ name: one })) };
  const containers = [{ name: 'main', image: 'a', resources }];
  return { ...pod, spec: { ...pod.spec, resourceClaims, containers } };
}

const kept = () => readClaims(readFileSync(join(dir, 'dra_manager_state'), 'utf8'), crc32);
const prepare = (pod: Pod, signal = NEVER_ABORTED) => node.dra.prepare(pod, signal);
const cdiOf = (pod: Pod) => {
  const [main] = pod.spec.containers;
  return main && node.dra.additions(pod, main).cdiDevices?.map(({ name }) => name);
};

test('all claims of a pod for one driver are prepared by one call, and a second pod with the same claims needs no call', async () => {
  const [gpu, nic] = [await openDriver(GPU), await openDriver(NIC, { version: 'v1beta1' })];
  const [one, two] = [podUsing('one', 'a', 'b', 'c'), podUsing('two', 'a')];
  claim('a', [GPU], [one, two]);
  claim('b', [GPU, NIC], [one]);
  claim('c', [], [one]);
  await prepare(one);
  await prepare(two);
  expect([gpu.calls, nic.calls]).toEqual([['NodePrepareResources a b'], ['NodePrepareResources b']]);
  expect(cdiOf(one)).toEqual([
    cdiIdOf(GPU, { uid: 'uid-a' }),
    cdiIdOf(GPU, { uid: 'uid-b' }),
    cdiIdOf(NIC, { uid: 'uid-b' }),
  ]);
  expect(kept().map(({ name, pods }) => [name, pods])).toEqual([
    ['a', ['uid-of-one', 'uid-of-two']],
    ['b', ['uid-of-one']],
    ['c', ['uid-of-one']],
  ]);
  await node.dra.release('uid-of-one');
  expect([gpu.calls[1], nic.calls[1]]).toEqual(['NodeUnprepareResources b', 'NodeUnprepareResources b']);
  expect(node.dra.holds('uid-of-one')).toBe(false);
  await node.dra.release('uid-of-two');
  expect([kept(), gpu.prepared.size, nic.prepared.size]).toEqual([[], 0, 0]);
  expect(measurements.told).toContain(
    `/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources of ${NIC}: OK`,
  );
});

test('no driver is called and nothing is stored for a pod that may not use one of its claims, or lacks a driver', async () => {
  const gpu = await openDriver(GPU);
  const pod = podUsing('web', 'a', 'b');
  claim('a', [GPU], [pod]);
  await expect(prepare(pod)).rejects.toThrow(
    'prepare dynamic resources: fetch ResourceClaim b: resourceclaims.resource.k8s.io "b" not found',
  );
  claim('b', [GPU], []);
  await expect(prepare(pod)).rejects.toThrow(
    'pod web (uid-of-web) is not allowed to use ResourceClaim b (uid-b)',
  );
  claim('b', [NIC], [pod]);
  await expect(prepare(pod)).rejects.toThrow(
    `prepare dynamic resources: DRA driver ${NIC} is not registered`,
  );
  expect([node.dra.lacking(NIC), node.dra.lacking(GPU)]).toEqual([['uid-of-web'], []]);
  expect([gpu.calls, node.dra.holders, existsSync(join(dir, 'dra_manager_state'))]).toEqual([[], [], false]);
});

const KINDS: readonly ErrorKind[] = [
  ...(['Canceled', 'Unknown', 'InvalidArgument', 'DeadlineExceeded', 'NotFound', 'AlreadyExists'] as const),
  ...(['PermissionDenied', 'ResourceExhausted', 'FailedPrecondition', 'Aborted', 'OutOfRange'] as const),
  ...(['Unimplemented', 'Internal', 'Unavailable', 'DataLoss', 'Unauthenticated'] as const),
];

test('any error of a driver is reported with the name of the driver, and the next try begins again', async () => {
  const gpu = await openDriver(GPU);
  const pod = podUsing('web', 'a');
  claim('a', [GPU], [pod]);
  for (const kind of KINDS) {
    gpu.faults.set('NodePrepareResources', { kind, words: 'no\u001b[2Jway' });
    await expect(prepare(pod)).rejects.toThrow(
      `NodePrepareResources: DRA driver ${GPU}: rpc error: code = ${kind} desc = no\\u001b[2Jway`,
    );
  }
  gpu.faults.set('NodePrepareResources', 'skips');
  await expect(prepare(pod)).rejects.toThrow('NodePrepareResources skipped 1 ResourceClaims');
  gpu.faults.clear();
  await prepare(pod);
  gpu.faults.set('NodeUnprepareResources', { words: 'in use' });
  await expect(node.dra.release('uid-of-web')).rejects.toThrow(
    'unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim a: in use',
  );
  expect([kept().length, node.dra.holders]).toEqual([1, ['uid-of-web']]);
  gpu.faults.clear();
  await node.dra.release('uid-of-web');
  expect(kept()).toEqual([]);
});

test('a claim that could not be prepared is prepared by the next try, also for a pod with a sandbox whose file was lost', async () => {
  const gpu = await openDriver(GPU);
  const pod = podUsing('web', 'a');
  claim('a', [GPU], [pod]);
  node.dra.start({ pods: () => [RUNNING] });
  gpu.faults.set('NodePrepareResources', { words: 'no way' });
  await expect(prepare(pod)).rejects.toThrow('no way');
  gpu.faults.clear();
  await prepare(pod);
  expect(cdiOf(pod)).toEqual([cdiIdOf(GPU, { uid: 'uid-a' })]);
  await prepare(pod);
  expect(gpu.count('NodePrepareResources')).toBe(2);
});

test('an answer of a driver that is too large is not stored', async () => {
  const device: ClaimDevice = { pool: 'p', device: 'd'.repeat(2_000), shareId: '', requests: [], cdiIds: [] };
  await openDriver(GPU, { devices: () => [device] });
  const pod = podUsing('web', 'a');
  claim('a', [GPU], [pod]);
  await expect(prepare(pod)).rejects.toThrow(
    `the answer of DRA driver ${GPU} for ResourceClaim a is refused: a device has a text of more than`,
  );
});

test('a driver that hangs does not delay the end of a pod: its call is aborted', async () => {
  const gpu = await openDriver(GPU);
  gpu.faults.set('NodePrepareResources', 'never');
  const pod = podUsing('web', 'a');
  claim('a', [GPU], [pod]);
  const end = new AbortController();
  const preparing = prepare(pod, end.signal);
  await waitFor(() => gpu.calls.length > 0, { what: 'the driver to be asked' });
  expect(node.dra.waitOf('uid-of-web')).toMatchObject({ claim: 'a', drivers: [GPU], step: 'prepared' });
  end.abort(new Error('the pod ends'));
  await expect(preparing).rejects.toThrow('the pod ends');
  expect(node.dra.waitOf('uid-of-web')).toBeUndefined();
  await waitFor(() => measurements.told.some((line) => line.endsWith(': Canceled')), {
    what: 'the call to end',
  });
  await node.dra.release('uid-of-web');
  expect(gpu.calls).toEqual(['NodePrepareResources a', 'NodeUnprepareResources a']);
});

test('after a restart the agent knows which claims may be prepared, and prepares them again before a new sandbox', async () => {
  const gpu = await openDriver(GPU);
  const pod = podUsing('web', 'a');
  claim('a', [GPU], [pod]);
  await prepare(pod);
  const before = kept();
  node.claims.stop();
  node = openNode();
  expect([node.dra.holders, cdiOf(pod)]).toEqual([['uid-of-web'], [cdiIdOf(GPU, { uid: 'uid-a' })]]);
  // It has no sandbox.
  await expect(prepare(pod)).rejects.toThrow(`DRA driver ${GPU} is not registered`);
  registered(GPU);
  await prepare(pod);
  expect([gpu.count('NodePrepareResources'), kept()]).toEqual([2, before]);
  node.dra.start({ pods: () => [RUNNING] });
  await prepare(pod);
  expect(gpu.count('NodePrepareResources')).toBe(2);
  await node.dra.release('uid-of-web');
});

test('another claim of the same name waits until the former claim is unprepared', async () => {
  await openDriver(GPU);
  const [one, two] = [podUsing('one', 'a'), podUsing('two', 'a')];
  claim('a', [GPU], [one, two]);
  await prepare(one);
  objects.set('a', { ...objects.get('a'), metadata: { name: 'a', uid: 'uid-other' } });
  await expect(prepare(two)).rejects.toThrow(
    'old ResourceClaim with same name a and different UID uid-a still exists',
  );
  await node.dra.release('uid-of-one');
  await prepare(two);
  expect(kept()).toMatchObject([{ uid: 'uid-other', pods: ['uid-of-two'] }]);
  await node.dra.release('uid-of-two');
});

test('an agent does not begin with a file that is damaged, and names it', () => {
  const path = join(dir, 'dra_manager_state');
  writeFileSync(path, '{"Data":"{}","Checksum":1}');
  expect(openNode).toThrow(
    `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete the DRA checkpoint file "${path}"`,
  );
  expect(readFileSync(path, 'utf8')).toBe('{"Data":"{}","Checksum":1}');
});
