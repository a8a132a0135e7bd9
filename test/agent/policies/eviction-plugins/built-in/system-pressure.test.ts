import { describe, expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  judgeSystem,
  type SystemFacts,
  type SystemPressureMemory,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/system-pressure.ts';
import type { MachineMemory } from '../../../../../src/types/eviction-plugin.ts';

const GIB = 2 ** 30;
const settings = DEFAULT_BUILT_IN_SETTINGS.systemMemory;
const NOW = 1_000_000;
type Found = Partial<MachineMemory> &
  Partial<Pick<SystemFacts, 'podsWaited'>> & { readonly afterMs?: number };
const PLENTY: MachineMemory = { totalBytes: 100 * GIB, freeBytes: 50 * GIB };

/** The pressure that each question finds. */
function judged(findings: readonly Found[], before: SystemPressureMemory = {}) {
  let kept = before;
  let nowMs = NOW;
  return findings.map(({ podsWaited, afterMs = 10_000, ...machine }) => {
    nowMs += afterMs;
    const verdict = judgeSystem({ machine: { ...PLENTY, ...machine }, podsWaited, nowMs }, kept, settings);
    kept = verdict.kept;
    return verdict.pressure;
  });
}
const reaches = (findings: readonly Found[]) => judged(findings).map((pressure) => pressure?.reach);
const waiting = (some: number, full: number): MachineMemory['psi'] => {
  const data = { total: 0, avg60: 0, avg300: 0 };
  return { some: { ...data, avg10: some }, full: { ...data, avg10: full } };
};

describe('free memory', () => {
  test.each([
    ['less than the distance of the watermarks', GIB - 1, 100, 0, 'reclaimed'],
    ['as much as that', GIB, 100, 0, undefined],
    ['less than the minimum, where that is more', 2 * GIB - 1, 100, 2 * GIB, 'reclaimed'],
    ['any, on a kernel that does not tell of watermarks', 0, undefined, 0, undefined],
  ])('%s', (_, freeBytes, watermarkScaleFactor, freeMinimumBytes, reach) => {
    const machine = {
      ...PLENTY,
      freeBytes,
      ...(watermarkScaleFactor !== undefined && { watermarkScaleFactor }),
    };
    const facts = { machine, podsWaited: undefined, nowMs: NOW };
    const { pressure } = judgeSystem(facts, {}, { ...settings, freeMinimumBytes });
    expect(pressure?.reach).toBe(reach);
  });

  test('is described with the wanted amount', () => {
    expect(judged([{ freeBytes: GIB / 2, watermarkScaleFactor: 100 }])).toEqual([
      { reach: 'reclaimed', signal: 'free', thresholdValue: GIB, observedValue: GIB / 2 },
    ]);
  });
});

describe('kswapd', () => {
  const at = (kswapdPages: number, fields: Found = {}): Found => ({
    kswapdPages,
    afterMs: 60_000,
    ...fields,
  });

  test('that reclaims 2000 pages a second for two minutes leads to the eviction of any pod', () => {
    const found = judged([at(0), at(120_000), at(240_000), at(300_000)]);
    expect(found).toEqual([
      undefined,
      undefined,
      { reach: 'any', signal: 'kswapd', thresholdValue: 2000, observedValue: 2000 },
      undefined,
    ]);
  });

  test('must do so without a break', () => {
    expect(reaches([at(0), at(120_000), at(239_999), at(359_999), at(479_999)])).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      'any',
    ]);
  });

  test('starts again when the count does, or when the clock is set back', () => {
    const never = Array.from({ length: 4 });
    expect(reaches([at(500_000), at(620_000), at(0), at(120_000)])).toEqual(never);
    const back = [at(240_000, { afterMs: -1 }), at(360_000, { afterMs: 60_001 })];
    expect(reaches([at(0), at(120_000), ...back])).toEqual(never);
  });

  test('is not evaluated twice within a second', () => {
    expect(reaches([at(0), at(120_000), at(120_000, { afterMs: 10 }), at(250_000)])).toEqual([
      undefined,
      undefined,
      undefined,
      'any',
    ]);
  });

  test('leads to no eviction while no task waits for memory', () => {
    const busy = (psi: MachineMemory['psi']) =>
      reaches([at(0), at(120_000), at(240_000)].map((found) => ({ ...found, ...(psi && { psi }) }))).at(-1);
    expect(busy(waiting(0.9, 0))).toBeUndefined();
    expect(busy(waiting(1, 0))).toBe('any');
  });
});

describe('tasks that wait for memory', () => {
  const psi = waiting(15, 4)!;

  test('for fifteen seconds lead to the eviction of reclaimed pods, for three times as long of any pods', () => {
    const found = Array.from({ length: 6 }, () => ({ psi }));
    expect(reaches(found)).toEqual([undefined, undefined, 'reclaimed', 'reclaimed', 'reclaimed', 'any']);
    expect(judged(found).at(-1)).toEqual({
      reach: 'any',
      signal: 'waiting',
      thresholdValue: 15,
      observedValue: 15,
    });
  });

  test.each([
    ['some wait too little', { psi: waiting(14.9, 5)! }],
    ['not enough wait all together', { psi: waiting(50, 3.9)! }],
    ['fewer than three pods wait', { psi, podsWaited: [30, 30, 1] }],
  ])('start again if %s', (_, calm: Found) => {
    expect(reaches([{ psi }, { psi }, calm, { psi }, { psi }])).toEqual(Array.from({ length: 5 }));
  });

  test('are counted from the start when the clock is set back', () => {
    expect(reaches([{ psi }, { psi, afterMs: -100_000 }, { psi }, { psi }])).toEqual([
      undefined,
      undefined,
      undefined,
      'reclaimed',
    ]);
  });

  test('count where three pods wait', () => {
    expect(reaches(Array.from({ length: 3 }, () => ({ psi, podsWaited: [2, 2, 2] })))).toEqual([
      undefined,
      undefined,
      'reclaimed',
    ]);
  });
});

test('of several reasons the one that allows the eviction of any pod counts', () => {
  const before = { kswapd: { pages: 0, atMs: NOW - 60_000 }, kswapdSinceMs: NOW - 120_000 };
  const found = { kswapdPages: 1_000_000, freeBytes: 0, watermarkScaleFactor: 10 };
  expect(judged([found], before)).toMatchObject([{ reach: 'any', signal: 'kswapd' }]);
  expect(judged([{ ...found, kswapdPages: 1 }], before)).toMatchObject([
    { reach: 'reclaimed', signal: 'free' },
  ]);
});
