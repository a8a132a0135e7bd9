import { describe, expect, test } from '@jest/globals';
import { ReplaySubject } from 'rxjs';
import type { EventFaults } from '../../../src/simulation/runtime/call-faults.ts';
import { answerTo } from '../../../src/simulation/runtime/chance.ts';
import { planEvent } from '../../../src/simulation/runtime/event-streams.ts';
import type { Clock } from '../../../src/types/clock.ts';
import type { ContainerEvent } from '../../../src/types/cri.ts';
import { chosen, eventsOf, simulatedBed, startPod } from './simulated-bed.ts';

const LIFE = ['CREATED pod.s1', 'STARTED pod.s1', 'CREATED pod.c1', 'STARTED pod.c1'];

/** Fires timers in the wrong order, as a busy process may. */
class LatestFirstClock implements Clock {
  readonly #callbacks: (() => void)[] = [];

  now(): number {
    return 0;
  }

  setTimeout(callback: () => void): number {
    return this.#callbacks.push(callback);
  }

  clearTimeout(): void {
    throw new Error('no timer is taken back here');
  }

  fireAll(): void {
    for (let callback = this.#callbacks.pop(); callback; callback = this.#callbacks.pop()) callback();
  }
}

describe('the events of a simulated runtime', () => {
  test('are those of sandboxes and containers, and never come from within the call', async () => {
    const bed = simulatedBed();
    const heard = eventsOf(bed);
    const { id, sandboxId } = await startPod(bed, 'pod');
    bed.simulated.killContainer(id, 1);
    expect(heard).toEqual(LIFE);
    await bed.runtime.removePodSandbox(sandboxId);
    await bed.clock.advance(0);
    expect(heard.slice(LIFE.length)).toEqual([
      'STOPPED pod.c1',
      'STOPPED pod.s1',
      'DELETED pod.c1',
      'DELETED pod.s1',
    ]);
  });

  test('have the time of the change and their pod', async () => {
    const bed = simulatedBed({ latencies: { Event: [10, 10] } });
    const events = new ReplaySubject<ContainerEvent>();
    bed.runtime.containerEvents().subscribe(events);
    const createdAt = bed.clock.now() * 1e6;
    await startPod(bed, 'pod');
    await bed.clock.advance(10);
    const first = await new Promise((resolve) => events.subscribe(resolve));
    expect(first).toMatchObject({ createdAt, podSandboxMetadata: { uid: 'pod', namespace: 'default' } });
  });

  test('of one pod come in order, whatever their latencies', async () => {
    const bed = simulatedBed({ latencies: { Event: [0, 50] } });
    const heard = eventsOf(bed);
    for (let round = 0; round < 10; round += 1) {
      const uid = `pod-${round}`;
      const { sandboxId } = await startPod(bed, uid);
      await bed.runtime.removePodSandbox(sandboxId);
      await bed.clock.advance(100);
      const types = heard.filter((text) => text.endsWith(`${uid}.c1`)).map((text) => text.split(' ')[0]);
      expect(types).toEqual(['CREATED', 'STARTED', 'STOPPED', 'DELETED']);
    }
  });

  test('of one pod come in order, even if timers fire out of order', async () => {
    const clock = new LatestFirstClock();
    const bed = simulatedBed({ clock, latencies: { Event: [10, 10] } });
    const heard = eventsOf(bed);
    await startPod(bed, 'pod');
    expect(heard).toEqual([]);
    clock.fireAll();
    expect(heard).toEqual(LIFE);
  });

  test('from before the subscription are not sent', async () => {
    const bed = simulatedBed({ latencies: { Event: [10, 10] } });
    const first = eventsOf(bed);
    await startPod(bed, 'pod');
    const second = eventsOf(bed);
    await bed.clock.advance(100);
    expect([first, second]).toEqual([LIFE, []]);
  });

  test('are no longer sent to an agent that is killed, nor is a completion', async () => {
    const bed = simulatedBed();
    const heard = eventsOf(bed);
    let ended = false;
    bed.runtime.containerEvents().subscribe({ complete: () => (ended = true) });
    bed.runtime.cut();
    await startPod({ runtime: bed.simulated.connect() }, 'pod');
    await bed.clock.advance(1000);
    expect([heard, ended]).toEqual([[], false]);
  });

  test('are complete when the agent closes its connection', async () => {
    const { runtime } = simulatedBed();
    let ended = 0;
    runtime.containerEvents().subscribe({ complete: () => (ended += 1) });
    await runtime.close();
    runtime.containerEvents().subscribe({ complete: () => (ended += 1) });
    expect(ended).toBe(2);
  });
});

describe('faulty events', () => {
  const heardOf = async (events: object, random = chosen(() => true)) => {
    const bed = simulatedBed({ faults: { events }, random });
    const heard = eventsOf(bed);
    await startPod(bed, 'pod');
    await bed.clock.advance(0);
    return { bed, heard };
  };

  test('are lost', async () => {
    const { bed, heard } = await heardOf({ lost: 1 });
    await bed.clock.advance(60_000);
    expect(heard).toEqual([]);
  });

  test('come late', async () => {
    const { bed, heard } = await heardOf({ late: 1 });
    await bed.clock.advance(999);
    expect(heard).toEqual([]);
    await bed.clock.advance(30_000);
    expect(heard.toSorted()).toEqual(LIFE.toSorted());
  });

  test('come twice', async () => {
    const { bed, heard } = await heardOf({ doubled: 1 });
    await bed.clock.advance(2000);
    expect(heard.toSorted()).toEqual([...LIFE, ...LIFE].toSorted());
  });

  test('come out of order', async () => {
    let draws = 0;
    const values = [0.9, 0.1].map((least) =>
      chosen((value) => Math.abs(answerTo('overtaken', value) - least) < 0.05)(''),
    );
    const random = () => values[Math.min(draws++, 1)]!;
    const { bed, heard } = await heardOf({ reordered: 1 }, random);
    await bed.clock.advance(500);
    expect(heard).toEqual([...LIFE.slice(1), LIFE[0]]);
  });
});

describe('the events of a runtime that goes down', () => {
  test('are not sent until it is back; then there is one for each present state', async () => {
    const bed = simulatedBed({ latencies: { Reconnect: [500, 500] } });
    const gone = await startPod(bed, 'gone');
    const { id, sandboxId } = await startPod(bed, 'pod');
    const dying = await startPod(bed, 'dying');
    const heard = eventsOf(bed);
    bed.simulated.goDown();
    bed.simulated.killContainer(id, 1);
    bed.simulated.killSandbox(dying.sandboxId);
    await bed.clock.advance(10_000);
    bed.simulated.comeUp();
    await bed.runtime.removePodSandbox(gone.sandboxId);
    expect(heard).toEqual([]);
    await bed.clock.advance(500);
    expect(heard).toEqual([
      `STARTED ${sandboxId}`,
      `STOPPED ${id}`,
      `STOPPED ${dying.sandboxId}`,
      `STARTED ${dying.id}`,
      `DELETED ${gone.id}`,
      `DELETED ${gone.sandboxId}`,
    ]);
  });

  test('are sent again after that', async () => {
    const bed = simulatedBed();
    const heard = eventsOf(bed);
    bed.simulated.goDown();
    bed.simulated.comeUp();
    await bed.clock.advance(0);
    await startPod(bed, 'pod');
    expect(heard).toEqual(LIFE);
  });

  test('are not sent if it goes down again before its clients have reconnected', async () => {
    const bed = simulatedBed({ latencies: { Reconnect: [500, 500] } });
    await startPod(bed, 'pod');
    const heard = eventsOf(bed);
    bed.simulated.goDown();
    bed.simulated.comeUp();
    bed.simulated.goDown();
    await bed.clock.advance(10_000);
    expect(heard).toEqual([]);
  });
});

const VALUES = Array.from({ length: 500 }, (_, index) => index / 500);

const plansOf = (faults?: EventFaults, latency?: readonly [number, number]) =>
  VALUES.map((value) => planEvent(faults, latency, value));

/** Whether all delays are in the range, and not all the same. */
function expectBetween(delays: readonly (number | undefined)[], [min, max]: readonly [number, number]): void {
  expect(Math.min(...delays.map((delay) => delay ?? NaN))).toBeGreaterThanOrEqual(min);
  expect(Math.max(...delays.map((delay) => delay ?? NaN))).toBeLessThanOrEqual(max);
  expect(new Set(delays).size).toBeGreaterThan(1);
}

describe('an event', () => {
  test('without faults and latency is sent at once, in order, one time', () => {
    for (const plan of plansOf()) {
      expect(plan).toEqual({ delayMs: 0, inOrder: true, againAfterMs: undefined });
    }
  });

  test('has a latency, and keeps its order', () => {
    const plans = plansOf(undefined, [5, 10]);
    expectBetween(
      plans.map(({ delayMs }) => delayMs),
      [5, 10],
    );
    expect(plans.every(({ inOrder }) => inOrder)).toBe(true);
  });

  test('that is lost is never sent; a doubled one comes later all the same', () => {
    for (const { delayMs, againAfterMs } of plansOf({ lost: 1 })) {
      expect([delayMs, againAfterMs]).toEqual([undefined, undefined]);
    }
    const plans = plansOf({ lost: 1, doubled: 1 });
    expect(plans.every(({ delayMs }) => delayMs === undefined)).toBe(true);
    expectBetween(
      plans.map(({ againAfterMs }) => againAfterMs),
      [0, 2000],
    );
  });

  test('that is late comes 1 to 30 s after its time, out of order', () => {
    const plans = plansOf({ late: 1 }, [5, 5]);
    expectBetween(
      plans.map(({ delayMs }) => delayMs),
      [1005, 30_005],
    );
    expect(plans.some(({ inOrder }) => inOrder)).toBe(false);
  });

  test('that is overtaken comes up to half a second after its time, out of order', () => {
    const plans = plansOf({ reordered: 1 }, [5, 5]);
    expectBetween(
      plans.map(({ delayMs }) => delayMs),
      [6, 505],
    );
    expect(plans.some(({ inOrder }) => inOrder)).toBe(false);
  });
});
