import { describe, expect, test } from '@jest/globals';
import { evictionMachine, type EvictionEvent } from '../../src/machines/eviction-machine.ts';
import {
  chooseVictim,
  evaluateEviction,
  type EvictionEvaluation,
  INITIAL_EVICTION_STATE,
} from '../../src/policies/eviction/pass.ts';
import type { PressureCondition } from '../../src/policies/eviction/signals.ts';
import { requestingPod } from '../support/admission.ts';
import {
  factsWith,
  type Left,
  settingsWith,
  shortageOf,
  statsOf,
  summaryOf,
  thresholds,
  usingMemory,
} from '../support/eviction.ts';
import { Stepper } from '../support/stepper.ts';

const scratch = { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Ki' } }] };
const PODS = ['a', 'b'].map((name) => requestingPod(name, scratch));
const HARD = { 'memory.available': '100Mi', 'nodefs.available': '10%', 'pid.available': '100' };
const SETTINGS = settingsWith({ thresholds: thresholds({ evictionHard: HARD }) });
const MEMORY = shortageOf('memory.available', '100Mi', { memory: 50 });
const DISK = shortageOf('nodefs.available', '10%', { disk: 5 });

function evaluation(left: Left, usedBytes = 0): EvictionEvaluation {
  const stats = PODS.map(({ metadata: { name } }) =>
    statsOf(name, { volume: [{ name: 'scratch', usedBytes }] }),
  );
  const facts = factsWith({ settings: SETTINGS, pods: PODS, summary: summaryOf(left, stats) });
  return evaluateEviction(facts);
}

const choice = (ending: readonly string[] = []) =>
  chooseVictim({
    ...{ settings: SETTINGS, shortage: MEMORY, pods: PODS },
    summary: summaryOf({}, [usingMemory('a', 300), usingMemory('b', 200)]),
    ending: new Set(ending),
    unendable: new Set(),
  });

const evaluated = (left: Left, usedBytes?: number): EvictionEvent => ({
  ...{ type: 'EVALUATED', evaluation: evaluation(left, usedBytes) },
});
const OBSERVE: EvictionEvent = { type: 'OBSERVE' };
const FAILED: EvictionEvent = { type: 'OBSERVATION_FAILED', problem: 'no cgroups' };
const RANKED: EvictionEvent = { type: 'RANKED', choice: choice() };
const RELIEVED: EvictionEvent = { type: 'RELIEVED' };
const CLEANED_UP: EvictionEvent = { type: 'CLEANED_UP' };
const reclaimed = (shortage?: typeof DISK): EvictionEvent => ({ type: 'NODE_RECLAIMED', shortage });
const ended = (uid: string): EvictionEvent => ({ type: 'POD_ENDED', uid });
const failed = (uid: string): EvictionEvent => ({ type: 'POD_FAILED', uid, problem: 'took too long' });
const gone = (uid: string): EvictionEvent => ({ type: 'POD_GONE', uid });

const observing = () => new Stepper(evictionMachine, undefined);
const evaluating = () => observing().send(OBSERVE);
const reclaiming = () => evaluating().send(evaluated({ disk: 5 }));
const ranking = () => evaluating().send(evaluated({ memory: 50 }));
const evicting = () => ranking().send(RANKED);
const evictingTwo = () => evaluating().send(evaluated({}, 2048));
const cleaningUp = () => evicting().send(ended('a'));

/** The state of the pass, without those of the conditions. */
function pass(it: Stepper<typeof evictionMachine>): string | undefined {
  return /Pass\.(\w+)/u.exec(it.state)?.[1];
}

describe('Observing', () => {
  test('is where it begins: it asks to be told when to look, and knows of nothing', () => {
    const it = observing();
    expect([pass(it), it.asked]).toEqual(['Observing', ['armObservation']]);
    expect(it.context).toMatchObject({ state: INITIAL_EVICTION_STATE, evictions: [], unendable: [] });
  });

  test('it is time to look', () => {
    const it = evaluating();
    expect([pass(it), it.asked]).toEqual(['Evaluating', ['disarmObservation', 'evaluate']]);
  });
});

describe('Evaluating', () => {
  test('nothing is short: it waits again, and keeps what the next pass needs', () => {
    const it = evaluating().send(evaluated({ memory: 500 }));
    expect([pass(it), it.asked]).toEqual(['Observing', ['armObservation']]);
    expect(it.context.state).toEqual(evaluation({ memory: 500 }).state);
    expect(it.context.shortage).toBeUndefined();
  });

  test('what cannot be measured is told of, and changes nothing', () => {
    const it = evaluating().send(FAILED);
    expect([pass(it), it.asked]).toEqual(['Observing', ['reportFailedObservation', 'armObservation']]);
    expect(it.context.state).toBe(INITIAL_EVICTION_STATE);
  });

  test('what is short on disk is first taken from the node itself', () => {
    const it = reclaiming();
    expect([pass(it), it.asked]).toEqual([
      'ReclaimingNode',
      ['reportShortage', 'reportPressure', 'reclaimNode'],
    ]);
    expect(it.context.shortage?.reclaim).toEqual(['containers', 'images']);
  });

  test('for memory pods are ranked at once', () => {
    const it = ranking();
    expect([pass(it), it.asked]).toEqual(['Ranking', ['reportShortage', 'reportPressure', 'rankPods']]);
  });

  test('pods over limits of their own end together, whatever else is short', () => {
    const it = evaluating().send(evaluated({ memory: 50 }, 2048));
    expect([pass(it), it.asked]).toEqual(['Evicting', ['reportPressure', 'endPods']]);
    expect(it.context).toMatchObject({ awaited: ['a', 'b'], shortage: undefined });
  });

  test('a second look is not begun before the first is over', () => {
    const it = evaluating().send(OBSERVE);
    expect([pass(it), it.asked]).toEqual(['Evaluating', []]);
  });
});

describe('ReclaimingNode', () => {
  test('if that is enough, no pod is touched', () => {
    const it = reclaiming().send(reclaimed());
    expect([pass(it), it.asked]).toEqual(['Observing', ['armObservation']]);
    expect(it.context.shortage).toBeUndefined();
  });

  test('if not, pods are ranked, for what is short by now', () => {
    const it = reclaiming().send(reclaimed(DISK));
    expect([pass(it), it.asked, it.context.shortage]).toEqual(['Ranking', ['rankPods'], DISK]);
  });
});

describe('Ranking', () => {
  test('the first one is told of and asked to end; why it is this one stays known', () => {
    const it = evicting();
    expect([pass(it), it.asked]).toEqual(['Evicting', ['reportChoice', 'endPods']]);
    expect(it.context).toMatchObject({ awaited: ['a'], choice: { eviction: { pod: { uid: 'a' } } } });
    expect(it.context.choice?.why).toContain('default/a (uses 300Mi');
    expect(it.send(ended('a'), CLEANED_UP).context.choice?.why).toContain('default/a');
  });

  test('nobody is asked while somebody is ending already', () => {
    const it = ranking().send({ type: 'RANKED', choice: choice(['b']) });
    expect([pass(it), it.asked]).toEqual(['Observing', ['reportChoice', 'armObservation']]);
    expect(it.context).toMatchObject({ evictions: [], awaited: [] });
  });

  test('nobody is asked where nothing is short any more', () => {
    const it = ranking().send(RELIEVED);
    expect([pass(it), it.asked, it.context.shortage]).toEqual(['Observing', ['armObservation'], undefined]);
  });
});

describe('Evicting', () => {
  test('a look at the node waits for the end of the pod', () => {
    const it = evicting().send(OBSERVE, evaluated({ memory: 50 }), RANKED);
    expect([pass(it), it.context.awaited]).toEqual(['Evicting', ['a']]);
  });

  test('the pod has ended: what it leaves is waited for', () => {
    const it = cleaningUp();
    expect([pass(it), it.asked]).toEqual(['CleaningUp', ['awaitCleanup']]);
    expect(it.context).toMatchObject({ awaited: [], ended: ['a'] });
  });

  test('every pod is waited for, in any order', () => {
    const it = evictingTwo().send(ended('b'));
    expect([pass(it), it.asked, it.context.awaited]).toEqual(['Evicting', [], ['a']]);
    expect(pass(it.send(ended('a')))).toBe('CleaningUp');
  });

  test('a pod that is not waited for makes no difference', () => {
    const it = evicting().send(ended('x'), failed('y'));
    expect([pass(it), it.asked]).toEqual(['Evicting', []]);
    expect(it.context).toMatchObject({ awaited: ['a'], ended: [], unendable: [] });
  });

  test('a pod that does not end is told of and remembered, and the next pass goes on without it', () => {
    const it = evicting().send(failed('a'));
    expect([pass(it), it.asked]).toEqual(['Observing', ['reportFailedPod', 'armObservation']]);
    expect(it.context).toMatchObject({ awaited: [], unendable: ['a'] });
  });

  test('if one of two does not end, what the other leaves is waited for', () => {
    const it = evictingTwo().send(ended('a'), failed('b'));
    expect([pass(it), it.asked]).toEqual(['CleaningUp', ['reportFailedPod', 'awaitCleanup']]);
    const other = evictingTwo().send(failed('a'));
    expect([pass(other), other.asked]).toEqual(['Evicting', ['reportFailedPod']]);
    expect(pass(other.send(ended('b')))).toBe('CleaningUp');
  });
});

describe('CleaningUp', () => {
  test('only then the node is looked at again', () => {
    expect(pass(cleaningUp().send(OBSERVE))).toBe('CleaningUp');
    const it = cleaningUp().send(CLEANED_UP);
    expect([pass(it), it.asked]).toEqual(['Observing', ['armObservation']]);
  });
});

test('a pod that is gone is not remembered as one that does not end', () => {
  const it = evicting().send(failed('a'), gone('x'));
  expect(it.context.unendable).toEqual(['a']);
  expect(it.send(gone('a')).context.unendable).toEqual([]);
  expect(pass(it)).toBe('Observing');
});

describe('pressure', () => {
  const holding = (conditions: PressureCondition[], observedConditions = conditions): EvictionEvent => ({
    type: 'EVALUATED',
    evaluation: { ...evaluation({}), conditions, observedConditions },
  });
  const REGIONS: [PressureCondition, string][] = [
    ['MemoryPressure', 'Memory'],
    ['DiskPressure', 'Disk'],
    ['PIDPressure', 'PID'],
  ];

  test.each(REGIONS)('%s is told of once as it comes and once as it goes', (condition, region) => {
    const it = evaluating();
    const steps: [EvictionEvent, string, boolean, string[]][] = [
      [holding([condition]), 'Observed', true, ['reportPressure']],
      [holding([condition]), 'Observed', true, []],
      [holding([condition], []), 'Lingering', true, []],
      [holding([condition], []), 'Lingering', true, []],
      [holding([condition]), 'Observed', true, []],
      [holding([condition], []), 'Lingering', true, []],
      [holding([]), 'Absent', false, ['reportNoPressure']],
      [holding([condition]), 'Observed', true, ['reportPressure']],
      [holding([]), 'Absent', false, ['reportNoPressure']],
    ];
    for (const [event, state, holds, asked] of steps) {
      it.send(event);
      expect(it.state).toContain(`${region}.${state}`);
      expect([it.hasTag(condition), it.asked.filter((name) => name.endsWith('Pressure'))]).toEqual([
        holds,
        asked,
      ]);
      it.send(OBSERVE);
    }
  });

  test('each condition is for itself', () => {
    const it = evaluating().send(holding(['MemoryPressure', 'PIDPressure']));
    expect(it.state).toContain('Memory.Observed');
    expect(it.state).toContain('Disk.Absent');
    expect(it.state).toContain('PID.Observed');
    it.send(OBSERVE, holding(['PIDPressure'], []));
    expect(REGIONS.map(([condition]) => it.hasTag(condition))).toEqual([false, false, true]);
  });

  test('without a transition period the kubelet tells of no pressure at all', () => {
    const it = evaluating().send(holding([], ['MemoryPressure']));
    expect([it.hasTag('MemoryPressure'), it.state.includes('Memory.Absent')]).toEqual([false, true]);
  });

  test('what cannot be measured leaves the conditions as they are', () => {
    const it = evaluating().send(holding(['DiskPressure']), OBSERVE, FAILED);
    expect(it.hasTag('DiskPressure')).toBe(true);
  });
});

test('without its effects the machine says that they are missing', () => {
  const actions = evictionMachine.implementations.actions as unknown as Record<
    string,
    (args: unknown, params: unknown) => void
  >;
  expect(() => actions.evaluate!({}, undefined)).toThrow('without its effects');
  expect(() => actions.reportPressure!({}, { condition: 'PIDPressure' })).toThrow('without its effects');
});
