/** CPUs and memory that are not a container's alone, or too few, are reported. */
import { expect, test } from '@jest/globals';
import { PlacementJudge } from '../../../src/simulation/judges/placement-judge.ts';
import { drawnPlacement, type PlacementPlan } from '../../../src/simulation/placement/placement-plan.ts';
import type { ContainerTruth } from '../../../src/simulation/runtime/witness.ts';
import { milliValue, parseQuantity, quantityValue } from '../../../src/agent/policies/formats/quantity.ts';
import type { LinuxContainerResources } from '../../../src/types/cri.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { container, sandbox } from './lifecycle-judge-bed.ts';

/** Of the machine with two sockets and six CPUs each: 0 to 2 and 6 to 8 are on node 0, CPU 0 is reserved. 1280 MiB for each node. */
const PLAN: PlacementPlan = {
  ...drawnPlacement((key) => (key === 'placement/machine' ? 0.6 : key === 'placement' ? 0 : 0.4))!,
  options: { ...drawnPlacement(() => 0)!.options, 'full-pcpus-only': false },
  policy: 'none',
};

function spec(cpu: string, memory = '512Mi'): PodSpec {
  const amounts = { cpu, memory };
  return {
    containers: [{ name: 'main', image: 'app:1', resources: { requests: amounts, limits: amounts } }],
  };
}

type Specs = Readonly<Record<string, PodSpec>>;

/** As the agent tells the runtime. */
function told({ containers }: PodSpec = { containers: [] }): Partial<LinuxContainerResources> {
  const { cpu = '0', memory = '0' } = containers[0]?.resources?.limits ?? {};
  const milliCPU = Number(milliValue(parseQuantity(cpu)));
  return {
    cpuShares: (milliCPU * 1024) / 1000,
    cpuQuota: milliCPU % 1000 === 0 ? -1 : milliCPU * 100,
    memoryLimitInBytes: Number(quantityValue(parseQuantity(memory))),
  };
}

/** `later`: what the source has asked for since. */
function bed(
  specs: Specs,
  { later = {}, ...more }: Partial<PlacementPlan> & { readonly later?: Specs } = {},
) {
  const violations: string[] = [];
  const running: ContainerTruth[] = [];
  const files = new Map<string, string>();
  const clock = { now: 0 };
  const entries: Record<string, Record<string, object>> = {};
  const write = (file: string, uid: string, content: unknown) => {
    entries[file] = { ...entries[file], [uid]: { main: content } };
    files.set(file, JSON.stringify({ entries: entries[file] }));
  };
  const judge = new PlacementJudge({
    plan: { ...PLAN, ...more },
    specsOf: (uid) => [specs[uid] ?? [], later[uid] ?? []].flat(),
    now: () => clock.now,
    runtime: () => ({
      uids: () => ['one'],
      sandboxesOf: () => [sandbox(true, ...running)],
      inFlight: () => [],
    }),
    textOf: (file) => files.get(file),
    onPinned: () => undefined,
    violated: (uid, what) => violations.push(`${uid}: ${what}`),
  });
  const runs = (
    uid: string,
    cpusetCpus: string,
    cpusetMems = '0',
    { isAwaited = true, isWritten = true } = {},
  ) => {
    if (isWritten)
      for (const file of ['cpu_manager_state', 'memory_manager_state']) write(file, uid, cpusetCpus);
    const made = {
      ...container(`c-${uid}`, { uid }),
      resources: { cpusetCpus, cpusetMems, ...told(specs[uid]) },
    } as ContainerTruth;
    running.push(made);
    judge.started(made, isAwaited);
  };
  return { judge, files, clock, write, runs, reported: () => violations.splice(0) };
}

test('the machine of these tests has two NUMA nodes', () => {
  expect([PLAN.cpus.nodes, PLAN.cpus.cpus.length, PLAN.reserved, PLAN.memory?.size]).toEqual([
    [0, 1],
    12,
    [0],
    2,
  ]);
});

test("CPUs that are too few, reserved, or another container's own", () => {
  const { runs, reported } = bed({ a: spec('2'), b: spec('2'), c: spec('1'), d: spec('1'), e: spec('1') });
  runs('a', '1-2');
  expect(reported()).toEqual([]);
  runs('b', '3');
  runs('c', '0');
  runs('d', '2');
  expect(reported()).toEqual([
    'b: main has 1 CPUs of its own, and asks for 2',
    'c: main has CPU 0, which is reserved',
    'd: main has CPU 2 for itself, as main of a has',
  ]);
});

test('a resize that is not granted leaves a container its CPUs; CPUs that no spec has asked for are reported', () => {
  const { runs, reported } = bed(
    { a: spec('2'), b: spec('500m') },
    { later: { a: spec('750m'), b: spec('1') } },
  );
  runs('a', '1-2');
  runs('b', '3-4');
  expect(reported()).toEqual([]);
  const { runs: runsToo, reported: reportedToo } = bed({ a: spec('2') }, { later: { a: spec('1') } });
  runsToo('a', '1');
  expect(reportedToo()).toEqual(['a: main has 1 CPUs of its own, and asks for 2']);
});

test('one that started when no agent waited for it is not judged', () => {
  const { runs, reported } = bed({ a: spec('1'), b: spec('1') });
  runs('a', '1', '0', { isAwaited: false });
  runs('b', '1');
  expect(reported()).toEqual([]);
});

test('CPUs of two NUMA nodes, with single-numa-node', () => {
  const { runs, reported } = bed({ a: spec('2') }, { policy: 'single-numa-node' });
  runs('a', '1,3');
  expect(reported()).toEqual(['a: main has CPUs of NUMA nodes 0,1']);
});

test('CPUs of two NUMA nodes, with restricted, where one node would have enough', () => {
  const { runs, reported } = bed({ a: spec('2'), b: spec('7') }, { policy: 'restricted' });
  runs('b', '1-2,6-7,4-5,11');
  expect(reported()).toEqual([]);
  runs('a', '8,3');
  expect(reported()).toEqual(['a: main has CPUs of NUMA nodes 1,0']);
});

test('what a container has for itself, and is in no file when it starts', () => {
  const { runs, reported } = bed({ a: spec('1'), b: spec('500m') });
  runs('b', '2-5', '0', { isWritten: false });
  expect(reported()).toEqual([]);
  runs('a', '1', '0', { isWritten: false });
  expect(reported()).toEqual(['a: main runs, and what it has for itself is in no file']);
});

test('a container that shares, and stays on CPUs that another one has by now', () => {
  const { judge, clock, runs, reported } = bed({ a: spec('1'), b: spec('500m') });
  const look = (isAtWork = true) => {
    clock.now += 100_000;
    judge.housekeeping(isAtWork);
    return reported();
  };
  runs('b', '0-5');
  expect([look(), look()]).toEqual([[], []]);
  runs('a', '1');
  expect([look(), look(), look(false), look(), look()]).toEqual([[], [], [], [], []]);
  expect(look()).toEqual(['b: main of b stays on CPUs that another container has']);
});

test('more memory than a NUMA node has, and memory of none', () => {
  const pods = { a: spec('1', '1Gi'), b: spec('1', '1Gi'), c: spec('1', '512Mi'), d: spec('1') };
  const { runs, reported } = bed(pods);
  runs('a', '1', '0');
  runs('b', '2', '0-1');
  expect(reported()).toEqual([]);
  runs('c', '3', '0');
  runs('d', '4', '');
  expect(reported()).toEqual([
    'c: main brings the memory kept on NUMA nodes 0 to 1610612736 of 1342177280',
    'd: main has memory of no NUMA node',
  ]);
});

test('a container that shares, on the CPUs of another one; and pods for which files keep something', () => {
  const { runs, judge, files } = bed({ a: spec('1'), b: spec('500m') });
  runs('a', '1');
  runs('b', '2-5');
  files.clear();
  expect([judge.intruder(), judge.keptFor()]).toEqual([undefined, []]);
  runs('c', '0-5');
  expect(judge.intruder()).toBe('main of c shares CPUs that another container has');
  files.set('cpu_manager_state', '{"entries":{"a":{"main":"1"}}}');
  files.delete('memory_manager_state');
  expect(judge.keptFor()).toEqual(['a']);
});

test('what others may have can be why a pod is refused; on an empty machine hardly anything is', () => {
  const pod = (uid: string, cpu: string) => ({ ...testPod({ uid }), spec: spec(cpu) });
  const { judge } = bed({}, { memory: undefined });
  expect(judge.mayLack(pod('a', '4'), [pod('b', '6')])).toBe(false);
  expect(judge.mayLack(pod('a', '4'), [pod('b', '8')])).toBe(true);
  const { judge: strict } = bed({}, { policy: 'single-numa-node' });
  expect(strict.mayLack(pod('a', '2'), [])).toBe(false);
  expect(strict.mayLack(pod('a', '2'), [pod('b', '1')])).toBe(true);
});
