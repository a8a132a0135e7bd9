import { describe, expect, test } from '@jest/globals';
import {
  changedTaints,
  taintsBackOffMs,
  taintsOfConditions,
} from '../../../../src/agent/policies/eviction-plugins/taints-of-conditions.ts';
import type { PluginCondition } from '../../../../src/types/eviction-plugin.ts';
import type { Taint } from '../../../../src/types/kubernetes.ts';

const NOW = '2030-01-01T00:00:00Z';
const key = (name: string) => `katalyst.kubewharf.io/${name}`;

function condition(name: string, more: Partial<PluginCondition> = {}): PluginCondition {
  return { name, type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true, ...more };
}

describe('the taints of conditions', () => {
  test('are one for each effect', () => {
    const { taints, problems } = taintsOfConditions([
      condition('MemoryPressure', { effects: ['NoSchedule', 'NoExecute'] }),
      condition('cpu.pressure', { effects: ['PreferNoSchedule'] }),
    ]);
    expect(taints).toEqual([
      { key: key('MemoryPressure'), effect: 'NoSchedule' },
      { key: key('MemoryPressure'), effect: 'NoExecute' },
      { key: key('cpu.pressure'), effect: 'PreferNoSchedule' },
    ]);
    expect(problems).toEqual([]);
  });

  test('are not created for a condition that does not hold, or is not about the node', () => {
    const conditions = [condition('a', { met: false }), condition('b', { type: 'CNR_CONDITION' })];
    expect(taintsOfConditions(conditions)).toEqual({ taints: [], problems: [] });
  });

  test.each(['', 'has a blank', 'a/b', '-a', 'a_', 'x'.repeat(64)])(
    'a name that is no part of a taint key is refused by name: "%s"',
    (name) => {
      const { taints, problems } = taintsOfConditions([condition(name), condition('good')]);
      expect(taints).toEqual([{ key: key('good'), effect: 'NoSchedule' }]);
      expect(problems).toEqual([expect.stringContaining(`condition "${name}" cannot become a taint: `)]);
    },
  );

  test('an unknown effect is refused by name, and the others count', () => {
    const { taints, problems } = taintsOfConditions([condition('a', { effects: ['Evict', 'NoSchedule'] })]);
    expect(taints).toEqual([{ key: key('a'), effect: 'NoSchedule' }]);
    expect(problems).toEqual([
      'condition "a" has the unknown effect "Evict": one of NoSchedule, PreferNoSchedule, NoExecute is needed',
    ]);
  });

  test('of a CNR_CONDITION are for the QoS level that its effects name, and other effects are refused', () => {
    const effects = ['reclaimed_cores/NoSchedule', 'NoExecute', 'shared_cores/NoExecute'];
    const hot = condition('Hot', { type: 'CNR_CONDITION', effects });
    const { taints, problems } = taintsOfConditions([hot, condition('a')], 'CNR_CONDITION');
    expect(taints).toEqual([{ key: key('Hot'), effect: 'NoSchedule', qosLevel: 'reclaimed_cores' }]);
    expect(problems).toEqual([
      'condition "Hot" has the effect "NoExecute" without a QoS level: reclaimed_cores/NoExecute',
      expect.stringContaining('unknown effect "shared_cores/NoExecute"'),
    ]);
    expect(taintsOfConditions([condition('a', { effects: ['reclaimed_cores/NoSchedule'] })]).taints).toEqual(
      [],
    );
  });

  test('a condition without an effect is reported', () => {
    expect(taintsOfConditions([condition('a', { effects: [] })])).toEqual({
      taints: [],
      problems: ['condition "a" has no effect: one of NoSchedule, PreferNoSchedule, NoExecute is needed'],
    });
  });
});

describe('the taints of the node', () => {
  const others = [
    { key: 'dedicated', value: 'x', effect: 'NoSchedule' },
    { key: 'katalyst.kubewharf.io.example.com/a', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute', timeAdded: '2029-01-01T00:00:00Z' },
  ];
  const ours = { key: key('a'), effect: 'NoSchedule' };
  const changed = (current: readonly Taint[], wanted: readonly Taint[], keepsEarlier = false) =>
    changedTaints({ current, wanted, keepsEarlier, now: NOW });

  test('get the missing ones; taints of other clients stay as they are', () => {
    expect(changed(others, [ours])).toEqual([...others, ours]);
    expect(changed([], [ours])).toEqual([ours]);
  });

  test('lose those that no condition requires', () => {
    const [first, ...rest] = others;
    expect(changed([first!, ours, ...rest], [])).toEqual(others);
  });

  test('keep those of an earlier run until their conditions would be over', () => {
    expect(changed([ours], [], true)).toBeUndefined();
    const other = { key: key('b'), effect: 'NoSchedule' };
    expect(changed([ours], [other], true)).toEqual([ours, other]);
  });

  test('are not written if nothing differs', () => {
    expect(changed([...others, ours], [ours])).toBeUndefined();
    expect(changed(others, [])).toBeUndefined();
    expect(changed([{ ...ours, value: 'kept' }], [ours])).toBeUndefined();
  });

  test('of the same key and another effect are another taint', () => {
    const executing = { ...ours, effect: 'NoExecute' };
    expect(changed([ours], [executing])).toEqual([{ ...executing, timeAdded: NOW }]);
  });

  test('with NoExecute keep the time at which they were added', () => {
    const executing = { key: key('a'), effect: 'NoExecute', timeAdded: '2029-01-01T00:00:00Z' };
    const wanted = { key: key('a'), effect: 'NoExecute' };
    expect(changed([executing], [wanted, ours])).toEqual([executing, ours]);
  });
});

test('a failed write is tried again later and later; a refused one after five minutes', () => {
  expect([1, 2, 3, 4, 5, 6].map((failures) => taintsBackOffMs(failures, false) / 1000)).toEqual([
    5, 10, 20, 40, 60, 60,
  ]);
  expect(taintsBackOffMs(1, false, 30_000)).toBe(30_000);
  expect(taintsBackOffMs(1, true)).toBe(300_000);
});
