import { expect, test } from '@jest/globals';
import { lowest } from '../../../src/page/browser/axis-view.ts';
import { levelLanes, pressureLanes, recordedMeasurements } from '../../../src/page/browser/pressure-lanes.ts';
import type { PressureFigure } from '../../../src/types/page-views.ts';
import type { Transition } from '../../../src/types/transition.ts';

const GI = 2 ** 30;
const MEMORY = { signal: 'memory.available', whole: 8 * GI, hard: GI, soft: 2 * GI };
const memory = (left: number): PressureFigure => ({ ...MEMORY, left: left * GI });
const KIND = { chart: 'eviction', actor: 'eviction', event: 'EVALUATED', actions: [] };

test('what was recorded and what is measured now are one lane for each signal, in order of time, beside its thresholds', () => {
  const inodes = { signal: 'nodefs.inodesFree', left: 12_345, whole: 20_000 };
  const recorded: Transition = { ...KIND, atMs: 1_000, from: 'A', to: 'A', data: { figures: [memory(4)] } };
  const measured = [
    { atMs: 3_000, figures: [memory(0.5), inodes] },
    { atMs: 2_000, figures: [memory(1.5)] },
  ];
  const lanes = levelLanes([...measured, ...recordedMeasurements([recorded, { ...recorded, data: {} }])]);
  expect(lanes.map(({ name, level }) => [name, level?.now])).toEqual([
    ['memory.available', '512Mi of 8Gi left'],
    ['nodefs.inodesFree', '12,345 of 20,000 left'],
  ]);
  expect(lanes[0]?.spans).toEqual([
    { fromMs: 1_000, toMs: 2_000, kind: 'calm', level: 0.5, text: '4Gi of 8Gi left' },
    {
      ...{ fromMs: 2_000, toMs: 3_000, kind: 'attention', level: 0.1875 },
      text: '1.5Gi of 8Gi left, below the soft threshold',
    },
    {
      ...{ fromMs: 3_000, toMs: undefined, kind: 'attention', level: 0.0625 },
      text: '512Mi of 8Gi left, below the hard threshold',
    },
  ]);
  expect(lanes.map(({ level }) => level?.limits)).toEqual([
    [
      { kind: 'hard', at: 0.125, text: 'hard threshold: 1Gi' },
      { kind: 'soft', at: 0.25, text: 'soft threshold: 2Gi' },
    ],
    [],
  ]);
});

test('a figure does not hold for the time in which nothing was measured', () => {
  const [lane] = levelLanes([
    { atMs: 0, figures: [memory(4)] },
    { atMs: 7_200_000, figures: [memory(3)] },
  ]);
  expect(lane?.spans.map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
    [0, 660_000],
    [7_200_000, undefined],
  ]);
});

test('pressure of tasks that wait is shown as the share of the time without a wait', () => {
  const [lane] = levelLanes([
    { atMs: 0, figures: [{ signal: 'io.pressure.some.avg10', left: 98, whole: 100, hard: 80 }] },
  ]);
  expect(lane?.level?.now).toBe('98% of the time without a wait');
  expect(lane?.level?.limits[0]?.text).toBe('hard threshold: 80%');
});

test('levels that are too close to be seen apart are one, the lowest', () => {
  const span = (fromMs: number, level: number) => ({
    ...{ fromMs, toMs: fromMs + 10, level },
    ...{ kind: 'calm' as const, text: String(level) },
  });
  expect(lowest([span(0, 0.5), span(10, 0.2), span(20, 0.9), span(30, 0.4)], 25)).toEqual([
    { ...span(0, 0.2), toMs: 30 },
    span(30, 0.4),
  ]);
});

test('a condition has the time under pressure, and the time after it in which it still holds', () => {
  const state = (of: string) => `Pass.Observing,Pressure.Memory.${of},Disk.Absent,PID.Absent`;
  const steps = ['Absent', 'Present.Observed', 'Present.Lingering', 'Absent'].map(state);
  const transitions = steps
    .slice(1)
    .map((to, index) => ({ ...KIND, atMs: (index + 1) * 1_000, from: steps[index] ?? '', to }));
  const [lane] = pressureLanes(transitions, 500);
  expect(lane?.spans.map(({ fromMs, toMs, kind }) => [fromMs, toMs, kind])).toEqual([
    [500, 1_000, 'ok'],
    [1_000, 2_000, 'attention'],
    [2_000, 3_000, 'wait'],
    [3_000, undefined, 'ok'],
  ]);
});
