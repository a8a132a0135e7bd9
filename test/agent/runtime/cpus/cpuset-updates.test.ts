import { expect, test } from '@jest/globals';
import { CpusetUpdates } from '../../../../src/agent/runtime/cpus/cpuset-updates.ts';
import type { LinuxContainerResources } from '../../../../src/types/cri.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const PERIOD_MS = 10_000;

/** A pod with a container of the given state; its id is its pod's and its own name. */
function pod(uid: string, state: RuntimeContainerStatus['state'] = 'running'): RuntimePodStatus {
  const container = { id: `${uid}/main`, name: 'main', state } as RuntimeContainerStatus;
  return { uid, name: uid, namespace: 'default', sandboxes: [], containers: [container], observedAt: 0 };
}

function bed(pods: readonly RuntimePodStatus[]) {
  const warnings: string[] = [];
  const context = testContext({
    logger: { ...silentLogger, warn: (_: unknown, message: string) => void warnings.push(message) },
  });
  const calls: string[] = [];
  const told: LinuxContainerResources[] = [];
  const world = { shared: '0-3', pods, answer: (): Promise<void> => Promise.resolve() };
  const updates = new CpusetUpdates(context, {
    runtime: {
      updateContainerResources: (id, resources) => {
        calls.push(`${id} ${resources.cpusetCpus ?? ''}`);
        told.push(resources);
        return world.answer();
      },
    },
    cpusetOf: () => world.shared,
    periodMs: PERIOD_MS,
  });
  return { updates, calls, told, world, warnings, clock: context.clock };
}

test('at the start, containers that a former agent has made get their CPUs, and nothing else', async () => {
  const { updates, calls, told, world, clock } = bed([pod('a'), pod('b', 'exited')]);
  updates.start({ pods: () => world.pods });
  await clock.advance(0);
  expect(calls).toEqual(['a/main 0-3']);
  expect(told).toEqual([
    { cpusetCpus: '0-3', cpuPeriod: 0, cpuQuota: 0, cpuShares: 0, memoryLimitInBytes: 0, oomScoreAdj: 0 },
  ]);
  await clock.advance(3 * PERIOD_MS);
  expect(calls).toHaveLength(1);
  await updates.stop();
});

test('containers follow a change at once; one that was created with its CPUs gets no update', async () => {
  const { updates, calls, world, clock } = bed([]);
  updates.start({ pods: () => world.pods });
  await clock.advance(0);
  world.pods = [pod('a'), pod('b')];
  updates.has('a', 'main', { id: 'a/main', cpuset: '0-3' });
  updates.has('b', 'main', { id: 'b/main', cpuset: '0,1' });
  updates.update();
  await clock.advance(0);
  expect(calls).toEqual(['b/main 0-3']);
  world.shared = '0';
  updates.update();
  await clock.advance(0);
  expect(calls.slice(1)).toEqual(['a/main 0', 'b/main 0']);
  await updates.stop();
});

test('a container that was created and has not started follows a change as well', async () => {
  const { updates, calls, world, clock } = bed([pod('a', 'created')]);
  updates.has('a', 'main', { id: 'a/main', cpuset: '0-3' });
  updates.start({ pods: () => world.pods });
  world.shared = '0';
  updates.update();
  await clock.advance(0);
  expect(calls).toEqual(['a/main 0']);
  await updates.stop();
});

test('a change during an update is applied afterwards, as a whole', async () => {
  const { updates, calls, world, clock } = bed([pod('a'), pod('b')]);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  world.answer = () => promise;
  updates.start({ pods: () => world.pods });
  await clock.advance(0);
  world.shared = '3';
  updates.update();
  await clock.advance(0);
  expect(calls).toEqual(['a/main 0-3', 'b/main 0-3']);
  resolve(undefined);
  await clock.advance(0);
  expect(calls.slice(2)).toEqual(['a/main 3', 'b/main 3']);
  await updates.stop();
});

test('eight containers are updated at a time, and a slow one delays no other', async () => {
  const pods = Array.from({ length: 20 }, (_, index) => pod(`p${index}`));
  const { updates, calls, world, clock } = bed(pods);
  const answers: (() => void)[] = [];
  world.answer = () => new Promise((resolve) => void answers.push(resolve));
  updates.start({ pods: () => world.pods });
  await clock.advance(0);
  expect(calls).toHaveLength(8);
  // The first one stays without an answer.
  while (calls.length < 20) {
    const before = calls.length;
    for (const answer of answers.splice(1)) answer();
    await clock.advance(0);
    expect(calls.length - before).toBeLessThanOrEqual(7);
  }
  expect(new Set(calls).size).toBe(20);
  for (const answer of answers) answer();
  await updates.stop();
});

test('an update that fails is tried again in the next period, and the log says so', async () => {
  const { updates, calls, world, clock, warnings } = bed([pod('a')]);
  world.answer = () => Promise.reject(new Error('it is busy'));
  updates.start({ pods: () => world.pods });
  await clock.advance(0);
  expect(warnings).toEqual(['Container main does not get its CPUs 0-3 yet: it is busy']);
  world.answer = () => Promise.resolve();
  await clock.advance(PERIOD_MS);
  expect(calls).toEqual(['a/main 0-3', 'a/main 0-3']);
  await updates.stop();
  await clock.advance(PERIOD_MS);
  expect(calls).toHaveLength(2);
});

test('a container whose update has failed is updated also if the CPUs are the former ones again', async () => {
  const { updates, calls, world, clock } = bed([pod('a')]);
  updates.has('a', 'main', { id: 'a/main', cpuset: '0-3' });
  updates.start({ pods: () => world.pods });
  await clock.advance(0);
  world.shared = '0';
  world.answer = () => Promise.reject(new Error('the connection broke'));
  updates.update();
  await clock.advance(0);
  world.shared = '0-3';
  world.answer = () => Promise.resolve();
  updates.update();
  await clock.advance(0);
  expect(calls).toEqual(['a/main 0', 'a/main 0-3']);
  await updates.stop();
});

test('the next instance is updated, also if the end of the former one was not seen; a pod that is gone is forgotten', async () => {
  const { updates, calls, world, clock } = bed([pod('a')]);
  updates.start({ pods: () => world.pods });
  await clock.advance(0);
  const [next] = pod('a').containers;
  world.pods = [{ ...pod('a'), containers: [{ ...next!, id: 'a/next' }] }];
  await clock.advance(2 * PERIOD_MS);
  expect(calls).toEqual(['a/main 0-3', 'a/next 0-3']);
  updates.forget('a');
  await clock.advance(2 * PERIOD_MS);
  expect(calls.slice(2)).toEqual(['a/next 0-3']);
  await updates.stop();
});

test('where no CPUs are left to share, containers stay where they are', async () => {
  const { updates, calls, world, clock } = bed([pod('a')]);
  world.shared = '';
  updates.start({ pods: () => world.pods });
  await clock.advance(PERIOD_MS);
  expect(calls).toEqual([]);
  await updates.stop();
});
