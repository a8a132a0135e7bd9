import { expect, test } from '@jest/globals';
import { evictionHardOf, evictionOf, hollowResources } from '../../../src/hollow/node/hollow-resources.ts';
import { DEFAULT_PLAN } from '../../../src/hollow/plan/hollow-plan.ts';
import type { ContainerTruth, SandboxTruth } from '../../../src/simulation/runtime/witness.ts';

const MI = 2 ** 20;
const GI = 2 ** 30;
const MINUTE_MS = 60_000;

test('a node has the default thresholds of the kubelet', () => {
  expect(
    evictionOf(DEFAULT_PLAN)
      .thresholds.map(({ signal }) => signal)
      .toSorted(),
  ).toEqual([
    'imagefs.available',
    'imagefs.inodesFree',
    'memory.available',
    'nodefs.available',
    'nodefs.inodesFree',
  ]);
});

test('a node without a disk is never short of one', () => {
  const capacity = { memory: '1Gi', 'ephemeral-storage': '0' };
  expect(evictionHardOf({ capacity })).toEqual({ 'memory.available': '100Mi' });
  const node = running({ ...DEFAULT_PLAN, capacity });
  expect([...node.resources.left().keys()]).toEqual(['memory.available']);
});

/** A container that requests 1 Gi of storage, with a volume of 2 Gi, and another one in memory. */
function running(plan = DEFAULT_PLAN) {
  const state = { nowMs: 0 };
  const container = {
    id: 'c1',
    uid: 'u1',
    metadata: { name: 'main', attempt: 0 },
    state: 'CONTAINER_RUNNING',
    startedAt: 1,
    finishedAt: 0,
  } as unknown as ContainerTruth;
  const sandbox = { uid: 'u1', ready: true, containers: [container] } as unknown as SandboxTruth;
  const mounted = { mounted: true, mountedAt: 0, instances: new Map(), known: new Map(), volumes: new Map() };
  const resources = hollowResources(plan, {
    runtime: {
      uids: () => ['u1'],
      sandboxesOf: () => [sandbox],
      images: () => [{ id: 'web', size: 3 * GI }],
    },
    // The first share of each list; whoever may grow does, by half of the most.
    random: (key) => (key.endsWith('leak') ? 0.5 : 0),
    now: () => state.nowMs,
    disk: new Map([['u1', mounted]]),
    specOf: () => ({
      containers: [{ name: 'main', resources: { requests: { 'ephemeral-storage': '1Gi' } } }],
      volumes: [
        { name: 'scratch', emptyDir: { sizeLimit: '2Gi' } },
        { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '4Gi' } },
      ],
    }),
  });
  const used = () => ({
    pod: resources.storage?.ofPod('u1').whole.bytes,
    left: resources.left().get('nodefs.available'),
  });
  return { resources, state, used };
}

test('containers write the share of their request that the plan says, and images take room too', () => {
  const { used } = running({ ...DEFAULT_PLAN, disk: { uses: [0.5], growing: 0, bytesPerSecond: MI } });
  const logs = Math.round(0.01 * GI);
  expect(used()).toEqual({ pod: 1.5 * GI + logs, left: 100 * GI - 3 * GI - 1.5 * GI - logs });
});

test('what grows by plan grows for five minutes', () => {
  const { used, state } = running({
    ...DEFAULT_PLAN,
    disk: { uses: [0], growing: 1, bytesPerSecond: 2 * MI },
  });
  const logs = Math.round(0.01 * GI);
  // The layer and the volume each grow by 1 Mi a second.
  state.nowMs = MINUTE_MS + 1;
  expect(used().pod).toBe(logs + Math.round(60 * MI) + Math.round((MI / 1000) * (MINUTE_MS + 1)));
  state.nowMs = 60 * MINUTE_MS;
  expect(used().pod).toBe(logs + 2 * 300 * MI);
});
