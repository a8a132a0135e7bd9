/** Devices that a container must not have, or does not have, are reported. */
import { expect, test } from '@jest/globals';
import { DevicesJudge, podsIn } from '../../../src/simulation/judges/devices-judge.ts';
import type { ContainerTruth } from '../../../src/simulation/runtime/witness.ts';
import type { PodStatus } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { container, sandbox } from './lifecycle-judge-bed.ts';

const GPU = 'example.com/gpu';
const healthy = (...ids: string[]) => ids.map((ID) => ({ ID, health: 'Healthy' }));
const envs = (...ids: string[]) => [{ key: `DEVICES_${GPU}`, value: ids.join() }];

function bed() {
  const violations: string[] = [];
  const moment = { now: 1_000 };
  const disk: { checkpoint?: string } = {};
  const running: ContainerTruth[] = [];
  const judge = new DevicesJudge({
    resources: [GPU],
    now: () => moment.now,
    checkpoint: () => disk.checkpoint,
    runtime: () => ({ uids: () => ['one'], sandboxesOf: () => [sandbox(true, ...running)] }),
    onAsked: () => undefined,
    violated: (uid, what) => violations.push(`${String(uid)}: ${what}`),
  });
  judge.agentStarts();
  const starts = (id: string, uid: string, isAwaited: boolean, ...ids: string[]) => {
    const made = container(id, { uid, envs: envs(...ids) });
    running.push(made);
    judge.started(made, isAwaited);
  };
  /** Starts with the devices that are recorded for it. */
  const runs: typeof starts = (id, uid, isAwaited, ...ids) => {
    const entry = { PodUID: uid, ContainerName: 'main', ResourceName: GPU, DeviceIDs: { '-1': ids } };
    disk.checkpoint = JSON.stringify({ Data: { PodDeviceEntries: [entry], RegisteredDevices: {} } });
    starts(id, uid, isAwaited, ...ids);
  };
  const reported = () => violations.splice(0);
  return { judge, moment, disk, running, starts, runs, reported };
}

const podWith = (uid: string, count: number) => {
  const amount = { [GPU]: String(count) };
  const resources = { requests: amount, limits: amount };
  return { ...testPod({ uid }), spec: { containers: [{ name: 'main', image: 'app:1', resources }] } };
};

function statusOf(resourceID: string, health: string): PodStatus {
  const allocatedResourcesStatus = [{ name: GPU, resources: [{ resourceID, health }] }];
  const main = { name: 'main', image: '', imageID: '', ready: true, restartCount: 0 };
  return { containerStatuses: [{ ...main, allocatedResourcesStatus }] };
}

test('a device in two containers that run, unless no agent waited for the start of one', () => {
  const { runs, reported, running } = bed();
  runs('c1', 'one', true, 'a', 'b');
  runs('c2', 'two', true, 'c');
  expect(reported()).toEqual([]);
  runs('c3', 'three', true, 'b', 'd');
  expect(reported()).toEqual([expect.stringContaining('three: main runs with b, which main of one has')]);
  running.splice(0);
  runs('c4', 'four', false, 'a');
  runs('c5', 'five', true, 'a');
  expect(reported()).toEqual([]);
});

test('a container that starts with other devices than the next agent would read', () => {
  const { starts, runs, reported } = bed();
  runs('c1', 'one', true, 'a', 'b');
  starts('c2', 'one', true);
  starts('c3', 'one', false);
  expect(reported()).toEqual([`one: main starts with devices  of ${GPU}, and is recorded with a,b`]);
});

test('a device that is handed out and is not healthy, not listed, listed before, without a plugin, or twice', () => {
  const { judge, reported, runs } = bed();
  judge.listed(GPU, [...healthy('a', 'b', '', 'b'), { ID: 'b', health: 'Unhealthy' }]);
  judge.asked(GPU, ['a']);
  expect(reported()).toEqual([]);
  judge.asked(GPU, ['b', '', 'x']);
  expect(reported()).toEqual([`undefined: b,,x is handed out, and is no healthy device of ${GPU}`]);
  judge.asked(GPU, ['a', 'a']);
  expect(reported()).toEqual([expect.stringContaining('is asked for twice at once')]);
  runs('c1', 'one', true, 'a');
  judge.asked(GPU, ['a']);
  expect(reported()).toEqual(['one: a is handed out, and it has it']);
  judge.silent(GPU);
  judge.asked(GPU, ['a']);
  expect(reported()).toHaveLength(2);
});

test('a container that is made without its devices, as soon as the agent knows the resource, until it is forgotten', () => {
  const { judge, moment, reported } = bed();
  const made = (count: number, ...ids: string[]) =>
    judge.configured(podWith('one', count), { metadata: { name: 'main', attempt: 0 }, envs: envs(...ids) });
  made(1);
  judge.listed(GPU, healthy('a', 'b'));
  made(1);
  expect(reported()).toEqual([]);
  moment.now += 1;
  made(2, 'a', 'b');
  expect(reported()).toEqual([]);
  made(2, 'a');
  expect(reported()).toEqual([`one: main gets 1 of 2 devices of ${GPU}`]);
  made(1);
  expect(reported()).toHaveLength(1);
  judge.silent(GPU);
  moment.now += 5 * 60_000;
  made(1);
  expect(reported()).toEqual([]);
});

test('the next agent knows what the checkpoint has, and the checkpoint names its pods', () => {
  const { judge, moment, disk, reported } = bed();
  const text = JSON.stringify({
    Data: { PodDeviceEntries: [{ PodUID: 'one' }], RegisteredDevices: { [GPU]: [] } },
  });
  disk.checkpoint = text;
  judge.agentStarts();
  moment.now += 1;
  judge.configured(podWith('one', 1), { metadata: { name: 'main', attempt: 0 }, envs: [] });
  expect(reported()).toHaveLength(1);
  expect(podsIn(text)).toEqual(['one']);
  expect(podsIn(undefined)).toEqual([]);
});

test('a pod lacks devices beside those that others may hold, and may have been failed by its plugin just now', () => {
  const { judge, moment } = bed();
  judge.listed(GPU, [...healthy('a', 'b', 'c'), { ID: 'd', health: 'Unhealthy' }]);
  expect(judge.lacking(podWith('one', 2), [podWith('two', 1)])).toEqual([]);
  expect(judge.lacking(podWith('one', 2), [podWith('two', 2)])).toEqual([GPU]);
  expect(judge.lacking(podWith('one', 0), [podWith('two', 9)])).toEqual([]);
  judge.failed(GPU);
  expect(judge.hasJustFailed(podWith('one', 1))).toBe(true);
  expect(judge.hasJustFailed(podWith('one', 0))).toBe(false);
  moment.now += 1;
  expect(judge.hasJustFailed(podWith('one', 1))).toBe(false);
});

test('a pod that the agent does not know yet holds what the checkpoint has for it', () => {
  const { judge, disk } = bed();
  const entry = (PodUID: string, ...ids: string[]) => ({ PodUID, ResourceName: GPU, DeviceIDs: { 0: ids } });
  const PodDeviceEntries = [entry('one', 'a'), entry('one', 'a')];
  disk.checkpoint = JSON.stringify({ Data: { PodDeviceEntries, RegisteredDevices: {} } });
  judge.listed(GPU, healthy('a', 'b', 'c'));
  expect(judge.lacking(podWith('two', 2), [])).toEqual([]);
  expect(judge.lacking(podWith('two', 3), [])).toEqual([GPU]);
  expect(judge.lacking(podWith('two', 2), [podWith('one', 1)])).toEqual([]);
  expect(judge.lacking(podWith('one', 3), [])).toEqual([]);
});

test('an agent that finds a damaged checkpoint cannot know what containers have that run', () => {
  const { judge, disk, runs, reported } = bed();
  runs('c1', 'one', true, 'a');
  disk.checkpoint = '{"Data":{"PodDev';
  judge.agentStarts();
  judge.listed(GPU, healthy('a'));
  judge.asked(GPU, ['a']);
  runs('c2', 'two', true, 'a');
  expect(reported()).toEqual([]);
  runs('c3', 'three', true, 'a');
  expect(reported()).toEqual(['three: main runs with a, which main of two has']);
});

test('a status that does not follow the health of devices for long', () => {
  const { judge, moment, reported } = bed();
  judge.listed(GPU, [{ ID: 'a', health: 'Unhealthy' }]);
  const look = (...settled: (readonly [string, PodStatus])[]) => {
    moment.now += 15_000;
    judge.housekeeping(settled);
    return reported();
  };
  const [right, wrong] = ['Unhealthy', 'Healthy'].map((health) => statusOf('a', health)) as [
    PodStatus,
    PodStatus,
  ];
  expect([
    look(['one', wrong]),
    look(['one', wrong]),
    look(['one', right]),
    look(['one', wrong]),
    look(),
  ]).toEqual(Array(5).fill([]));
  look(['one', wrong]);
  look(['one', wrong]);
  expect(look(['one', wrong])).toEqual(['one: its status does not follow the health of its devices']);
});

test('a pod is given no other devices for those that it has and that are broken', () => {
  const { judge, disk } = bed();
  const PodDeviceEntries = [{ PodUID: 'one', ResourceName: GPU, DeviceIDs: { 0: ['a'] } }];
  disk.checkpoint = JSON.stringify({ Data: { PodDeviceEntries, RegisteredDevices: {} } });
  judge.listed(GPU, [{ ID: 'a', health: 'Unhealthy' }, ...healthy('b')]);
  expect(judge.lacking(podWith('one', 1), [])).toEqual([GPU]);
  expect(judge.lacking(podWith('two', 1), [podWith('one', 0)])).toEqual([]);
});

test('a status that says of a device, or of the node, what is not so', () => {
  const { judge } = bed();
  judge.listed(GPU, [...healthy('a'), { ID: 'b', health: 'Unhealthy' }]);
  expect(judge.untruth(undefined)).toBeUndefined();
  expect(judge.untruth(statusOf('a', 'Healthy'))).toBeUndefined();
  expect(judge.untruth(statusOf('b', 'Unhealthy'))).toBeUndefined();
  expect(judge.untruth(statusOf('a', 'Unknown'))).toContain('is said to be Unknown');
  expect(judge.untruth(statusOf('b', 'Healthy'))).toContain('is said to be Healthy');
  expect(judge.untruthOfNode({ capacity: { [GPU]: '2' }, allocatable: { [GPU]: '1' } })).toBeUndefined();
  expect(judge.untruthOfNode({ capacity: { [GPU]: '2' }, allocatable: { [GPU]: '2' } })).toBe(
    `the node is said to have 2 of 2 devices of ${GPU}, and has 1 of 2`,
  );
});

test('a plugin that is dropped while it serves is reported', () => {
  const { judge, reported } = bed();
  judge.letGo(GPU);
  expect(reported()).toEqual([
    `undefined: the plugin of ${GPU} serves, and is let go of before another one has taken its place`,
  ]);
});
