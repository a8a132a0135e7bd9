import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { deviceList } from '../../../../src/agent/policies/devices/device-list.ts';
import type { PodWait } from '../../../../src/agent/policies/pod/pod-wait.ts';
import { emptyRuntimePodStatus } from '../../../../src/agent/policies/cri/runtime-pod-status.ts';
import { DeviceManager } from '../../../../src/agent/runtime/devices/device-manager.ts';
import { checkpointIn, DevicesFile } from '../../../../src/agent/runtime/devices/devices-file.ts';
import type { DevicePlugin } from '../../../../src/agent/runtime/devices/remote-device-plugin.ts';
import { TopologyManager } from '../../../../src/agent/runtime/topology/topology-manager.ts';
import { unlessAborted } from '../../../../src/system/promises.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testContext } from '../../../support/test-context.ts';

const GPU = 'example.com/gpu';
const NOTHING = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };
const FILE = 'kubelet_internal_checkpoint';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devices-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function bed(more: Partial<DevicePlugin> = {}, ids = ['a', 'b', 'c'], file = checkpointIn(folder)) {
  const context = testContext();
  const devices = new DeviceManager(context, folder, new DevicesFile(file, context.logger));
  const plugin: DevicePlugin = {
    options: { preStartRequired: false, getPreferredAllocationAvailable: more.preferred !== undefined },
    allocate: (given) => Promise.resolve({ ...NOTHING, envs: { IDS: given.join() } }),
    preferred: () => Promise.resolve([]),
    preStartContainer: () => Promise.resolve(),
    ...more,
  };
  devices.connected(GPU, plugin);
  devices.listed(GPU, deviceList(ids.map((ID) => ({ ID, health: 'Healthy' }))).devices);
  const topology = new TopologyManager({
    policy: 'none',
    scope: 'container',
    numa: { ids: [], distances: [] },
    prefersClosest: false,
    providers: [devices],
  });
  const admit = (pod: Pod, signal = new AbortController().signal) => topology.admit(pod, signal);
  return { devices, topology, admit, plugin };
}

function pod(uid: string, count: number, init?: { readonly restartPolicy?: 'Always' }): Pod {
  const container = { image: 'app:1', resources: { limits: { [GPU]: String(count) } } };
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: {
      ...(init && { initContainers: [{ ...container, ...init, name: 'init' }] }),
      containers: [{ ...container, name: 'main' }],
    },
  };
}

const held = (devices: DeviceManager, uid: string, container = 'main') =>
  devices.heldResources(uid, container).flatMap(({ deviceIDs }) => deviceIDs);

test('pods that are admitted at the same time never get the same device, whatever their plugin prefers', async () => {
  const { devices, admit } = bed({ preferred: () => Promise.resolve(['c', 'c', 'x']) });
  const uids = ['p1', 'p2', 'p3', 'p4', 'p5'];
  const answers = await Promise.all(uids.map(async (uid) => admit(pod(uid, 1))));
  expect(answers.filter((answer) => answer === undefined)).toHaveLength(3);
  expect(uids.flatMap((uid) => held(devices, uid)).toSorted()).toEqual(['a', 'b', 'c']);
  expect(answers.at(-1)).toMatchObject({
    reason: 'UnexpectedAdmissionError',
    message: `Allocate failed due to requested number of devices unavailable for ${GPU}. Requested: 1, Available: 0, which is unexpected`,
  });
});

test('a container uses what an init container leaves, and not what a sidecar keeps', async () => {
  const { devices, admit } = bed();
  await admit(pod('once', 1, {}));
  expect(held(devices, 'once')).toEqual(held(devices, 'once', 'init'));
  await admit(pod('side', 1, { restartPolicy: 'Always' }));
  expect([...held(devices, 'side'), ...held(devices, 'side', 'init')].toSorted()).toEqual(['b', 'c']);
});

test('a container that is to reuse devices of an init container does so also if the plugin prefers others for that one', async () => {
  const asked = Promise.withResolvers<undefined>();
  const allocate = (_: readonly string[], signal: AbortSignal) => {
    asked.resolve(undefined);
    return unlessAborted(new Promise<never>(() => undefined), signal);
  };
  const { devices, admit } = bed({ allocate, preferred: () => Promise.resolve(['c']) });
  const stop = new AbortController();
  const waiting = admit(pod('p1', 1, {}), stop.signal);
  await asked.promise;
  expect(devices.heldCounts().get(GPU)).toBe(1);
  stop.abort(new Error('deleted'));
  await waiting;
});

test('a pod that is withdrawn while its plugin hangs, or after its plugin has refused, leaves its devices to others', async () => {
  const asked = Promise.withResolvers<undefined>();
  const answers = [
    (signal: AbortSignal) => {
      asked.resolve(undefined);
      return unlessAborted(new Promise<never>(() => undefined), signal);
    },
    () => Promise.reject(new Error('on fire')),
    () => Promise.resolve(NOTHING),
  ];
  const { devices, topology, admit } = bed(
    { allocate: (_, signal) => answers.shift()?.(signal) ?? Promise.reject(new Error('no more')) },
    ['a'],
  );
  const stop = new AbortController();
  const hung = admit(pod('hung', 1), stop.signal);
  await asked.promise;
  expect(devices.waits.waitOf('hung')).toMatchObject({ resource: GPU, call: 'Allocate' });
  expect(devices.waits.waitOf('next')).toBeUndefined();
  // Nobody is told of what a plugin has not granted.
  expect(held(devices, 'hung')).toEqual([]);
  stop.abort(new Error('deleted'));
  await hung;
  topology.withdraw('hung');
  expect(devices.waits.waitOf('hung')).toBeUndefined();
  expect(await admit(pod('refused', 1))).toMatchObject({
    message: 'Allocate failed due to on fire, which is unexpected',
  });
  topology.withdraw('refused');
  expect(await admit(pod('next', 1))).toBeUndefined();
  expect(held(devices, 'next')).toEqual(['a']);
});

test('a pod that is withdrawn while its plugin hangs gets another device at its next try', async () => {
  const asked = Promise.withResolvers<undefined>();
  const answers = [
    (signal: AbortSignal) => {
      asked.resolve(undefined);
      return unlessAborted(new Promise<never>(() => undefined), signal);
    },
    () => Promise.resolve(NOTHING),
  ];
  const { devices, topology, admit } = bed({ allocate: (_, signal) => answers.shift()!(signal) }, ['a']);
  const stop = new AbortController();
  const hung = admit(pod('p1', 1), stop.signal);
  await asked.promise;
  devices.listed(GPU, deviceList([{ ID: 'b', health: 'Healthy' }]).devices);
  stop.abort(new Error('the runtime is not ready'));
  topology.withdraw('p1');
  expect(await admit(pod('p1', 1))).toBeUndefined();
  await hung;
  expect(held(devices, 'p1')).toEqual(['b']);
});

test('pods hear when the health of their devices changes, also by a plugin that replaces another and lists others', async () => {
  const { devices, admit, plugin } = bed();
  for (const uid of ['p1', 'p2']) await admit(pod(uid, 1));
  const [first = '', second = ''] = ['p1', 'p2'].flatMap((uid) => held(devices, uid));
  const heard: (readonly string[])[] = [];
  devices.healthChanges.subscribe((uids) => heard.push(uids));
  const list = (...healthy: string[]) =>
    devices.listed(GPU, deviceList(healthy.map((ID) => ({ ID, health: 'Healthy' }))).devices);
  list(first, second);
  devices.connected(GPU, plugin);
  expect(heard).toEqual([]);
  list(second);
  expect(heard).toEqual([['p1']]);
  devices.connected(GPU, plugin);
  devices.gone(GPU);
  devices.gone(GPU);
  expect(heard).toEqual([['p1'], ['p1', 'p2']]);
  list(first, second);
  expect(heard).toEqual([['p1'], ['p1', 'p2'], ['p1', 'p2']]);
});

test('a container that starts waits for PreStartContainer of its plugin, and for nothing afterwards; both are reported at once', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const options = { preStartRequired: true, getPreferredAllocationAvailable: false };
  const { devices, admit } = bed({ options, preStartContainer: () => promise });
  const starting = pod('p1', 1);
  await admit(starting);
  const told: (PodWait | undefined)[] = [];
  devices.waits.waitChanges.subscribe(([uid = '']) => told.push(devices.waits.waitOf(uid)));
  const started = devices.additions(starting, starting.spec.containers[0]!);
  const wait = expect.objectContaining({ resource: GPU, call: 'PreStartContainer' }) as unknown;
  expect(told).toEqual([wait]);
  resolve(undefined);
  await started;
  expect(told).toEqual([wait, undefined]);
});

test('a container that starts again keeps its devices, and its plugin is called only to prepare them', async () => {
  const asked: string[] = [];
  const { devices, admit } = bed({
    options: { preStartRequired: true, getPreferredAllocationAvailable: false },
    allocate: (ids) => {
      asked.push(`Allocate ${ids.join()}`);
      return Promise.resolve({ ...NOTHING, envs: { IDS: ids.join() } });
    },
    preStartContainer: (ids) => {
      asked.push(`PreStartContainer ${ids.join()}`);
      return Promise.resolve();
    },
  });
  const restarting = pod('p1', 1);
  await admit(restarting);
  const start = () => devices.additions(restarting, restarting.spec.containers[0]!);
  expect(await start()).toEqual(await start());
  expect(asked).toEqual(['Allocate a', 'PreStartContainer a', 'PreStartContainer a']);
});

test('the next agent does not reject a pod with running containers though its plugin has not come back; it rejects a pod without any', async () => {
  const first = bed();
  for (const uid of ['runs', 'rebooted']) await first.admit(pod(uid, 1));
  await first.devices.stop();
  const { devices, admit } = bed();
  const sandbox = { id: 's1', ready: true, attempt: 0, createdAt: 0, networkMode: 'POD' };
  const reference = { uid: 'runs', name: 'runs', namespace: 'default' };
  devices.start({
    pods: () => [{ ...emptyRuntimePodStatus(reference, 0), sandboxes: [sandbox] }],
    isPodTerminated: () => true,
  });
  devices.gone(GPU);
  expect(await admit(pod('runs', 1))).toBeUndefined();
  expect(held(devices, 'runs')).toEqual(held(first.devices, 'runs'));
  expect(await admit(pod('rebooted', 1))).toMatchObject({
    message: `Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${GPU}, which is unexpected`,
  });
});

test('a container whose record was lost gets devices when it is created, also if its plugin has failed it before', async () => {
  const answers = [
    Promise.reject(new Error('on fire')),
    Promise.resolve({ ...NOTHING, envs: { IDS: 'yes' } }),
  ];
  answers[0]?.catch(() => undefined);
  const { devices } = bed({ allocate: () => answers.shift() ?? Promise.reject(new Error('no more')) });
  const lost = pod('lost', 1);
  const create = () => devices.additions(lost, lost.spec.containers[0]!);
  await expect(create()).rejects.toThrow('on fire');
  expect(devices.holds('lost')).toBe(false);
  expect(await create()).toMatchObject({ envs: [{ key: 'IDS', value: 'yes' }] });
});

test('devices of a pod that ended while no agent ran are free for the next pod, those of one that runs are not', async () => {
  const first = bed();
  for (const uid of ['ended', 'stays']) await first.admit(pod(uid, 1));
  await first.devices.stop();
  const { devices, admit } = bed({}, ['a', 'b']);
  devices.start({ pods: () => [], isPodTerminated: (uid) => uid === 'ended' });
  expect(await admit(pod('next', 1))).toBeUndefined();
  expect(devices.holders.toSorted()).toEqual(['next', 'stays']);
  expect(held(devices, 'next')).toEqual(held(first.devices, 'ended'));
  expect(await admit(pod('last', 1))).toMatchObject({ reason: 'UnexpectedAdmissionError' });
});

test('the next agent knows which container has which device, and gives none of them to another', async () => {
  const first = bed();
  await first.admit(pod('p1', 2));
  await first.devices.stop();
  const next = bed();
  expect([first.devices.hadCheckpoint, next.devices.hadCheckpoint]).toEqual([false, true]);
  expect(next.devices.holders).toEqual(['p1']);
  expect(held(next.devices, 'p1')).toEqual(held(first.devices, 'p1'));
  expect(await next.admit(pod('p2', 1))).toBeUndefined();
  expect([...held(next.devices, 'p1'), ...held(next.devices, 'p2')].toSorted()).toEqual(['a', 'b', 'c']);
  expect(await next.devices.additions(pod('p1', 2), pod('p1', 2).spec.containers[0]!)).toMatchObject({
    envs: [{ key: 'IDS', value: held(first.devices, 'p1').join() }],
    annotations: { 'statelet.dev/devices': JSON.stringify({ [GPU]: held(first.devices, 'p1').toSorted() }) },
  });
  await next.topology.release('p1');
  expect(JSON.parse(readFileSync(join(folder, FILE), 'utf8'))).toMatchObject({
    Data: { PodDeviceEntries: [{ PodUID: 'p2' }] },
  });
});

test('a record of a pod that could not be written is written before the pod is admitted, starts a container, or is released', async () => {
  const file = checkpointIn(folder);
  let isFull = true;
  const replace = (text: string) =>
    isFull ? Promise.reject(new Error('no space left')) : file.replace(text);
  const { devices, topology, admit } = bed({}, ['a'], { ...file, replace });
  const written = () => checkpointIn(folder).read() ?? '';
  expect(await admit(pod('p1', 1))).toMatchObject({ message: expect.stringContaining('no space left') });
  const [main] = pod('p1', 1).spec.containers;
  await expect(devices.additions(pod('p1', 1), main!)).rejects.toThrow('no space left');
  isFull = false;
  expect(await admit(pod('p1', 1))).toBeUndefined();
  expect(written()).toContain('"PodUID":"p1"');
  isFull = true;
  await expect(topology.release('p1')).rejects.toThrow('no space left');
  isFull = false;
  await topology.release('p1');
  expect(written()).not.toContain('"PodUID":"p1"');
});

test('a checkpoint that cannot be read is reported, and counts as empty', async () => {
  writeFileSync(join(folder, FILE), '{"Data":');
  const { devices, admit } = bed();
  expect(devices.holders).toEqual([]);
  expect(await admit(pod('p1', 1))).toBeUndefined();
  await devices.stop();
});

test('the topology manager knows the NUMA nodes of the machine: a device that is only near to others is refused', async () => {
  const { devices } = bed();
  expect(devices.healthyResources()).toEqual([{ resourceName: GPU, deviceIDs: ['a', 'b', 'c'] }]);
  const near = (ID: string, node: number) => ({ ID, health: 'Healthy', topology: { nodes: [{ ID: node }] } });
  devices.listed(GPU, deviceList([near('a', 0), near('b', 5)]).devices);
  const topology = new TopologyManager({
    policy: 'restricted',
    scope: 'container',
    numa: { ids: [0, 1], distances: [] },
    prefersClosest: false,
    providers: [devices],
  });
  const { signal } = new AbortController();
  expect(await topology.admit(pod('p1', 1), signal)).toBeUndefined();
  expect(devices.heldResources('p1', 'main')).toEqual([
    { resourceName: GPU, deviceIDs: ['a'], numaNodes: [0] },
  ]);
  expect(await topology.admit(pod('p2', 1), signal)).toMatchObject({ reason: 'TopologyAffinityError' });
});
