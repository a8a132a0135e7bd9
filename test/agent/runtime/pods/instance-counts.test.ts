import { expect, test } from '@jest/globals';
import {
  type PodInstances,
  InstanceCounts,
  type InstanceCountsStore,
} from '../../../../src/agent/runtime/pods/instance-counts.ts';
import type { RuntimeContainerStatus } from '../../../../src/types/runtime-pod.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { clockOf, testContext } from '../../../support/test-context.ts';

const instance = (name: string, restartCount: number) =>
  ({ name, restartCount }) as unknown as RuntimeContainerStatus;

/** `write` gets what would be on the disk. */
function bed(
  stored: readonly PodInstances[] = [],
  write: InstanceCountsStore['write'] = () => Promise.resolve(),
) {
  const clock = { time: 0, now: () => clock.time };
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
  const context = testContext({ clock: clockOf(clock.now), logger });
  return { clock, warnings, lives: new InstanceCounts(context, { stored, write }) };
}

test('a removed pod has had as many instances of a container as its highest attempt says', async () => {
  const { lives } = bed();
  await lives.note('a', { containers: [instance('main', 3), instance('main', 2), instance('side', 0)] });
  // The removal failed after some containers, and is tried again.
  await lives.note('a', { containers: [instance('main', 2)] });
  await lives.note('a', { containers: [] });
  expect(['main', 'side', 'other'].map((name) => lives.instances('a', name))).toEqual([4, 1, 0]);
  expect(lives.instances('b', 'main')).toBe(0);
});

test('the count is forgotten after a while, and the oldest counts before that if there are very many', async () => {
  const { lives, clock } = bed();
  await lives.note('a', { containers: [instance('main', 0)] });
  clock.time = 10 * 60_000;
  lives.collectGarbage();
  expect(lives.instances('a', 'main')).toBe(1);
  clock.time += 1;
  lives.collectGarbage();
  expect(lives.instances('a', 'main')).toBe(0);
  for (let count = 0; count <= 1000; count += 1)
    await lives.note(`pod-${count}`, { containers: [instance('main', 0)] });
  expect(['pod-0', 'pod-1', 'pod-1000'].map((uid) => lives.instances(uid, 'main'))).toEqual([0, 1, 1]);
});

test('the next agent knows the count, unless it is too old; no count of a pod of the API server is kept', async () => {
  const written: (readonly PodInstances[])[] = [];
  const { lives } = bed([], (all) => Promise.resolve(void written.push(all)));
  await lives.note('a', { containers: [instance('main', 3)] });
  await lives.note('12345678-1234-1234-1234-123456789abc', { containers: [instance('main', 3)] });
  expect(written).toEqual([[{ uid: 'a', instances: { main: 4 }, endedAt: 0 }]]);
  const old = { uid: 'old', instances: { main: 7 }, endedAt: -10 * 60_000 - 1 };
  const next = bed([old, ...(written[0] ?? [])]).lives;
  expect(['a', 'old'].map((uid) => next.instances(uid, 'main'))).toEqual([4, 0]);
});

test('a write of the count that fails is reported once, and the count is known until the agent stops', async () => {
  const { lives, warnings } = bed([], () => Promise.reject(new Error('ENOSPC')));
  for (const uid of ['a', 'b']) await lives.note(uid, { containers: [instance('main', 0)] });
  expect(warnings).toEqual([expect.stringContaining('count anew under the next agent: ENOSPC')]);
  expect(lives.instances('a', 'main')).toBe(1);
});
