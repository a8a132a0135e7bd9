import { expect, test } from '@jest/globals';
import { HollowUse } from '../../../src/hollow/node/hollow-use.ts';
import type { ContainerTruth, SandboxTruth } from '../../../src/simulation/runtime/witness.ts';

const NS_PER_S = 1e9;

function node() {
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
    memory: undefined,
    capacityBytes: 2 ** 30,
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
