import { beforeEach, describe, expect, test } from '@jest/globals';
import { WorkQueue } from '../../src/system/work-queue.ts';
import { seededRandom } from '../../src/simulation/plan/seeded-random.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';

let clock: VirtualClock;
let queue: WorkQueue;
let told: [atMs: number, ...uids: string[]][];

beforeEach(() => {
  clock = new VirtualClock();
  const begun = clock.now();
  told = [];
  queue = new WorkQueue(clock, (uids) => told.push([clock.now() - begun, ...uids.toSorted()]));
});

describe('order', () => {
  test('each pod is reported when it is due, in any order of the calls', async () => {
    queue.enqueue('c', 3_000);
    queue.enqueue('a', 1_000);
    queue.enqueue('b', 2_000);
    await clock.advance(10_000);
    expect(told).toEqual([
      [1_000, 'a'],
      [2_000, 'b'],
      [3_000, 'c'],
    ]);
  });

  test('pods that are due at the same time are reported together', async () => {
    queue.enqueue('a', 1_000);
    queue.enqueue('b', 1_000);
    await clock.advance(1_000);
    expect(told).toEqual([[1_000, 'a', 'b']]);
  });

  test('a pod is reported once', async () => {
    queue.enqueue('a', 1_000);
    await clock.advance(100_000);
    expect(told).toHaveLength(1);
  });

  test('no pod is reported before it is due', async () => {
    queue.enqueue('a', 1_000);
    await clock.advance(999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual([[1_000, 'a']]);
  });

  test('a delay of 0 is due in the next turn, not within the call', async () => {
    queue.enqueue('a', 0);
    expect(told).toEqual([]);
    await clock.advance(0);
    expect(told).toEqual([[0, 'a']]);
  });

  test('a pod may be enqueued while another pod is reported', async () => {
    const begun = clock.now();
    const chain: number[] = [];
    const again = new WorkQueue(clock, (uids) => {
      chain.push(clock.now() - begun);
      if (chain.length < 3) again.enqueue(uids[0] ?? '', 500);
    });
    again.enqueue('a', 500);
    await clock.advance(10_000);
    expect(chain).toEqual([500, 1_000, 1_500]);
  });

  test('if several deadlines pass at once, all their pods are reported', async () => {
    queue.enqueue('a', 1_000);
    queue.enqueue('b', 2_000);
    // The machine was suspended: the timer of the first deadline fires late.
    const late = new LateClock(clock, 5_000);
    const asleep = new WorkQueue(late, (uids) => told.push([-1, ...uids.toSorted()]));
    asleep.enqueue('x', 1_000);
    asleep.enqueue('y', 2_000);
    await clock.advance(6_000);
    expect(told).toContainEqual([-1, 'x', 'y']);
  });
});

describe('replacement', () => {
  test('a later time replaces an earlier one', async () => {
    queue.enqueue('a', 1_000);
    queue.enqueue('a', 4_000);
    await clock.advance(10_000);
    expect(told).toEqual([[4_000, 'a']]);
  });

  test('an earlier time replaces a later one', async () => {
    queue.enqueue('a', 4_000);
    queue.enqueue('a', 1_000);
    await clock.advance(10_000);
    expect(told).toEqual([[1_000, 'a']]);
  });

  test('a pod that is enqueued twice for the same time is reported once', async () => {
    queue.enqueue('a', 1_000);
    queue.enqueue('a', 1_000);
    await clock.advance(10_000);
    expect(told).toEqual([[1_000, 'a']]);
  });

  test('a cancelled pod is not reported until it is enqueued again', async () => {
    queue.enqueue('a', 1_000);
    queue.enqueue('b', 2_000);
    queue.cancel('a');
    await clock.advance(2_000);
    expect(told).toEqual([[2_000, 'b']]);
    queue.enqueue('a', 1_000);
    await clock.advance(1_000);
    expect(told.at(-1)).toEqual([3_000, 'a']);
  });

  test('when a pod is due can be asked', async () => {
    const begun = clock.now();
    queue.enqueue('a', 5_000);
    queue.enqueue('a', 2_000);
    expect([queue.dueAt('a'), queue.dueAt('b')]).toEqual([begun + 2_000, undefined]);
    await clock.advance(2_000);
    expect(queue.dueAt('a')).toBeUndefined();
  });

  test('cancel does nothing for a pod that is not enqueued', () => {
    queue.cancel('nobody');
    expect(clock.armed).toBe(0);
  });
});

describe('timers', () => {
  test('no timer is armed while the queue is empty', async () => {
    expect(clock.armed).toBe(0);
    queue.enqueue('a', 1_000);
    await clock.advance(1_000);
    expect(clock.armed).toBe(0);
  });

  test('many pods have one timer, for the earliest of them', () => {
    for (let second = 50; second > 0; second--) queue.enqueue(`pod-${String(second)}`, second * 1_000);
    expect([clock.armed, clock.nextInMs]).toEqual([1, 1_000]);
  });

  test('no timer is armed after the last pod was cancelled', () => {
    queue.enqueue('a', 1_000);
    queue.cancel('a');
    expect(clock.armed).toBe(0);
  });

  test('if the earliest pod is cancelled or delayed, the timer is for the next pod', () => {
    queue.enqueue('a', 1_000);
    queue.enqueue('b', 3_000);
    queue.cancel('a');
    expect(clock.nextInMs).toBe(3_000);
    queue.enqueue('b', 9_000);
    expect([clock.armed, clock.nextInMs]).toEqual([1, 9_000]);
  });

  test('a delay may be longer than the longest timer', async () => {
    const fiftyDaysMs = 50 * 86_400_000;
    queue.enqueue('a', fiftyDaysMs);
    await clock.advance(fiftyDaysMs - 1);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual([[fiftyDaysMs, 'a']]);
  });

  test('after stop, no timer is armed, no pod is reported, and no pod is enqueued', async () => {
    queue.enqueue('a', 1_000);
    queue.stop();
    expect(clock.armed).toBe(0);
    queue.enqueue('b', 1_000);
    expect(clock.armed).toBe(0);
    await clock.advance(5_000);
    expect(told).toEqual([]);
  });
});

test('after any sequence of calls, each pod is reported exactly at its last time, and at most one timer is armed', async () => {
  const random = seededRandom(7);
  const begun = clock.now();
  const planned = new Map<string, number>();
  const wrong: string[] = [];
  const checked = new WorkQueue(clock, (uids) => {
    for (const uid of uids) {
      if (planned.get(uid) !== clock.now()) wrong.push(`${uid} at ${String(clock.now() - begun)}`);
      planned.delete(uid);
    }
  });
  for (let step = 0; step < 2_000; step++) {
    const uid = `pod-${String(random.integer(0, 20))}`;
    const delayMs = random.integer(0, 5_000);
    if (random.next() < 0.25) {
      checked.cancel(uid);
      planned.delete(uid);
    } else {
      checked.enqueue(uid, delayMs);
      planned.set(uid, clock.now() + delayMs);
    }
    expect(clock.armed).toBe(planned.size > 0 ? 1 : 0);
    if (random.next() < 0.3) await clock.advance(random.integer(0, 1_000));
  }
  await clock.advance(5_000);
  expect([wrong, planned.size, clock.armed]).toEqual([[], 0, 0]);
});

/** A clock whose timers fire late, as on a machine that was suspended. */
class LateClock {
  readonly #clock: VirtualClock;
  readonly #lateMs: number;

  constructor(real: VirtualClock, lateMs: number) {
    this.#clock = real;
    this.#lateMs = lateMs;
  }

  now(): number {
    return this.#clock.now();
  }

  setTimeout(callback: () => void, delayMs: number): number {
    return this.#clock.setTimeout(callback, delayMs + this.#lateMs);
  }

  clearTimeout(handle: NodeJS.Timeout | number): void {
    this.#clock.clearTimeout(handle);
  }
}
