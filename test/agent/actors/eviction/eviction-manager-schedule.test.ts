/** When the node is measured, and which of its signals. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { doingIO, GI, MI, statsOf, thresholds, usingMemory } from '../../../support/eviction.ts';
import { EvictionBed, lastingPod } from './eviction-bed.ts';

let bed: EvictionBed;

beforeEach(() => {
  bed = new EvictionBed();
});
afterEach(() => bed.stop());

const MEMORY = { 'memory.available': '100Mi' };
const seconds = (count: number) => bed.ground.clock.advance(count * 1000);
const onDisk = (name: string, usedGi: number) => {
  const amount = { usedBytes: usedGi * GI };
  const containers = [{ name: 'main', rootfs: amount, logs: { usedBytes: 0 } }];
  return { ...statsOf(name, { containers, 'ephemeral-storage': amount }), ...usingMemory(name, 1) };
};

describe('memory that becomes short', () => {
  beforeEach(async () => {
    await bed.start({ thresholds: thresholds({ evictionHard: { ...MEMORY, 'nodefs.available': '10Gi' } }) });
    await bed.run(lastingPod('greedy'));
    bed.figures.pods = [usingMemory('greedy', 300)];
    bed.figures.isRuntimeSilent = true;
  });

  test('is found without a call to the runtime', async () => {
    bed.figures.memoryGoes(50);
    await bed.untilState('greedy', 'Terminated.Finished');
    expect(bed.conditions()).toEqual(['MemoryPressure']);
  });

  test('does not wait for a measurement that waits for the runtime', async () => {
    await seconds(10);
    expect(bed.figures.measurements).toBe(0);
    bed.figures.memoryGoes(50);
    await bed.untilState('greedy', 'Terminated.Finished');
  });
});

test('memory that becomes short does not wait for the removal of images, and a removal under way is not started again', async () => {
  await bed.start({ thresholds: thresholds({ evictionHard: { ...MEMORY, 'nodefs.available': '10Gi' } }) });
  await bed.run(lastingPod('greedy'), lastingPod('writer'));
  bed.figures.pods = [usingMemory('greedy', 300), onDisk('writer', 30)];
  bed.figures.left = { memory: 500, disk: 5 };
  const removal = Promise.withResolvers<unknown>();
  bed.onReclaim = () => removal.promise;
  const reclaimedBefore: Record<string, readonly string[]> = {};
  bed.onEviction = (name) => {
    reclaimedBefore[name] = [...bed.reclaimed];
    bed.figures.left = { memory: 500, disk: 5 };
  };
  await seconds(10);
  expect([bed.reclaimed, bed.evicted()]).toEqual([['containers'], []]);
  bed.figures.memoryGoes(50);
  await bed.untilState('greedy', 'Terminated.Finished');
  bed.figures.pods = [onDisk('writer', 30)];
  await seconds(10);
  expect([bed.reclaimed, bed.evicted()]).toEqual([['containers'], ['greedy']]);
  removal.resolve(undefined);
  await bed.untilState('writer', 'Terminated.Finished');
  expect(reclaimedBefore).toEqual({ greedy: ['containers'], writer: ['containers', 'images'] });
});

test('if a pod was added again and ends, its end is awaited, even if the pod had to end long before', async () => {
  await bed.start({ thresholds: thresholds({ evictionHard: MEMORY }) });
  const again = lastingPod('again');
  const kill = (podTerminationGracePeriodSecondsOverride: number) =>
    bed.agent.supervisor.registry.send('again', {
      type: 'SyncPodKill',
      options: { podTerminationGracePeriodSecondsOverride },
    });
  await bed.run(again, lastingPod('greedy'));
  bed.figures.pods = [usingMemory('greedy', 300), usingMemory('again', 1)];
  bed.hung.add('again');
  kill(5);
  bed.figures.memoryGoes(110);
  await seconds(3);
  // From now on, every measurement waits for the runtime.
  bed.figures.isRuntimeSilent = true;
  await seconds(10);
  bed.hung.delete('again');
  kill(2);
  await bed.untilState('again', 'Terminated.Finished');
  bed.agent.supervisor.send({ type: 'CONFIG.REMOVE', source: 'api', pods: [again] });
  await bed.ground.until('the pod to be gone', () => bed.state('again') === undefined);
  await bed.run(again);
  await seconds(30);
  bed.hung.add('again');
  kill(5);
  bed.figures.memoryGoes(50);
  await seconds(1);
  expect([bed.state('again'), bed.evicted()]).toEqual(['Terminating.Stopping', []]);
});

describe('a measurement of memory alone', () => {
  const soft = thresholds({
    evictionHard: MEMORY,
    evictionSoft: { 'nodefs.available': '10Gi' },
    evictionSoftGracePeriod: { 'nodefs.available': '25s' },
  });

  test('does not change other signals: DiskPressure stays', async () => {
    await bed.start({ thresholds: soft, pressureTransitionPeriodMs: 500 });
    await bed.run(lastingPod('writer'));
    bed.figures.pods = [onDisk('writer', 30)];
    bed.figures.left = { memory: 500, disk: 5 };
    await seconds(10);
    expect(bed.conditions()).toEqual(['DiskPressure']);
    bed.figures.memoryGoes(110);
    await seconds(1);
    bed.figures.left = { memory: 500, disk: 5 };
    expect(bed.conditions()).toEqual(['DiskPressure']);
    await seconds(18);
    expect(bed.evicted()).toEqual([]);
    await seconds(11);
    expect(bed.evicted()).toEqual(['writer']);
  });

  test('does not delay the next measurement of everything, even if memory is often near its threshold', async () => {
    await bed.start({ thresholds: thresholds({ evictionHard: { ...MEMORY, 'nodefs.available': '10Gi' } }) });
    await bed.run(lastingPod('writer'));
    bed.figures.pods = [onDisk('writer', 30)];
    bed.figures.left = { memory: 110, disk: 5 };
    for (let elapsed = 0; elapsed < 10; elapsed += 1) {
      bed.figures.memoryGoes(110);
      await seconds(1);
    }
    expect(bed.evicted()).toEqual(['writer']);
  });
});

test('disk usage is not waited for if the ranking does not need it', async () => {
  await bed.start({ thresholds: thresholds({ evictionHard: { 'pid.available': '100' } }) });
  await bed.run(lastingPod('forking'));
  bed.figures.pods = [{ ...doingIO('forking', MI), process_stats: { process_count: 9 } }];
  bed.figures.left = { pids: 50 };
  await seconds(10);
  expect(bed.evicted()).toEqual(['forking']);
  expect(bed.figures.asked.map(({ diskUsagePatienceMs }) => diskUsagePatienceMs)).toEqual(
    bed.figures.asked.map(() => 0),
  );
});
