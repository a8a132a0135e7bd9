import { expect, test } from '@jest/globals';
import {
  explainPlugins,
  type PluginsFacts,
} from '../../../../src/agent/policies/eviction-plugins/explain-plugins.ts';
import {
  NOTHING_OBSERVED,
  observePlugins,
  type PluginAnswers,
} from '../../../../src/agent/policies/eviction-plugins/plugin-pass.ts';
import { choosePods } from '../../../../src/agent/policies/eviction-plugins/pod-choice.ts';
import { requestingPod } from '../../../support/admission.ts';
import { condition, met, PLUGIN_SETTINGS, wanted } from '../../../support/eviction-plugins.ts';

const START = 1_000_000;
const NOW = START + 60_000;
const A = requestingPod('a');
const B = requestingPod('b');

const answers: readonly PluginAnswers[] = [
  {
    plugin: 'p',
    evictPods: { evictPods: [wanted(A, { gracePeriodSeconds: 3 })], condition: condition('Warm') },
    threshold: met({ gracePeriodSeconds: 0, condition: condition('Hot', { effects: [] }) }),
    topPods: { targetPods: [B], gracePeriodSeconds: 9 },
    refused: ['pod default/x (UID x) is not on this node'],
  },
  { plugin: 'trial', evictPods: { evictPods: [wanted(B)] }, refused: [] },
];
const settings = {
  ...PLUGIN_SETTINGS,
  dryRun: ['trial'],
  evictionBurst: 1,
  conditionTransitionPeriodMs: 60_000,
};
const observations = observePlugins(answers, NOTHING_OBSERVED, settings, START);
const choice = choosePods({ answers, settings, isUnderWay: () => false, isEnding: () => false });
const plugin = (name: string) => ({
  name,
  origin: 'built-in',
  state: 'Serving',
  sinceMs: START,
  problem: undefined,
});

const facts = (more: Partial<PluginsFacts> = {}): PluginsFacts => ({
  plugins: [plugin('trial'), plugin('p'), plugin('new')],
  settings,
  observations,
  decided: { atMs: START, answers, choice },
  ended: undefined,
  state: 'Waiting',
  awaited: [],
  kills: [],
  nowMs: NOW,
  ...more,
});

test('before the first pass there are only the plugins', () => {
  const explained = explainPlugins(facts({ decided: undefined, observations: NOTHING_OBSERVED }));
  expect(explained).toMatchObject({ decidedMs: undefined, conditions: [], candidates: [], queue: [] });
  expect(explained.plugins.map(({ name, evictPods, threshold }) => [name, evictPods, threshold])).toEqual([
    ['new', undefined, undefined],
    ['p', undefined, undefined],
    ['trial', undefined, undefined],
  ]);
  expect(explained).not.toHaveProperty('ended');
});

test('each plugin has its answers, what was refused, and its threshold with the time of its first observation', () => {
  const [fresh, p, trial] = explainPlugins(facts()).plugins;
  expect(fresh).toMatchObject({ name: 'new', refused: [], topPods: undefined });
  expect(p).toEqual({
    ...plugin('p'),
    isDryRun: false,
    evictPods: [
      { pod: 'default/a', uid: 'a', reason: 'it uses too much', forceEvict: true, gracePeriodSeconds: 3 },
    ],
    threshold: {
      metType: 'HARD_MET',
      scope: 'memory',
      thresholdValue: 10,
      observedValue: 20,
      gracePeriodSeconds: 0,
      firstObservedMs: START,
      isConfirmed: true,
    },
    topPods: [
      { pod: 'default/b', uid: 'b', reason: 'for scope memory', forceEvict: true, gracePeriodSeconds: 9 },
    ],
    refused: ['pod default/x (UID x) is not on this node'],
  });
  expect(trial).toMatchObject({ isDryRun: true, threshold: undefined });
});

test('every pod that was named has its verdict, and the queue is shown', () => {
  const { candidates, queue, decidedMs } = explainPlugins(facts());
  expect(decidedMs).toBe(START);
  expect(candidates).toMatchObject([
    { pod: 'default/a', plugin: 'p', scope: 'force', verdict: 'Goes' },
    { pod: 'default/b', plugin: 'p', scope: 'memory', verdict: 'Queued', gracePeriodSeconds: 9 },
  ]);
  expect(queue).toEqual(['default/b']);
});

test('conditions stand in the order of their names, for the transition period', () => {
  const conditions = (nowMs: number) => explainPlugins(facts({ nowMs })).conditions;
  expect(conditions(NOW - 1)).toEqual([
    { name: 'Hot', effects: [], lastObservedMs: START, stands: true },
    { name: 'Warm', effects: ['NoSchedule'], lastObservedMs: START, stands: true },
  ]);
  expect(conditions(NOW).map(({ stands }) => stands)).toEqual([false, false]);
});

test('the latest pass by which pods ended is kept', () => {
  const { ended } = explainPlugins(facts({ ended: { atMs: START - 5, answers, choice } }));
  expect(ended).toMatchObject({
    decidedMs: START - 5,
    candidates: [{ pod: 'default/a' }, { pod: 'default/b' }],
  });
});
