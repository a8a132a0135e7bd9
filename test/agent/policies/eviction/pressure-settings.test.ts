import { describe, expect, test } from '@jest/globals';
import {
  observe,
  settledThresholds,
  thresholdsMet,
} from '../../../../src/agent/policies/eviction/observations.ts';
import { chooseVictim, evaluateEviction } from '../../../../src/agent/policies/eviction/pass.ts';
import {
  type PressureSettings,
  pressureThresholds,
} from '../../../../src/agent/policies/eviction/pressure-settings.ts';
import {
  mostUrgentShortage,
  shortageAfterReclaim,
} from '../../../../src/agent/policies/eviction/shortage.ts';
import { requestingPod } from '../../../support/admission.ts';
import {
  doingIO,
  factsWith,
  type Left,
  ONE_FILE_SYSTEM,
  settingsWith,
  summaryOf,
  thresholds,
  usingMemory,
} from '../../../support/eviction.ts';

const parse = (evictionPSI: PressureSettings['evictionPSI'], evictionPSIGracePeriod = {}) =>
  pressureThresholds({ evictionPSI, evictionPSIGracePeriod });
const MEMORY = parse({ 'memory.pressure.full.avg10': '20%' });
const IO = parse({ 'io.pressure.some.avg10': '40%' });
const NOBODY = { ending: new Set<string>(), unendable: new Set<string>() };

describe('thresholds', () => {
  test('act at once, or after their grace period', () => {
    const settings = { 'io.pressure.some.avg10': '40%', 'memory.pressure.full.avg10': '12.5%' };
    expect(
      parse(settings, { 'io.pressure.some.avg10': '30s' }).map(({ signal, gracePeriodMs }) => [
        signal,
        gracePeriodMs,
      ]),
    ).toEqual([
      ['memory.pressure.full.avg10', 0],
      ['io.pressure.some.avg10', 30_000],
    ]);
  });

  test.each([
    [
      { 'cpu.pressure.some.avg10': '10%' },
      {},
      /unsupported pressure signal cpu.pressure.some.avg10; there are memory/,
    ],
    [{ 'memory.available': '10%' }, {}, /unsupported pressure signal memory.available/],
    [{ 'io.pressure.some.avg10': '0%' }, {}, /must be above 0% and below 100%: 0%/],
    [{ 'io.pressure.some.avg10': '100%' }, {}, /must be above 0% and below 100%: 100%/],
    [{ 'io.pressure.some.avg10': '20' }, {}, /must be above 0% and below 100%: 20/],
    [
      { 'io.pressure.some.avg10': '20%' },
      { 'io.pressure.some.avg10': 'soon' },
      /must be a duration such as "1m30s"/,
    ],
    [{}, { 'io.pressure.some.avg10': '30s' }, /io.pressure.some.avg10 has a grace period and no threshold/],
  ])('that are invalid are refused: %j %j', (settings, periods, problem) => {
    expect(() => parse(settings, periods)).toThrow(problem);
  });

  test.each<[number, boolean]>([
    [20, false],
    [40, false],
    [40.02, true],
    [100, true],
  ])('are met when tasks wait longer: %d%%', (memoryStall, isMet) => {
    const met = thresholdsMet(MEMORY, observe(summaryOf({ memory: 500, memoryStall })), {
      minReclaim: false,
    });
    expect(met).toEqual(isMet ? MEMORY : []);
  });

  test('are not met if the kernel does not measure pressure', () => {
    expect(
      thresholdsMet([...MEMORY, ...IO], observe(summaryOf({ memory: 0 })), { minReclaim: false }),
    ).toEqual([]);
  });
});

test('while an average covers the time before the last eviction ended, it is no reason to evict', () => {
  const all = [...thresholds({ evictionHard: { 'memory.available': '100Mi' } }), ...MEMORY];
  expect(settledThresholds(all, undefined, 0)).toEqual(all);
  expect(settledThresholds(all, 1000, 30_999).map(({ signal }) => signal)).toEqual(['memory.available']);
  expect(settledThresholds(all, 1000, 31_000)).toEqual(all);
});

const evaluate = (left: Left, more = {}) =>
  evaluateEviction(
    factsWith({
      settings: settingsWith({ thresholds: [...MEMORY, ...IO] }),
      summary: summaryOf({ memory: 500, ...left }),
      ...more,
    }),
  );

test('pressure of memory is MemoryPressure, pressure of I/O is DiskPressure', () => {
  expect(evaluate({ memoryStall: 50 })).toMatchObject({
    conditions: ['MemoryPressure'],
    shortage: { resource: 'memory', isHard: true, reclaim: [] },
  });
  expect(evaluate({ ioStall: 50 })).toMatchObject({
    conditions: ['DiskPressure'],
    shortage: { resource: 'io', isHard: true, reclaim: [] },
  });
  expect(evaluate({ memoryStall: 30, ioStall: 40 })).toMatchObject({ conditions: [], shortage: undefined });
});

test('after an eviction the condition stays, and no other pod is evicted until the average covers only the time since then', () => {
  const early = evaluate({ ioStall: 50, nowMs: 2000 }, { lastEndMs: 1000, nowMs: 2000 });
  expect(early).toMatchObject({ conditions: ['DiskPressure'], shortage: undefined });
  const late = evaluate({ ioStall: 50, nowMs: 31_000 }, { lastEndMs: 1000, nowMs: 31_000 });
  expect(late.shortage?.resource).toBe('io');
});

test('a resource that is short comes before a resource under pressure', () => {
  const memory = thresholds({ evictionHard: { 'memory.available': '600Mi' } });
  const settings = settingsWith({ thresholds: [...memory, ...MEMORY] });
  expect(evaluate({ memoryStall: 90 }, { settings }).shortage?.threshold.signal).toBe('memory.available');
});

test('the I/O of removing unused images and containers is no reason to evict a pod', () => {
  const disk = thresholds({ evictionHard: { 'nodefs.available': '10Gi' } });
  const shortage = mostUrgentShortage(disk, observe(summaryOf({ disk: 5 })), ONE_FILE_SYSTEM)!;
  const after = observe(summaryOf({ disk: 50, ioStall: 90 }));
  expect(shortageAfterReclaim(shortage, [...disk, ...IO], after)).toBeUndefined();
});

function choose(
  left: Left,
  stats: Parameters<typeof summaryOf>[1],
  pods = [requestingPod('a'), requestingPod('b')],
) {
  const summary = summaryOf({ memory: 500, ...left }, stats);
  const observations = observe(summary);
  const met = thresholdsMet([...MEMORY, ...IO], observations, { minReclaim: false });
  const shortage = mostUrgentShortage(met, observations, ONE_FILE_SYSTEM)!;
  return chooseVictim({ settings: settingsWith({}), shortage, summary, pods, ...NOBODY });
}

describe('the evicted pod', () => {
  test('is chosen for memory pressure as for a shortage of memory', () => {
    const { eviction, why } = choose({ memoryStall: 60.5 }, [usingMemory('a', 10), usingMemory('b', 20)]);
    expect(eviction).toMatchObject({ pod: { name: 'b' }, gracePeriodSeconds: 1 });
    expect(eviction?.message).toBe(
      'The node was low on resource: memory. Threshold of memory.pressure.full.avg10: 20%, observed: 30.25%. ' +
        'Container main was using 20Mi, request is 0, has larger consumption of memory. ',
    );
    expect(why).toBe(
      'memory.pressure.full.avg10 30.25% > 20% (hard); 2 pods ranked: default/b (uses 20Mi, requests 0, priority 0) goes; next: default/a (uses 10Mi, requests 0, priority 0)',
    );
  });

  test('is, for I/O pressure, the pod with the lowest priority and the highest I/O rate', () => {
    const pods = [requestingPod('a'), requestingPod('b'), requestingPod('c', { priority: 1 })];
    const stats = [doingIO('a', 2 ** 20), doingIO('b', 3 * 2 ** 20), doingIO('c', 9 * 2 ** 20)];
    const { eviction, why } = choose({ ioStall: 50 }, stats, pods);
    expect(eviction?.message).toBe(
      'The node was low on resource: io. Threshold of io.pressure.some.avg10: 40%, observed: 50%. ',
    );
    expect(why).toBe(
      'io.pressure.some.avg10 50% > 40% (hard); 3 pods ranked: default/b (uses 3Mi/s, priority 0) goes; next: default/a (uses 1Mi/s, priority 0), default/c (uses 9Mi/s, priority 1)',
    );
  });

  test('is never a pod without I/O, for I/O pressure', () => {
    const pods = [requestingPod('a'), requestingPod('b', { priority: 1 })];
    const { eviction, why } = choose({ ioStall: 50 }, [doingIO('a', 0), doingIO('b', 1)], pods);
    expect([eviction?.pod.name, why]).toEqual([
      'b',
      expect.stringContaining('passed over: default/a (does no I/O)'),
    ]);
    expect(choose({ ioStall: 50 }, [doingIO('a', 0), doingIO('b', 0)]).eviction).toBeUndefined();
  });
});
