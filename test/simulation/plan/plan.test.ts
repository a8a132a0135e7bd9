import { describe, expect, test } from '@jest/globals';
import { ALL_FAULTS } from '../../../src/simulation/plan/fault-kinds.ts';
import {
  countOperations,
  localNames,
  ofLocalPod,
  type Operation,
  plan as lazyPlan,
  type PlanOptions,
} from '../../../src/simulation/plan/plan.ts';
import { simulate, type SimulationOptions } from '../../../src/simulation/simulation.ts';

const OPTIONS: PlanOptions = { seed: 7, nodes: 3, pods: 5, hours: 24 };
const plan = (options: PlanOptions): readonly Operation[] => [...lazyPlan(options)];
const HOUR_MS = 3_600_000;

test('equal seeds give equal plans, and different seeds different plans', () => {
  expect(plan(OPTIONS)).toEqual(plan(OPTIONS));
  expect(plan({ ...OPTIONS, seed: 8 })).not.toEqual(plan(OPTIONS));
});

test('operations are sorted by time, and numbered in that order from 1 on', () => {
  const operations = plan(OPTIONS);
  expect(operations.map(({ number }) => number)).toEqual(operations.map((_, index) => index + 1));
  expect(operations).toEqual(operations.toSorted((a, b) => a.atMs - b.atMs));
});

test('the operations are counted', () => {
  expect(countOperations(OPTIONS)).toBe(plan(OPTIONS).length);
});

test('all operations lie within the hours, nodes and names of the options', () => {
  const operations = plan({ ...OPTIONS, hours: 2 });
  const distinct = (what: (operation: Operation) => unknown) => new Set(operations.map(what));
  expect(operations.filter(({ atMs }) => atMs < 0 || atMs >= 2 * HOUR_MS)).toEqual([]);
  expect(distinct(({ node }) => node)).toEqual(new Set([1, 2, 3]));
  const names = ['pod-1', 'pod-2', 'pod-3', 'pod-4', 'pod-5', 'local-1', 'local-2'];
  expect(distinct(({ name }) => name)).toEqual(new Set(['', ...names]));
});

test('each name has about twelve operations an hour, and the first within a minute', () => {
  const operations = plan(OPTIONS);
  const ofNames = operations.filter(({ name, change }) => name !== '' && change.kind !== 'resize');
  const names = OPTIONS.pods + localNames(OPTIONS.pods).length;
  const perHour = ofNames.length / (OPTIONS.nodes * names * OPTIONS.hours);
  expect([perHour > 8, perHour < 16]).toEqual([true, true]);
  const first = new Map<string, number>();
  for (const { node, name, atMs } of operations) {
    if (name === '') continue;
    const slot = `${node}/${name}`;
    first.set(slot, Math.min(atMs, first.get(slot) ?? Infinity));
  }
  expect(first.size).toBe(OPTIONS.nodes * names);
  expect(Math.max(...first.values())).toBeLessThanOrEqual(60_000);
});

test('the plan has every kind of change', () => {
  const kinds = new Set(plan(OPTIONS).map(({ change }) => change.kind));
  expect([...kinds].sort()).toEqual([
    'ambush',
    'change image',
    'cordon',
    'crash agent',
    'create',
    'create again',
    'delete',
    'delete by hand',
    'delete mirror',
    'delete object',
    'end container',
    'end sandbox',
    'flap',
    'forget versions',
    'kill',
    'leave remains',
    'relabel',
    'remove',
    'resize',
    'restart agent',
    'set condition',
    'set object',
    'stop api',
    'stop runtime',
  ]);
});

describe('when a plan is carried out', () => {
  const options: SimulationOptions = { seed: 7, nodes: 1, pods: 3, hours: 0.3, faults: ALL_FAULTS };

  /** The operations in the history: `pod-1 #3 {…}`. */
  async function told(more: Partial<SimulationOptions>) {
    const lines: string[] = [];
    const result = await simulate({ ...options, ...more, onLine: (line) => lines.push(line) });
    return {
      ...result,
      told: lines.flatMap((line) => /(\S+): (#\d+ \{.*)/.exec(line)?.slice(1).join(' ') ?? []),
    };
  }

  const asTold = ({ number, name, change }: Operation) =>
    `${name || 'node-1'} #${number} ${JSON.stringify(change)}`;

  test('operations of faults that are switched off are skipped, and the others stay the same', async () => {
    const planned = plan(options).map(asTold);
    const [all, none] = [await told({}), await told({ faults: [] })];
    expect(all.told).toEqual(planned);
    expect(all.operations).toEqual(none.operations);
    const isFault = (line: string) =>
      / \{"kind":"(?:end container|end sandbox|crash agent|restart agent|stop runtime|stop api|forget versions)"/.test(
        line,
      );
    expect(planned.some(isFault)).toBe(true);
    expect(none.told).toEqual(planned.filter((line) => !isFault(line)));
  });

  test('a single operation keeps its number and its change', async () => {
    const last = plan(options).at(-1)!;
    const alone = await told({ only: [last.number] });
    expect(alone.operations).toEqual([last.number]);
    expect(alone.told).toEqual([asTold(last)]);
  });
});

describe('the operations of ordinary pods of manifests', () => {
  const ofLocal = plan(OPTIONS).filter(({ name }) => name.startsWith('local-'));

  test('create only such pods, and change none in place', () => {
    const sources = ofLocal.flatMap(({ change }) => (change.kind === 'create' ? change.source : []));
    expect(new Set(sources)).toEqual(new Set(['local']));
    expect(ofLocal.filter(({ change }) => ['relabel', 'change image'].includes(change.kind))).toEqual([]);
  });

  test('do the same where they wait for a call', () => {
    const change = { kind: 'relabel', times: 3 } as const;
    expect(ofLocalPod({ kind: 'ambush', call: 'PullImage', change })).toEqual({
      kind: 'ambush',
      call: 'PullImage',
      change: { kind: 'delete by hand' },
    });
  });
});
