import { expect, test } from '@jest/globals';
import { type SimulatedDisk, simulatedNode } from '../../../src/simulation/node/simulated-node.ts';
import { simulatedBed } from '../../runtime/simulated/simulated-bed.ts';
import { testPod } from '../../support/pods.ts';

const { signal } = new AbortController();
const UID = 'uid-of-web';
const REFERENCE = { uid: UID, name: 'web', namespace: 'default' };

/** `failing`: the step that always fails. */
function node({ failing, isAlive = true }: { failing?: 'mount' | 'release'; isAlive?: boolean } = {}) {
  const disk: SimulatedDisk = new Map();
  const { runtime, clock } = simulatedBed();
  const simulated = simulatedNode({
    runtime,
    disk,
    now: () => clock.now(),
    random: () => 0.5,
    faults: () => ({ mount: 0, release: 0, pull: 0, ...(failing && { [failing]: 1 }) }),
    isAlive: () => isAlive,
  });
  return { simulated, disk };
}

test('volumes are mounted when a pod is prepared, and released', async () => {
  const { simulated, disk } = node();
  await simulated.prepare(testPod(), signal);
  expect(disk.get(UID)).toMatchObject({ mounted: true });
  await simulated.release(UID);
  expect(disk.get(UID)).toMatchObject({ mounted: false });
  await simulated.remove(REFERENCE);
  expect(disk.size).toBe(0);
});

test('a failed mount or release leaves the volumes as they were', async () => {
  const { simulated, disk } = node({ failing: 'mount' });
  await expect(simulated.prepare(testPod(), signal)).rejects.toThrow('the disk did not answer');
  expect(disk.get(UID)).toMatchObject({ mounted: false });
  const other = node({ failing: 'release' });
  await other.simulated.prepare(testPod(), signal);
  await expect(other.simulated.remove(REFERENCE)).rejects.toThrow('the volume is busy');
  expect(other.disk.get(UID)).toMatchObject({ mounted: true });
});

test('the first start time of a pod is kept, and so is the number of its instances', async () => {
  const { simulated } = node();
  expect(await simulated.startTime(UID, '2030-01-01T00:00:00Z')).toBe('2030-01-01T00:00:00Z');
  expect(await simulated.startTime(UID, '2031-01-01T00:00:00Z')).toBe('2030-01-01T00:00:00Z');
  expect(simulated.pastInstances(REFERENCE, 'main')).toBe(0);
  simulated.created(REFERENCE, 'c1', { metadata: { name: 'main', attempt: 2 } } as never, '');
  expect(simulated.pastInstances(REFERENCE, 'main')).toBe(3);
});

test('a killed agent does not change the disk any more', async () => {
  const { simulated, disk } = node({ isAlive: false });
  void simulated.prepare(testPod(), signal);
  await new Promise((resolve) => setImmediate(resolve));
  expect(disk.size).toBe(0);
});
