import { expect, test } from '@jest/globals';
import { HollowUse } from '../../../src/hollow/node/hollow-use.ts';
import type { SimulatedStorage } from '../../../src/simulation/resources/simulated-storage.ts';
import type { ContainerTruth, SandboxTruth } from '../../../src/simulation/runtime/witness.ts';

const NS_PER_S = 1e9;

function node(storage?: SimulatedStorage) {
  const state = { nowMs: 0, containers: [] as ContainerTruth[] };
  const sandbox = () =>
    ({
      uid: 'u1',
      metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
      createdAt: 0,
      ready: true,
      containers: state.containers,
    }) as unknown as SandboxTruth;
  const use = new HollowUse({
    nodeName: 'hollow-1',
    runtime: { uids: () => ['u1'], sandboxesOf: () => [sandbox()] },
    resources: { memory: undefined, storage },
    cpuShares: [0.5],
    random: () => 0,
    specOf: () => ({
      containers: [{ name: 'main', resources: { requests: { cpu: '400m' } } }, { name: 'side' }],
    }),
    now: () => state.nowMs,
  });
  return { use, state };
}

const running = (name: string) =>
  ({
    id: name,
    uid: 'u1',
    metadata: { name },
    state: 'CONTAINER_RUNNING',
    startedAt: 0,
  }) as unknown as ContainerTruth;

test('a container uses its share of the CPU that it requests, from its start on', () => {
  const { use, state } = node();
  state.containers = [running('main'), running('side')];
  state.nowMs = 10_000;
  const [pod] = use.summary().pods;
  expect(pod?.podRef).toEqual({ name: 'web', namespace: 'shop', uid: 'u1' });
  expect(pod?.containers?.map(({ name, cpu }) => [name, cpu?.usageCoreNanoSeconds])).toEqual([
    ['main', 2 * NS_PER_S],
    // One that requests none counts as one that requests 10m.
    ['side', 0.05 * NS_PER_S],
  ]);
  expect(pod?.cpu?.usageNanoCores).toBe(205e6);
});

test('the CPU time of the node keeps that of containers that have ended', () => {
  const { use, state } = node();
  const main = running('main');
  state.containers = [main];
  state.nowMs = 10_000;
  const before = use.summary().node.cpu?.usageCoreNanoSeconds ?? NaN;
  use.ended(main);
  state.containers = [];
  const { node: after, pods } = use.summary();
  expect([after.cpu?.usageCoreNanoSeconds, pods[0]?.containers]).toEqual([before, []]);
});

test('the disk has the figures of the node, its pods and their containers', () => {
  const used = (bytes: number) => ({ bytes, inodes: bytes / 10 });
  const { use, state } = node({
    sizes: {
      nodeFs: used(1000),
      imageFs: used(1000),
      layout: { dedicatedImageFs: false, splitContainerFs: false },
    },
    left: () => new Map([['nodefs.available', 400]]),
    ofPod: () => ({
      atMs: 0,
      containers: [{ name: 'main', layer: used(20), logs: used(10) }],
      volumes: new Map([['scratch', used(50)]]),
      whole: used(80),
    }),
  } as unknown as SimulatedStorage);
  state.containers = [running('main')];
  const { node: whole, pods } = use.summary();
  expect(whole.fs).toMatchObject({ capacityBytes: 1000, availableBytes: 400 });
  expect(whole.runtime?.imageFs).toMatchObject({ capacityBytes: 1000 });
  expect(pods).toMatchObject([
    {
      containers: [{ name: 'main', rootfs: { usedBytes: 20, inodesUsed: 2 }, logs: { usedBytes: 10 } }],
      volume: [{ name: 'scratch', usedBytes: 50 }],
      'ephemeral-storage': { usedBytes: 80 },
    },
  ]);
  expect(pods[0]?.containers?.[0]?.cpu).toBeDefined();
});
