import { describe, expect, test } from '@jest/globals';
import {
  type EvictionPluginsEvent,
  evictionPluginsMachine,
} from '../../../src/agent/machines/eviction-plugins-machine.ts';
import type { PluginAnswers } from '../../../src/agent/policies/eviction-plugins/plugin-pass.ts';
import { choosePods } from '../../../src/agent/policies/eviction-plugins/pod-choice.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { requestingPod } from '../../support/admission.ts';
import { condition, met, NOT_MET, PLUGIN_SETTINGS, wanted } from '../../support/eviction-plugins.ts';
import { Stepper } from '../../support/stepper.ts';

const A = requestingPod('a');
const START = 1_000_000;

const due = (...plugins: string[]): EvictionPluginsEvent => ({ type: 'PASS_DUE', plugins, nowMs: START });
const answered = (plugin: string, more: Partial<PluginAnswers> = {}, atMs = START): EvictionPluginsEvent => ({
  type: 'PLUGIN_ANSWERED',
  answers: { plugin, refused: [], ...more },
  nowMs: atMs,
});
const top = (plugin: string, ...targetPods: Pod[]): EvictionPluginsEvent => ({
  type: 'TOP_PODS_ANSWERED',
  plugin,
  topPods: { targetPods },
  refused: [],
});
const noTop = (plugin: string): EvictionPluginsEvent => ({
  type: 'TOP_PODS_ANSWERED',
  plugin,
  topPods: undefined,
  refused: ['pod x is not on this node'],
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
/** The threshold of p is met, and its grace period is over at once. */
const forThresholds = () => collecting().send(answered('p', { threshold: met() }), answered('q'));

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
    expect([it.state, it.asked]).toEqual([
      'Choosing.ByRules',
      ['disarmPeriod', 'reportObservations', 'choosePods'],
    ]);
  });
});

describe('Collecting', () => {
  test('waits for every plugin', () => {
    const it = collecting().send(answered('q'));
    expect([it.state, it.context.awaited]).toEqual(['Collecting', ['p']]);
    it.send(answered('p', {}, START + 7));
    expect([it.state, it.context.nowMs]).toEqual(['Choosing.ByRules', START + 7]);
  });
});

describe('Confirming', () => {
  test('the plugin of a threshold whose grace period is over is asked for pods, be it hard or soft', () => {
    const it = collecting().send(answered('p', { threshold: met() }));
    it.send(answered('q', { threshold: met({ metType: 'SOFT_MET' }) }));
    expect([it.state, it.asked]).toEqual(['Choosing.ForThresholds', ['reportObservations', 'askForTopPods']]);
    expect(it.context.awaited).toEqual(['p', 'q']);
  });

  test('a threshold counts from its first observation without a break', () => {
    const slow = { threshold: met({ gracePeriodSeconds: 10 }) };
    const it = waiting();
    const pass = (atMs: number, more: Partial<PluginAnswers>) =>
      it.send(due('p'), answered('p', more, START + atMs)).state;
    expect(pass(0, slow)).toBe('Choosing.ByRules');
    it.send(chosen());
    expect(pass(9_999, slow)).toBe('Choosing.ByRules');
    it.send(chosen());
    expect(pass(10_000, slow)).toBe('Choosing.ForThresholds');
    it.send(top('p'), chosen());
    expect(pass(15_000, { threshold: NOT_MET })).toBe('Choosing.ByRules');
    it.send(chosen());
    expect(pass(20_000, slow)).toBe('Choosing.ByRules');
  });

  test('a condition counts for the transition period after it was last observed', () => {
    const it = waiting({ ...PLUGIN_SETTINGS, conditionTransitionPeriodMs: 10_000 });
    const pass = (atMs: number, more: Partial<PluginAnswers>) => {
      it.send(due('p'), answered('p', more, START + atMs), chosen());
      return [...it.context.observations.conditions.keys()];
    };
    expect(pass(0, { threshold: met({ gracePeriodSeconds: 3600, condition: condition('Hot') }) })).toEqual([
      'Hot',
    ]);
    expect(pass(9_999, {})).toEqual(['Hot']);
    expect(pass(10_000, {})).toEqual([]);
  });
});

describe('Choosing', () => {
  test('keeps the pods for a threshold with the other answers of the plugin', () => {
    const it = forThresholds().send(top('p', A));
    expect([it.state, it.asked]).toEqual(['Choosing.ByRules', ['choosePods']]);
    expect(it.context.answers.find(({ plugin }) => plugin === 'p')?.topPods?.targetPods).toEqual([A]);
  });

  test('goes on without an answer, and keeps what was refused', () => {
    const it = forThresholds().send(noTop('p'));
    expect(it.state).toBe('Choosing.ByRules');
    const [answers] = it.context.answers;
    expect(answers).toMatchObject({ plugin: 'p', refused: ['pod x is not on this node'] });
    expect(answers).not.toHaveProperty('topPods');
  });

  test('waits for each plugin whose threshold is confirmed', () => {
    const both = { threshold: met() };
    const it = collecting().send(answered('p', both), answered('q', both), top('p', A));
    expect([it.state, it.context.awaited]).toEqual(['Choosing.ForThresholds', ['q']]);
    expect(it.send(top('q')).state).toBe('Choosing.ByRules');
  });

  test('without pods to end the pass is over, and the decision is kept', () => {
    const it = forThresholds().send(top('p'), chosen());
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
  for (const it of [collecting(), forThresholds(), forThresholds().send(top('p'))]) {
    const { state } = it;
    expect(it.send(due('p')).state).toBe(state);
    expect(it.context.nowMs).toBe(START);
  }
});
