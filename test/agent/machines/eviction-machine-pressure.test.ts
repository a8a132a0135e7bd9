import { describe, expect, test } from '@jest/globals';
import { evictionMachine, type EvictionEvent } from '../../../src/agent/machines/eviction-machine.ts';
import { evaluateEviction } from '../../../src/agent/policies/eviction/pass.ts';
import type { PressureCondition } from '../../../src/agent/policies/eviction/signals.ts';
import { factsWith, settingsWith, summaryOf, thresholds } from '../../support/eviction.ts';
import { after } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

const SETTINGS = settingsWith({ thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }) });
const EVALUATION = evaluateEviction(factsWith({ settings: SETTINGS, pods: [], summary: summaryOf({}, []) }));

const PERIOD_OVER = after('period', 'eviction.Schedule.Everything.Waiting');
const FAILED: EvictionEvent = { type: 'OBSERVATION_FAILED', problem: 'no cgroups' };

const evaluating = () => new Stepper(evictionMachine, undefined).send(PERIOD_OVER);

describe('pressure', () => {
  const holding = (conditions: PressureCondition[], observedConditions = conditions): EvictionEvent => ({
    type: 'EVALUATED',
    evaluation: { ...EVALUATION, conditions, observedConditions },
  });
  const REGIONS: [PressureCondition, string][] = [
    ['MemoryPressure', 'Memory'],
    ['DiskPressure', 'Disk'],
    ['PIDPressure', 'PID'],
  ];

  test.each(REGIONS)('%s is reported once when it begins and once when it ends', (condition, region) => {
    const it = evaluating();
    const steps: [EvictionEvent, string, boolean, string[]][] = [
      [holding([condition]), 'Present.Observed', true, ['reportPressure']],
      [holding([condition]), 'Present.Observed', true, []],
      [holding([condition], []), 'Present.Lingering', true, []],
      [holding([condition], []), 'Present.Lingering', true, []],
      [holding([condition]), 'Present.Observed', true, []],
      [holding([condition], []), 'Present.Lingering', true, []],
      [holding([]), 'Absent', false, ['reportNoPressure']],
      [holding([condition]), 'Present.Observed', true, ['reportPressure']],
      [holding([]), 'Absent', false, ['reportNoPressure']],
    ];
    for (const [event, state, holds, asked] of steps) {
      it.send(event);
      expect(it.state).toContain(`${region}.${state}`);
      expect([it.hasTag(condition), it.asked.filter((name) => name.endsWith('Pressure'))]).toEqual([
        holds,
        asked,
      ]);
      it.send(PERIOD_OVER);
    }
  });

  test('each condition is independent', () => {
    const it = evaluating().send(holding(['MemoryPressure', 'PIDPressure']));
    expect(it.state).toContain('Memory.Present.Observed');
    expect(it.state).toContain('Disk.Absent');
    expect(it.state).toContain('PID.Present.Observed');
    it.send(PERIOD_OVER, holding(['PIDPressure'], []));
    expect(REGIONS.map(([condition]) => it.hasTag(condition))).toEqual([false, false, true]);
  });

  test('without a transition period no condition ever holds, as in the kubelet', () => {
    const it = evaluating().send(holding([], ['MemoryPressure']));
    expect([it.hasTag('MemoryPressure'), it.state.includes('Memory.Absent')]).toEqual([false, true]);
  });

  test('a failed measurement does not change the conditions', () => {
    const it = evaluating().send(holding(['DiskPressure']), PERIOD_OVER, FAILED);
    expect(it.hasTag('DiskPressure')).toBe(true);
  });
});
