import { expect, test } from '@jest/globals';
import { hollowGroups } from '../../../src/hollow/node/hollow-groups.ts';
import type { ContainerTruth, SandboxTruth } from '../../../src/simulation/runtime/witness.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';

const NOW = 1_795_362_029_694;
const START = '2026-11-29T14:00:00.000Z';
const RESOURCES = {
  cpuPeriod: 100_000,
  cpuQuota: -1,
  cpuShares: 409,
  memoryLimitInBytes: 2 ** 28,
  oomScoreAdj: 0,
};
const SPEC: PodSpec = { containers: [{ name: 'main', resources: { requests: { cpu: '400m' } } }] };

const figures = (seconds: number, bytes: number) => ({
  startTime: START,
  cpu: { usageCoreNanoSeconds: seconds * 1e9 },
  memory: { usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes },
});

const container = (id: string, state: string) =>
  ({
    id,
    uid: 'u1',
    metadata: { name: 'main' },
    image: 'web:1',
    resources: RESOURCES,
    state,
  }) as unknown as ContainerTruth;

function groups(specOf: (uid: string) => PodSpec | undefined = () => SPEC) {
  // The container has been restarted once.
  const containers = [container('c0', 'CONTAINER_EXITED'), container('c1', 'CONTAINER_RUNNING')];
  const podRef = { name: 'web', namespace: 'shop', uid: 'u1' };
  return hollowGroups({
    summary: {
      node: { nodeName: 'hollow-1', ...figures(100, 5000) },
      pods: [{ podRef, ...figures(7, 300), containers: [{ name: 'main', ...figures(7, 300) }] }],
    },
    runtime: {
      uids: () => ['u1'],
      sandboxesOf: () => [{ uid: 'u1', containers } as unknown as SandboxTruth],
    },
    specOf,
    nowMs: NOW,
  });
}

test('the machine, all pods, a pod and its running container have their figures', () => {
  expect(groups().map(({ id, cpu, memory }) => [id, cpu?.usageSeconds, memory?.workingSet])).toEqual([
    ['/', 100, 5000],
    ['/kubepods', 7, 300],
    ['/kubepods/burstable/podu1', 7, 300],
    ['/kubepods/burstable/podu1/c1', 7, 300],
  ]);
});

test('a container has the names and the limits that queries select by', () => {
  expect(groups().at(-1)).toMatchObject({
    name: 'c1',
    image: 'web:1',
    namespace: 'shop',
    pod: 'web',
    container: 'main',
    timeMs: NOW,
    startedAtMs: Date.parse(START),
    limits: { cpuPeriod: 100_000, cpuQuota: undefined, cpuShares: 409, memory: 2 ** 28 },
  });
});

test('a pod that the agent has forgotten counts only in that of all pods', () => {
  expect(groups(() => undefined).map(({ id }) => id)).toEqual(['/', '/kubepods']);
});
