import { expect, test } from '@jest/globals';
import { explainEviction } from '../../../../src/agent/policies/eviction/explanation.ts';
import { requestingPod } from '../../../support/admission.ts';
import { pressureThresholds } from '../../../../src/agent/policies/eviction/pressure-settings.ts';
import { doingIO, settingsWith, summaryOf, thresholds, usingMemory } from '../../../support/eviction.ts';

const settings = settingsWith({
  thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi', 'pid.available': '10%' } }),
});
const pods = [
  requestingPod('modest', { requests: { memory: '200Mi' } }),
  requestingPod('greedy'),
  requestingPod('dns', { critical: true }),
];
const summary = summaryOf({ memory: 400 }, [
  usingMemory('modest', 150),
  usingMemory('greedy', 300),
  usingMemory('dns', 500),
]);
const nobody = { ending: new Set<string>(), unendable: new Set<string>() };

test('each threshold shows whether it is met, and which pod would be evicted first if it were', () => {
  const { thresholds: explained, conditions } = explainEviction({
    settings,
    summary,
    pods,
    ...nobody,
    conditions: ['MemoryPressure'],
  });
  expect(conditions).toEqual(['MemoryPressure']);
  expect(explained[0]).toMatchObject({
    signal: 'memory.available',
    isHard: true,
    gracePeriodSeconds: 0,
    isMet: false,
    threshold: '<100Mi',
    observed: '400Mi',
    resource: 'memory',
    reclaim: [],
    victim: 'default/greedy',
  });
  expect(explained[0]?.candidates.map(({ name, isCritical }) => [name, isCritical])).toEqual([
    ['greedy', false],
    ['dns', true],
    ['modest', false],
  ]);
  expect(explained[0]?.why).toContain('default/greedy (uses 300Mi, requests 0, priority 0) goes');
});

test('a signal that is not measured has no observed value', () => {
  const { thresholds: explained } = explainEviction({ settings, summary, pods, conditions: [], ...nobody });
  expect(explained[1]).toMatchObject({ signal: 'pid.available', isMet: false, candidates: [], reclaim: [] });
  expect(explained[1]?.observed).toBeUndefined();
});

test('a signal of pressure shows how long tasks wait', () => {
  const evictionPSI = { 'io.pressure.full.avg10': '20%' };
  const { thresholds: explained } = explainEviction({
    settings: settingsWith({ thresholds: pressureThresholds({ evictionPSI, evictionPSIGracePeriod: {} }) }),
    summary: summaryOf({ ioStall: 50.5 }, [doingIO('modest', 10), doingIO('greedy', 20)]),
    pods,
    conditions: [],
    ...nobody,
  });
  expect(explained).toMatchObject([
    { threshold: '>20%', observed: '25.25%', isMet: true, resource: 'io', victim: 'default/greedy' },
  ]);
});
