import { existsSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type {
  PressureCrossing,
  PressureThreshold,
} from '../../../../src/agent/runtime/stats/pressure-watch.ts';
import type { StatsProvider } from '../../../../src/agent/runtime/stats/stats-provider.ts';
import { openBelow } from '../../../support/held-open.ts';
import { StatsBed } from './stats-bed.ts';

const SOME: PressureThreshold = { resource: 'memory', kind: 'some', percent: 20 };
const FULL: PressureThreshold = { resource: 'memory', kind: 'full', percent: 10 };
const IO: PressureThreshold = { resource: 'io', kind: 'some', percent: 50 };
const PERIOD_MS = 2000;

let bed: StatsBed;
let provider: StatsProvider;
let told: [resource: string, kind: string, percent: number, avg10: number, isAbove: boolean][];

beforeEach(() => {
  bed = new StatsBed();
  wait('memory', { some: 0, full: 0 });
  wait('io', { some: 0, full: 0 });
  provider = bed.open();
  told = [];
});
afterEach(() => bed.cleanUp());

/** The averages over longer times are high, and must be ignored. */
function wait(resource: string, avg10: { readonly some: number; readonly full: number }): void {
  const line = (kind: 'some' | 'full') =>
    `${kind} avg10=${avg10[kind].toFixed(2)} avg60=99.00 avg300=99.00 total=123456\n`;
  bed.write(`proc/pressure/${resource}`, line('some') + line('full'));
}

const note = ({ resource, kind, percent, avg10, isAbove }: PressureCrossing) =>
  void told.push([resource, kind, percent, avg10, isAbove]);
const watch = (...thresholds: PressureThreshold[]) => provider.watchPressure(thresholds, note);
const heldOpen = () => openBelow(bed.cgroups.path('proc/pressure'));

describe('a threshold of pressure', () => {
  test('that is crossed is reported once, when the kernel has updated the average', async () => {
    watch(SOME);
    await bed.clock.advance(60_000);
    expect(told).toEqual([]);
    wait('memory', { some: 20.01, full: 0 });
    await bed.clock.advance(PERIOD_MS);
    expect(told).toEqual([['memory', 'some', 20, 20.01, true]]);
    wait('memory', { some: 80, full: 0 });
    await bed.clock.advance(60_000);
    expect(told).toHaveLength(1);
  });

  test('is reported again when it is no longer exceeded, and when it is crossed again', async () => {
    watch(SOME);
    for (const some of [20.5, 20, 30]) {
      wait('memory', { some, full: 0 });
      await bed.clock.advance(PERIOD_MS);
    }
    expect(told.map(([, , , avg10, isAbove]) => [avg10, isAbove])).toEqual([
      [20.5, true],
      [20, false],
      [30, true],
    ]);
  });

  test('that is crossed when the watch begins is reported at once', () => {
    wait('memory', { some: 15, full: 15 });
    watch(SOME, FULL);
    expect(told).toEqual([['memory', 'full', 10, 15, true]]);
  });

  test('is compared only with the pressure of its own resource and kind', async () => {
    watch(SOME, FULL, IO);
    wait('io', { some: 51, full: 40 });
    await bed.clock.advance(PERIOD_MS);
    wait('memory', { some: 21, full: 9 });
    await bed.clock.advance(PERIOD_MS);
    wait('memory', { some: 21, full: 11 });
    await bed.clock.advance(PERIOD_MS);
    expect(told.map(([resource, kind]) => `${resource} ${kind}`)).toEqual([
      'io some',
      'memory some',
      'memory full',
    ]);
  });
});

describe('the watch of pressure', () => {
  test('reports nothing on a kernel that does not measure pressure', async () => {
    rmSync(bed.cgroups.path('proc/pressure'), { recursive: true });
    watch({ ...SOME, percent: 0 }, { ...IO, percent: 0 });
    await bed.clock.advance(60_000);
    expect(told).toEqual([]);
  });

  test('without thresholds reads no file', () => {
    watch();
    expect([bed.clock.armed, heldOpen()]).toEqual([0, 0]);
  });

  test('keeps one file open for each resource, and none after it is stopped', async () => {
    const watching = watch(SOME, FULL, IO);
    await bed.clock.advance(PERIOD_MS);
    expect(heldOpen()).toBe(2);
    watching.stop();
    wait('memory', { some: 90, full: 90 });
    await bed.clock.advance(60_000);
    expect([told, bed.clock.armed, heldOpen()]).toEqual([[], 0, 0]);
  });

  test('reports nothing more after its own callback has stopped it', async () => {
    const watching = provider.watchPressure([SOME, FULL], (crossing) => {
      note(crossing);
      watching.stop();
    });
    wait('memory', { some: 90, full: 90 });
    await bed.clock.advance(60_000);
    expect(told).toHaveLength(1);
    expect([bed.clock.armed, heldOpen()]).toEqual([0, 0]);
  });

  test('ends with the provider', async () => {
    watch(SOME);
    await provider.close();
    expect([bed.clock.armed, heldOpen()]).toEqual([0, 0]);
  });

  test('reads the pressure of the kernel of this machine', () => {
    const resources = ['memory', 'io'] as const;
    const always = resources.flatMap((resource) =>
      (['some', 'full'] as const).map((kind) => ({ resource, kind, percent: -1 })),
    );
    bed.open({ root: '/' }).watchPressure(always, note);
    const counted = resources.filter((resource) => existsSync(`/proc/pressure/${resource}`));
    const expected = counted.flatMap((resource) => [`${resource} some`, `${resource} full`]);
    expect(told.map(([resource, kind]) => `${resource} ${kind}`)).toEqual(expected);
    expect(told.every(([, , , avg10]) => avg10 >= 0 && avg10 <= 100)).toBe(true);
  });
});
