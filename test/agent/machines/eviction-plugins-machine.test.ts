import { describe, expect, test } from '@jest/globals';
import {
  type EvictionPluginsEvent,
  evictionPluginsMachine,
} from '../../../src/agent/machines/eviction-plugins-machine.ts';
import type { PluginAnswers } from '../../../src/agent/policies/eviction-plugins/plugin-pass.ts';
import { choosePods } from '../../../src/agent/policies/eviction-plugins/pod-choice.ts';
import type { ThresholdMetAnswer } from '../../../src/types/eviction-plugin.ts';
import { requestingPod } from '../../support/admission.ts';
import { condition, met, NOT_MET, PLUGIN_SETTINGS, wanted } from '../../support/eviction-plugins.ts';
import { Stepper } from '../../support/stepper.ts';

const A = requestingPod('a');
const START = 1_000_000;

const due = (...plugins: string[]): EvictionPluginsEvent => dueAt(START, ...plugins);
const dueAt = (nowMs: number, ...plugins: string[]): EvictionPluginsEvent => ({
  type: 'PASS_DUE',
  plugins,
  nowMs,
});
const answered = (plugin: string, more: Partial<PluginAnswers> = {}): EvictionPluginsEvent => ({
  type: 'PLUGIN_ANSWERED',
  answers: { plugin, refused: [], ...more },
});
const chosen = (answers: readonly PluginAnswers[] = [], isUnderWay = false): EvictionPluginsEvent => ({
  type: 'CHOSEN',
  choice: choosePods({
    answers,
    settings: PLUGIN_SETTINGS,
    isUnderWay: () => isUnderWay,
    isEnding: () => false,
  }),
});
const HANDED_OVER: EvictionPluginsEvent = { type: 'HANDED_OVER' };
const NAMES_A: PluginAnswers = { plugin: 'p', evictPods: { evictPods: [wanted(A)] }, refused: [] };

const waiting = (settings = PLUGIN_SETTINGS) => new Stepper(evictionPluginsMachine, { settings });
const collecting = () => waiting().send(due('p', 'q'));
const choosing = () => collecting().send(answered('p', { threshold: met() }), answered('q'));

describe('Waiting', () => {
  test('arms the period, and asks all plugins when it is over', () => {
    const it = waiting();
    expect([it.state, it.asked]).toEqual(['Waiting', ['armPeriod']]);
    it.send(due('p', 'q'));
    expect([it.state, it.asked]).toEqual(['Collecting', ['disarmPeriod', 'askPlugins']]);
    expect(it.context.awaited).toEqual(['p', 'q']);
  });

  test('without a plugin there is nothing to wait for', () => {
    const it = waiting().send(due());
    expect([it.state, it.asked]).toEqual(['Choosing', ['disarmPeriod', 'reportObservations', 'choosePods']]);
  });
});

describe('Collecting', () => {
  test('waits for every plugin; whatever they answer counts from the beginning of the pass', () => {
    const it = collecting().send(answered('q'));
    expect([it.state, it.context.awaited]).toEqual(['Collecting', ['p']]);
    it.send(answered('p', { threshold: met() }));
    expect([it.state, it.asked]).toEqual(['Choosing', ['reportObservations', 'choosePods']]);
    expect(it.context.observations.thresholds.get('p')?.firstObservedAt).toBe(START);
  });
});

describe('Choosing', () => {
  test('a threshold counts from its first observation without a break', () => {
    const it = waiting();
    const pass = (atMs: number, threshold: ThresholdMetAnswer) => {
      it.send(dueAt(START + atMs, 'p'), answered('p', { threshold }), chosen());
      return it.context.observations.thresholds.get('p')?.firstObservedAt;
    };
    expect([pass(0, met()), pass(9_999, met())]).toEqual([START, START]);
    expect([pass(15_000, NOT_MET), pass(20_000, met())]).toEqual([undefined, START + 20_000]);
  });

  test('a condition counts for the transition period after it was last observed', () => {
    const it = waiting({ ...PLUGIN_SETTINGS, conditionTransitionPeriodMs: 10_000 });
    const pass = (atMs: number, more: Partial<PluginAnswers>) => {
      it.send(dueAt(START + atMs, 'p'), answered('p', more), chosen());
      return [...it.context.observations.conditions.keys()];
    };
    expect(pass(0, { threshold: met({ gracePeriodSeconds: 3600, condition: condition('Hot') }) })).toEqual([
      'Hot',
    ]);
    expect(pass(9_999, {})).toEqual(['Hot']);
    expect(pass(10_000, {})).toEqual([]);
  });

  test('without pods to end the pass is over, and the decision is kept', () => {
    const it = choosing().send(chosen());
    expect([it.state, it.asked]).toEqual(['Waiting', ['reportChoice', 'armPeriod']]);
    expect(it.context.decided).toMatchObject({ atMs: START, choice: { ending: [] } });
    expect(it.context.decided?.answers.map(({ plugin }) => plugin)).toEqual(['p', 'q']);
  });
});

describe('Killing', () => {
  test('hands the pods over, and does not wait for their ends', () => {
    const it = collecting().send(answered('p', NAMES_A), answered('q'), chosen([NAMES_A]));
    expect([it.state, it.asked]).toEqual(['Killing', ['reportChoice', 'endPods']]);
    expect(it.context.decided?.choice.ending.map(({ pod }) => pod)).toEqual([A]);
    it.send(HANDED_OVER);
    expect(it.context.ended).toBe(it.context.decided);
    expect([it.state, it.asked]).toEqual(['Waiting', ['armPeriod']]);
  });

  test('a pod that is being ended is handed over again: a shorter grace period counts', () => {
    const it = collecting().send(answered('p', NAMES_A), answered('q'), chosen([NAMES_A], true));
    expect(it.state).toBe('Killing');
    expect(it.context.decided?.choice.ending).toEqual([]);
  });
});

test('a pass never begins while another one is under way', () => {
  for (const it of [collecting(), choosing()]) {
    const { state } = it;
    expect(it.send(due('p')).state).toBe(state);
    expect(it.context.nowMs).toBe(START);
  }
});
