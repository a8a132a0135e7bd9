/** Conditions of pressure, and who may come while they hold: each mistake is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import type { EvictionSignal } from '../../../../src/agent/policies/eviction/signals.ts';
import { requestingPod } from '../../../support/admission.ts';
import { EvictionCourt, pod, rule } from './eviction-court.ts';
import { CRITICAL } from '../admission-judge-bed.ts';

describe('conditions', () => {
  test('are there as soon as something is short, and for the transition period', async () => {
    const court = new EvictionCourt();
    court.look();
    court.left = { 'memory.available': 400 };
    court.nowMs = 59_999;
    court.look({ pass: 'Observing' });
    court.nowMs = 60_000;
    court.conditions = [];
    court.look({ pass: 'Observing' });
    expect(await court.reported()).toEqual([]);
    court.conditions = ['MemoryPressure'];
    court.look({ pass: 'Observing' });
    court.left = { 'memory.available': 200 };
    court.conditions = [];
    court.look({ pass: 'Observing' });
    expect(await court.reported()).toEqual([
      'eviction : MemoryPressure is stuck',
      'eviction : there is no MemoryPressure, though something is short',
    ]);
  });

  test.each<[EvictionSignal, string]>([
    ['allocatableMemory.available', 'MemoryPressure'],
    ['nodefs.inodesFree', 'DiskPressure'],
    ['pid.available', 'PIDPressure'],
  ])('%s leads to %s', async (signal, condition) => {
    const court = new EvictionCourt([rule(signal)]);
    court.left = { [signal]: 90 };
    court.conditions = [];
    court.look();
    expect(await court.reported()).toEqual([
      `eviction : there is no ${condition}, though something is short`,
    ]);
  });

  const AWAY = 'is rejected because of a pressure that does not concern it';
  const ADMITTED = 'is admitted, though the node is short of something';

  test('of memory turn away those alone that request nothing, and while they hold', async () => {
    const court = new EvictionCourt();
    court.rejected(requestingPod('early'), 'Evicted');
    court.look();
    court.rejected(requestingPod('rightly'), 'Evicted');
    court.rejected(pod('requesting'), 'Evicted');
    court.admitted(requestingPod('wrongly'));
    court.admitted(pod('asking'));
    expect(await court.reported()).toEqual([
      `admission early: ${AWAY}`,
      `admission requesting: ${AWAY}`,
      `admission wrongly: ${ADMITTED}`,
    ]);
  });

  test('of anything else turn away all that are not critical', async () => {
    const court = new EvictionCourt([rule('nodefs.available')]);
    court.left = { 'nodefs.available': 90 };
    court.conditions = ['DiskPressure'];
    court.look({ pass: 'ReclaimingNode' });
    court.rejected(pod('rightly'), 'Evicted');
    court.admitted(pod('wrongly'));
    court.rejected(pod('critical', '50', { priority: CRITICAL }), 'Evicted');
    court.admitted(pod('important', '50', { priority: CRITICAL }));
    expect(await court.reported()).toEqual(
      [`admission critical: ${AWAY}`, `admission wrongly: ${ADMITTED}`].reverse(),
    );
  });
});
