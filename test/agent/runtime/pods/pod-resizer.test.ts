import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import {
  type CgroupResources,
  podCgroupResources,
} from '../../../../src/agent/policies/cgroups/cgroup-resources.ts';
import { podAsAllocated, allocationFromPod } from '../../../../src/agent/policies/resize/allocation.ts';
import { actuatedOf, computeResizeActions } from '../../../../src/agent/policies/resize/resize-actions.ts';
import { PodResizer, type PodResizerParts } from '../../../../src/agent/runtime/pods/pod-resizer.ts';
import type { Pod, ResourceRequirements } from '../../../../src/types/kubernetes.ts';
import type { KnownContainer, RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';

const MIB = 1024 ** 2;
const SETTINGS = { podPidsLimit: -1, cpuCFSQuota: true, cpuCFSQuotaPeriodUs: 100_000 };
const FACTS = {
  ...SETTINGS,
  cgroupVersion: 1,
  hugePageSizes: [],
  swapController: false,
  memoryCapacityBytes: 1024 * MIB,
  swapCapacityBytes: 0,
} as const;

type Resources = Readonly<Record<string, ResourceRequirements>>;

const of = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});

function podOf(containers: Resources, pod?: ResourceRequirements): Pod {
  return {
    metadata: { name: 'pod', namespace: 'default', uid: 'uid' },
    spec: {
      resources: pod,
      containers: Object.entries(containers).map(([name, resources]) => ({ name, resources })),
    },
  };
}

type Managers = Pick<PodResizerParts, 'cpus' | 'hasOwnMemory'>;

/** A pod that runs with one set of resources and is to have another. The calls are written down in their order. */
function bed(
  before: Pod,
  after: Pod,
  {
    used = 0,
    fails,
    isUncertain,
    ...managers
  }: { used?: number; fails?: string; isUncertain?: true } & Managers = {},
) {
  const calls: string[] = [];
  const noted: [string, KnownContainer][] = [];
  /** How many calls there were before each note. */
  const notedAt: number[] = [];
  const given = allocationFromPod(before);
  const statusWith = (known: ReadonlyMap<string, KnownContainer>) =>
    ({
      uid: 'uid',
      containers: after.spec.containers.map(({ name }) => ({
        id: `id-${name}`,
        name,
        state: 'running',
        given: { container: given.containers[name], pod: given.pod, isUncertain },
        ...known.get(`id-${name}`),
      })),
    }) as unknown as RuntimePodStatus;
  const call = (text: string) => {
    calls.push(text);
    return fails !== undefined && text.startsWith(fails)
      ? Promise.reject(new Error('no'))
      : Promise.resolve();
  };
  const resizer = new PodResizer({
    ...managers,
    facts: FACTS,
    known: {
      allocation: () => undefined,
      allocate: () => Promise.resolve(),
      written: () => Promise.resolve(),
      note: async (_uid, id, known) => {
        // A disk that takes its time.
        await setImmediate();
        noted.push([id, known]);
        notedAt.push(calls.length);
      },
    },
    runtime: {
      updateContainerResources: (id, { cpuShares, cpuQuota, memoryLimitInBytes }) =>
        call(`${id} ${cpuShares} ${cpuQuota} ${memoryLimitInBytes / MIB}Mi`),
      updatePodSandboxResources: (id, { resources }) =>
        call(`told ${id} ${resources.cpuQuota} ${(resources.memoryLimitInBytes ?? 0) / MIB}Mi`),
    },
    cgroups: {
      resourcesOf: (pod) => podCgroupResources(pod, SETTINGS),
      resize: (_pod, { memoryLimitBytes, cpuShares, cpuQuotaUs }: CgroupResources) =>
        call(
          `pod ${[memoryLimitBytes && `${Number(memoryLimitBytes) / MIB}Mi`, cpuShares && `shares ${cpuShares}`, cpuQuotaUs && `quota ${cpuQuotaUs}`].filter(Boolean).join(' ')}`,
        ),
      memoryUsage: () => used,
    },
  });
  const resize = (signal = new AbortController().signal, known = new Map<string, KnownContainer>()) => {
    const podStatus = statusWith(known);
    const actuated = actuatedOf(after, podStatus) ?? allocationFromPod(after);
    const actions = computeResizeActions(after, podStatus, actuated);
    return resizer.resize(
      { pod: podAsAllocated(after, undefined), podStatus, sandboxId: 'box', actions },
      signal,
    );
  };
  return { resize, calls, noted, notedAt, refusal: resizer.refusal(after, before) };
}

const writes = (calls: readonly string[]) => calls.filter((text) => !text.startsWith('told'));

test('the pod gets more before its containers do, memory before CPU; a container gets both by one call', async () => {
  const { resize, calls } = bed(podOf({ a: of('100m', '32Mi') }), podOf({ a: of('200m', '64Mi') }));
  expect(await resize()).toBeUndefined();
  expect(calls).toEqual([
    // The runtime is told before each write of the pod's cgroup.
    'told box 10000 64Mi',
    'pod 64Mi',
    'told box 20000 64Mi',
    'pod quota 20000',
    'told box 20000 64Mi',
    'pod shares 204',
    'id-a 204 20000 64Mi',
  ]);
});

test('the pod gets less after its containers', async () => {
  const { resize, calls } = bed(podOf({ a: of('200m', '64Mi') }), podOf({ a: of('100m', '32Mi') }));
  expect(await resize()).toBeUndefined();
  expect(writes(calls)).toEqual(['id-a 102 10000 32Mi', 'pod 32Mi', 'pod shares 102', 'pod quota 10000']);
});

test('with more memory and less CPU, the memory of the pod changes before that of its container, and the CPU after it', async () => {
  const { resize, calls } = bed(podOf({ a: of('200m', '32Mi') }), podOf({ a: of('100m', '64Mi') }));
  expect(await resize()).toBeUndefined();
  expect(writes(calls)).toEqual(['pod 64Mi', 'id-a 102 10000 64Mi', 'pod shares 102', 'pod quota 10000']);
});

test('a container gives back before another one gets it', async () => {
  const before = podOf({ a: of('100m', '32Mi'), b: of('200m', '64Mi') });
  const after = podOf({ a: of('200m', '64Mi'), b: of('100m', '32Mi') });
  const { resize, calls } = bed(before, after);
  expect(await resize()).toBeUndefined();
  expect(writes(calls)).toEqual(['id-b 102 10000 32Mi', 'id-a 204 20000 64Mi']);
});

test('if one container gives memory for CPU and another CPU for memory, memory is changed first, and then CPU', async () => {
  const before = podOf({ a: of('100m', '64Mi'), b: of('200m', '32Mi') });
  const after = podOf({ a: of('200m', '32Mi'), b: of('100m', '64Mi') });
  const { resize, calls } = bed(before, after);
  expect(await resize()).toBeUndefined();
  expect(writes(calls)).toEqual([
    'id-a 102 10000 32Mi',
    'id-b 204 20000 64Mi',
    'id-b 102 10000 64Mi',
    'id-a 204 20000 32Mi',
  ]);
});

test('what each call has changed is remembered, also when a later one fails; the next try sends memory to that one first', async () => {
  const podWith = (resources: ResourceRequirements) => podOf({ a: resources, b: resources });
  const [before, after] = [of('100m', '32Mi'), of('200m', '64Mi')];
  const { resize, noted, calls } = bed(podWith(before), podWith(after), { fails: 'id-b 204' });
  expect(await resize()).toBe('no');
  expect(new Map(noted)).toEqual(
    new Map([
      ['id-a', { given: { container: after } }],
      ['id-b', { given: { container: before, isUncertain: true } }],
    ]),
  );
  const told = calls.length;
  expect(await resize(undefined, new Map(noted))).toBe('no');
  expect(writes(calls.slice(told))).toEqual([
    'pod 128Mi',
    'id-b 102 10000 64Mi',
    'pod 128Mi',
    'pod quota 40000',
    'pod shares 409',
    'id-b 204 20000 64Mi',
  ]);
});

test('CPU that the pod does not get keeps no container from its memory', async () => {
  const { resize, calls } = bed(podOf({ a: of('100m', '32Mi') }), podOf({ a: of('200m', '64Mi') }), {
    fails: 'told box 20000',
  });
  expect(await resize()).toBe(
    'failed to notify runtime for UpdatePodSandboxResources (resource=cpu); resize rejected: no',
  );
  expect(writes(calls)).toEqual(['pod 64Mi', 'id-a 102 10000 64Mi']);
});

test('a change is recorded before the first write, and recorded as done when all calls are done', async () => {
  const { resize, noted, calls, notedAt } = bed(
    podOf({ a: of('100m', '32Mi'), b: of('1', '32Mi') }),
    podOf({ a: of('200m', '32Mi'), b: of('1', '32Mi') }),
  );
  expect(await resize()).toBeUndefined();
  expect(noted.map(([id, { given }]) => [id, given?.isUncertain])).toEqual([
    ['id-a', true],
    ['id-a', true],
    ['id-a', undefined],
  ]);
  expect(writes(calls.slice(0, notedAt[0]))).toEqual([]);
});

test('where the runtime refuses before anything is changed, nothing is uncertain', async () => {
  const { resize, noted } = bed(podOf({ a: of('1', '32Mi') }), podOf({ a: of('2', '32Mi') }), {
    fails: 'told',
  });
  await resize();
  expect(noted.map(([, { given }]) => given?.isUncertain)).toEqual([true, undefined]);
});

test('values that a failed call may have changed are sent again, also if the pod gets its former values back', async () => {
  const pod = podOf({ a: of('100m', '32Mi') });
  const { resize, calls, noted } = bed(pod, pod, { isUncertain: true });
  expect(await resize()).toBeUndefined();
  expect(writes(calls)).toEqual([
    'id-a 102 10000 32Mi',
    'pod 32Mi',
    'id-a 102 10000 32Mi',
    'pod shares 102',
    'pod quota 10000',
  ]);
  expect(noted.map(([, { given }]) => given?.isUncertain)).toEqual([undefined]);
  const certain = bed(pod, pod);
  await certain.resize();
  expect(certain.calls).toEqual([]);
});

test('after a failed call it is certain what the other containers have, but for what was not certain before', async () => {
  const names = ['a', 'b', 'c'];
  const podWith = (resources: ResourceRequirements) =>
    podOf(Object.fromEntries(names.map((name) => [name, resources])));
  const failing = (isUncertain?: true) =>
    bed(podWith(of('100m', '32Mi')), podWith(of('200m', '32Mi')), { fails: 'id-b', isUncertain });
  const uncertain = ({ noted }: ReturnType<typeof bed>) => {
    const last = new Map(noted);
    return names.filter((name) => last.get(`id-${name}`)?.given?.isUncertain);
  };
  const first = failing();
  expect(await first.resize()).toBe('no');
  expect(uncertain(first)).toEqual(['b']);
  const again = failing(true);
  expect(await again.resize()).toBe('no');
  expect(again.noted.filter(([, { given }]) => given?.isUncertain !== true)).toEqual([]);
});

test('a container with CPUs of its own gets no quota when its memory is resized', async () => {
  const cpus = { exclusive: (_: string, name: string) => (name === 'a' ? [1] : []) };
  const [before, after] = [of('1', '32Mi'), of('1', '64Mi')];
  const { resize, calls } = bed(podOf({ a: before, b: before }), podOf({ a: after, b: after }), { cpus });
  expect(await resize()).toBeUndefined();
  expect(writes(calls).slice(1)).toEqual(['id-a 1024 0 64Mi', 'id-b 1024 100000 64Mi']);
});

test('a runtime that refuses ends the resize before the cgroup is written', async () => {
  const { resize, calls } = bed(podOf({ a: of('1', '32Mi') }), podOf({ a: of('1', '64Mi') }), {
    fails: 'told',
  });
  expect(await resize()).toBe(
    'failed to notify runtime for UpdatePodSandboxResources (resource=memory); resize rejected: no',
  );
  expect(writes(calls)).toEqual([]);
});

test('if the cgroup cannot be written, the runtime gets the former values', async () => {
  const { resize, calls } = bed(podOf({ a: of('1', '32Mi') }), podOf({ a: of('1', '64Mi') }), {
    fails: 'pod',
  });
  expect(await resize()).toBe('no');
  expect(calls).toEqual(['told box 100000 64Mi', 'pod 64Mi', 'told box 100000 32Mi']);
});

test('a memory limit that is not above what is used is refused with the figures, and nothing is changed', async () => {
  const before = podOf({ a: of('1', '64Mi') });
  const { resize, calls } = bed(before, podOf({ a: of('1', '32Mi') }), { used: 32 * MIB });
  const below = (what: string) =>
    `attempting to set ${what} memory limit (33554432) below current usage (33554432)`;
  expect(await resize()).toBe(`cannot decrease memory limits: [${below('pod')}, ${below('container "a"')}]`);
  expect(calls).toEqual([]);
});

test('a resize that is aborted ends between two calls', async () => {
  const given = new AbortController();
  const { resize, calls } = bed(podOf({ a: of('1', '32Mi') }), podOf({ a: of('2', '32Mi') }));
  given.abort(new Error('the pod ends'));
  await expect(resize(given.signal)).rejects.toThrow('the pod ends');
  expect(calls.filter((text) => text.startsWith('id-'))).toEqual([]);
});

test('limits of the pod alone change for its containers, and are remembered with each', async () => {
  const pod = (cpu: string) => podOf({ a: {}, b: {} }, { limits: { cpu }, requests: { cpu } });
  const { resize, calls, noted } = bed(pod('1'), pod('2'));
  expect(await resize()).toBeUndefined();
  expect(writes(calls)).toEqual([
    'pod quota 200000',
    'pod shares 2048',
    'id-a 2048 200000 0Mi',
    'id-b 2048 200000 0Mi',
  ]);
  expect(noted.at(-1)).toEqual([
    'id-b',
    { given: { container: {}, pod: { limits: { cpu: '2' }, requests: { cpu: '2' } } } },
  ]);
});

test.each([
  [
    'CPU beside the static CPU manager',
    of('2', '32Mi'),
    { cpus: { exclusive: () => [] } },
    'CPU Manager policy "static"',
    'guaranteed_pod_cpu_manager_static_policy',
  ],
  [
    'memory beside the memory manager',
    of('1', '64Mi'),
    { hasOwnMemory: true },
    'Memory Manager policy "Static"',
    'guaranteed_pod_memory_manager_static_policy',
  ],
])('a Guaranteed pod keeps its %s', (_, resources, managers, whose, detail) => {
  const refusal = (more: Managers) =>
    bed(podOf({ a: of('1', '32Mi') }), podOf({ a: resources }), more).refusal;
  expect(refusal(managers)).toEqual({
    detail,
    message: `Resize is infeasible for Guaranteed Pods alongside ${whose}`,
  });
  expect(refusal({})).toBeUndefined();
});
