/** Eviction when a resource of the node is short: which pod is evicted, and when. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { StateletError } from '../../../../src/types/errors.ts';
import { GI, MI, statsOf, thresholds, usingMemory } from '../../../support/eviction.ts';
import { EvictionBed, lastingPod } from './eviction-bed.ts';

const MINUTE_MS = 60_000;

let bed: EvictionBed;

beforeEach(() => {
  bed = new EvictionBed();
});
afterEach(() => bed.stop());

describe('short of memory', () => {
  const hard = { thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }) };

  test('the pod that uses more than it requests is evicted, and the others go on', async () => {
    await bed.start(hard);
    await bed.run(
      lastingPod('modest', { requests: { memory: '200Mi' } }),
      lastingPod('greedy', { requests: { memory: '50Mi' } }),
    );
    bed.figures.pods = [usingMemory('modest', 150), usingMemory('greedy', 300)];
    bed.figures.left = { memory: 90 };
    await bed.pass();
    await bed.untilState('greedy', 'Terminated.Finished');
    expect(bed.statusOf('greedy')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(bed.statusOf('greedy')?.message).toBe(
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. Container main was using 300Mi, request is 50Mi, has larger consumption of memory. ',
    );
    expect(bed.statusOf('greedy')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True' }),
    );
    expect([bed.evicted(), bed.state('modest')]).toEqual([['greedy'], 'Syncing.Settled']);
    const evictions = bed.measurements.told.filter((line) => line.startsWith('evicted'));
    expect(evictions).toEqual(['evicted for memory.available']);
    expect(bed.measurements.told).toContainEqual(
      expect.stringMatching(/^figures of memory.available are \d+ ms old$/),
    );
  });

  test('memory is measured as soon as the watch reports that it is short, before the period is over', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    const beganAtMs = bed.ground.clock.now();
    bed.figures.memoryGoes(90);
    await bed.untilState('greedy', 'Terminated.Finished');
    expect(bed.ground.clock.now()).toBe(beganAtMs);
  });

  test('if the figures do not yet show that memory is short, as the watch reports, memory is measured again soon', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    bed.figures.memoryGoes(110);
    await bed.ground.clock.advance(300);
    bed.figures.left = { memory: 90 };
    expect(bed.evicted()).toEqual([]);
    await bed.ground.clock.advance(300);
    await bed.untilState('greedy', 'Terminated.Finished');
  });

  test('pods are evicted one by one: the next victim is chosen by figures that are taken after the end of the last victim', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('first'), lastingPod('second'), lastingPod('third'));
    bed.figures.pods = [usingMemory('first', 300), usingMemory('second', 200), usingMemory('third', 100)];
    const firstWas: (string | undefined)[] = [];
    bed.onEviction = (name) => {
      firstWas.push(bed.state('first'));
      bed.figures.pods = bed.figures.pods.filter(({ podRef }) => podRef.name !== name);
      bed.figures.left = { memory: name === 'first' ? 60 : 400 };
    };
    bed.figures.memoryGoes(50);
    await bed.untilState('second', 'Terminated.Finished');
    expect(firstWas).toEqual(['Syncing.Settled', 'Terminated.Finished']);
    await bed.pass();
    await bed.pass();
    expect([bed.evicted(), bed.state('third')]).toEqual([['first', 'second'], 'Syncing.Settled']);
  });

  test('a pod that does not run yet is not evicted, because its end would free nothing', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('new'), lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    bed.figures.memoryGoes(50);
    await bed.untilState('greedy', 'Terminated.Finished');
    await bed.pass();
    expect([bed.evicted(), bed.state('new')]).toEqual([['greedy'], 'Syncing.Settled']);
  });

  test('critical pods are never evicted', async () => {
    await bed.start(hard);
    await bed.run(
      lastingPod('dns', { critical: true }),
      lastingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } }),
    );
    bed.figures.pods = [usingMemory('dns', 600), usingMemory('static', 300)];
    bed.figures.memoryGoes(10);
    await bed.pass();
    await bed.pass();
    expect(bed.evicted()).toEqual([]);
  });

  test('if a pod is ending already, its end is awaited and no other pod is evicted', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('leaving'), lastingPod('greedy'));
    bed.figures.pods = [usingMemory('leaving', 100), usingMemory('greedy', 300)];
    let whenGreedyWent: string | undefined;
    bed.onEviction = () => {
      whenGreedyWent = bed.state('leaving');
      bed.figures.left = { memory: 400 };
    };
    bed.agent.supervisor.registry.send('leaving', { type: 'SyncPodKill' });
    bed.figures.memoryGoes(50);
    await bed.untilState('greedy', 'Terminated.Finished');
    expect(whenGreedyWent).toMatch(/^Terminated/);
  });

  test('if the end of a pod hangs, the wait for it ends after some time', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('hung'), lastingPod('greedy'));
    bed.figures.pods = [usingMemory('hung', 100), usingMemory('greedy', 300)];
    bed.hung.add('hung');
    bed.agent.supervisor.registry.send('hung', { type: 'SyncPodKill' });
    bed.figures.memoryGoes(50);
    await bed.ground.clock.advance(5_000);
    expect(bed.evicted()).toEqual([]);
    await bed.pass();
    await bed.untilState('greedy', 'Terminated.Finished');
    expect(bed.state('hung')).toMatch(/^Terminating/);
  });

  test('if pressure is gone when the pods are ranked, nothing is evicted', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    bed.figures.afterMeasurement = () => (bed.figures.left = { memory: 300 });
    bed.figures.memoryGoes(50);
    await bed.pass();
    expect([bed.evicted(), bed.conditions()]).toEqual([[], ['MemoryPressure']]);
  });

  test('pressure that is gone when the pods are ranked and returns a moment later is found', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    bed.figures.afterMeasurement = () =>
      (bed.figures.left = { memory: bed.figures.measurements === 1 ? 300 : 50 });
    bed.figures.measurements = 0;
    bed.figures.memoryGoes(50);
    await bed.ground.clock.advance(1000);
    await bed.untilState('greedy', 'Terminated.Finished');
  });

  test('the condition holds for the transition period, and BestEffort pods are rejected', async () => {
    await bed.start({ ...hard, pressureTransitionPeriodMs: MINUTE_MS });
    await bed.run(lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    bed.figures.memoryGoes(50);
    await bed.untilState('greedy', 'Terminated.Finished');
    expect(bed.conditions()).toEqual(['MemoryPressure']);
    bed.figures.left = { memory: 400 };
    bed.figures.pods = [];
    await bed.pass();
    bed.agent.supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods: [lastingPod('late')] });
    await bed.untilState('late', 'Terminated.Finished');
    expect(bed.statusOf('late')).toMatchObject({
      reason: 'Evicted',
      message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
    });
    await bed.run(lastingPod('requesting', { requests: { memory: '1Mi' } }));
    // Memory is short again: the period starts again.
    await bed.ground.clock.advance(30_000);
    bed.figures.left = { memory: 99 };
    await bed.pass();
    bed.figures.left = { memory: 400 };
    await bed.ground.clock.advance(50_000);
    expect(bed.conditions()).toEqual(['MemoryPressure']);
    await bed.ground.clock.advance(20_000);
    expect(bed.conditions()).toEqual([]);
    expect(bed.nodeEvents.filter((event) => event.startsWith('Normal'))).toEqual([
      'Normal NodeHasInsufficientMemory Node node1 status is now: NodeHasInsufficientMemory',
      'Normal NodeHasSufficientMemory Node node1 status is now: NodeHasSufficientMemory',
    ]);
    expect(bed.nodeEvents[0]).toBe('Warning EvictionThresholdMet Attempting to reclaim memory');
  });

  test('in a cluster the Node object shows pressure at once, with its event; there is no other event', async () => {
    const reported: (readonly string[])[] = [];
    const nothing = () => undefined;
    await bed.start(hard, {
      start: nothing,
      earlierActors: [],
      stop: () => Promise.resolve(),
      node: nothing,
      freshNode: () => Promise.reject(new Error('no answer')),
      staticPodSynced: nothing,
      mirrorPodSeen: nothing,
      flush: () => Promise.resolve(),
      cleanUp: nothing,
      reportNow: () => void reported.push(bed.conditions()),
    });
    reported.splice(0);
    bed.figures.left = { memory: 50 };
    await bed.pass();
    expect(reported).toEqual([['MemoryPressure']]);
    expect(bed.nodeEvents.filter((event) => event.startsWith('Normal'))).toEqual([]);
  });

  test('if a measurement of the node fails, the node is measured again', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    bed.figures.left = { memory: 50 };
    bed.figures.problem = new StateletError('Unavailable', 'no answer');
    await bed.pass();
    expect(bed.evicted()).toEqual([]);
    bed.figures.problem = undefined;
    await bed.pass();
    expect(bed.evicted()).toEqual(['greedy']);
  });
});

test('a soft threshold must be met for its grace period; the victim ends within the smaller of the two grace periods', async () => {
  await bed.start({
    thresholds: thresholds({
      evictionSoft: { 'memory.available': '200Mi' },
      evictionSoftGracePeriod: { 'memory.available': '25s' },
    }),
    maxPodGracePeriodSeconds: 3,
  });
  await bed.run(lastingPod('greedy'));
  bed.figures.pods = [usingMemory('greedy', 300)];
  bed.figures.left = { memory: 150 };
  await bed.pass();
  await bed.pass();
  await bed.pass();
  expect([bed.evicted(), bed.conditions()]).toEqual([[], ['MemoryPressure']]);
  await bed.pass();
  expect(bed.evicted()).toEqual(['greedy']);
  expect(bed.agent.supervisor.registry.get('greedy')?.actor.getSnapshot().context.gracePeriodSeconds).toBe(3);
});

describe('short of disk', () => {
  const hard = { thresholds: thresholds({ evictionHard: { 'nodefs.available': '10Gi' } }) };
  const onDisk = (name: string, usedGi: number) => {
    const amount = { usedBytes: usedGi * GI };
    const containers = [{ name: 'main', rootfs: amount, logs: { usedBytes: 0 } }];
    return statsOf(name, { containers, 'ephemeral-storage': amount });
  };

  test('dead containers and images are removed first, and if that is enough no pod is evicted', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('writer'));
    bed.figures.pods = [onDisk('writer', 30)];
    bed.figures.left = { disk: 5 };
    bed.onReclaim = (what) => {
      if (what === 'images') bed.figures.left = { disk: 20 };
    };
    await bed.pass();
    expect([bed.reclaimed, bed.evicted()]).toEqual([['containers', 'images'], []]);
    expect(bed.conditions()).toEqual(['DiskPressure']);
  });

  test('if it is not enough, the pod that uses most is evicted', async () => {
    await bed.start(hard);
    await bed.run(lastingPod('modest'), lastingPod('writer'));
    bed.figures.pods = [onDisk('modest', 1), onDisk('writer', 30)];
    bed.figures.left = { disk: 5 };
    await bed.pass();
    expect([bed.reclaimed.slice(0, 2), bed.evicted()]).toEqual([['containers', 'images'], ['writer']]);
    expect(bed.statusOf('writer')?.message).toContain('The node was low on resource: ephemeral-storage. ');
  });
});

test('short of process IDs, the pod with the lowest priority is evicted', async () => {
  await bed.start({ thresholds: thresholds({ evictionHard: { 'pid.available': '100' } }) });
  await bed.run(lastingPod('important', { priority: 10 }), lastingPod('forking', { priority: 1 }));
  const processes = (name: string, count: number) =>
    statsOf(name, { process_stats: { process_count: count } });
  bed.figures.pods = [processes('important', 500), processes('forking', 300)];
  bed.figures.left = { pids: 50 };
  await bed.pass();
  expect([bed.evicted(), bed.conditions()]).toEqual([['forking'], ['PIDPressure']]);
});

test('a pod that exceeds its own limit is evicted even if no resource of the node is short', async () => {
  await bed.start({});
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }];
  await bed.run(lastingPod('writer', { volumes }), lastingPod('modest', { volumes }));
  const uses = (name: string, usedBytes: number) =>
    statsOf(name, { volume: [{ name: 'scratch', usedBytes }] });
  bed.figures.pods = [uses('writer', 2 * MI), uses('modest', MI)];
  await bed.pass();
  expect(bed.evicted()).toEqual(['writer']);
  expect(bed.statusOf('writer')).toMatchObject({
    reason: 'Evicted',
    message: 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ',
  });
});

test('pods without their own limits are not measured while nothing is short', async () => {
  await bed.start({ thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }) });
  await bed.run(lastingPod('web'));
  await bed.pass();
  await bed.pass();
  expect([bed.figures.measurements, bed.figures.measurementsOfPods]).toEqual([2, 0]);
});

test('if the end of a victim hangs, the next victim is chosen at once', async () => {
  await bed.start({ thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }) });
  await bed.run(lastingPod('greedy'), lastingPod('modest'));
  bed.figures.pods = [usingMemory('greedy', 300), usingMemory('modest', 100)];
  bed.hung.add('greedy');
  bed.onEviction = (name) => name === 'modest' && (bed.figures.left = { memory: 400 });
  bed.figures.memoryGoes(50);
  await bed.ground.until('the first to be chosen', () => bed.evicted().length > 0);
  await bed.ground.clock.advance(10_000);
  await bed.untilState('modest', 'Terminated.Finished');
  expect(bed.evicted()).toEqual(['greedy', 'modest']);
});

test('the runtime is asked for the disk layout until it answers', async () => {
  await bed.start({ thresholds: thresholds({ evictionHard: { 'imagefs.available': '10Gi' } }) });
  const dedicated = { dedicatedImageFs: true, dedicatedContainerFs: false };
  bed.figures.layout = () => Promise.reject(new StateletError('Unavailable', 'no answer'));
  await bed.run(lastingPod('writer'));
  // With a dedicated image file system, logs and volumes of pods do not count.
  const usage = { usedBytes: GI };
  const rootfs = (name: string, usedGi: number) => ({
    name,
    rootfs: { usedBytes: usedGi * GI },
    logs: usage,
  });
  bed.figures.pods = [statsOf('writer', { containers: [rootfs('main', 2)] })];
  const asked = async () => (await bed.agent.explainEviction())?.thresholds[0];
  bed.figures.left = { disk: 50, imagefs: 5 };
  expect((await asked())?.candidates[0]?.usage).toBe(3 * GI);
  bed.figures.layout = () => Promise.resolve(dedicated);
  expect((await asked())?.candidates[0]?.usage).toBe(2 * GI);
});
