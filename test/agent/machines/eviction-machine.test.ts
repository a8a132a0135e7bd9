import { describe, expect, test } from '@jest/globals';
import { evictionMachine, type EvictionEvent } from '../../../src/agent/machines/eviction-machine.ts';
import {
  chooseVictim,
  evaluateEviction,
  type EvictionEvaluation,
  INITIAL_EVICTION_STATE,
} from '../../../src/agent/policies/eviction/pass.ts';
import { requestingPod } from '../../support/admission.ts';
import {
  factsWith,
  type Left,
  settingsWith,
  shortageOf,
  statsOf,
  summaryOf,
  thresholds,
  usingMemory,
} from '../../support/eviction.ts';
import { DOUBT_MEASUREMENTS_MAX } from '../../../src/agent/policies/eviction/measurement-schedule.ts';
import { after } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

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
    settings: SETTINGS,
    shortage: MEMORY,
    pods: PODS,
    summary: summaryOf({}, [usingMemory('a', 300), usingMemory('b', 200)]),
    ending: new Set(ending),
    unendable: new Set(),
  });

const evaluated = (left: Left, usedBytes?: number): EvictionEvent => ({
  type: 'EVALUATED',
  evaluation: evaluation(left, usedBytes),
});
const PERIOD_OVER = after('period', 'eviction.Schedule.Everything.Waiting');
const DOUBT_OVER = after('doubt', 'eviction.Schedule.Memory.InDoubt');
const MEMORY_SHORT: EvictionEvent = { type: 'MEMORY_SHORT' };
const MEMORY_ENOUGH: EvictionEvent = { type: 'MEMORY_ENOUGH' };
const MEMORY_STALLED: EvictionEvent = { type: 'MEMORY_STALLED' };
const IO_STALLED: EvictionEvent = { type: 'IO_STALLED' };
const PLENTY = evaluated({ memory: 500, disk: 50 });
const FAILED: EvictionEvent = { type: 'OBSERVATION_FAILED', problem: 'no cgroups' };
const RANKED: EvictionEvent = { type: 'RANKED', choice: choice() };
const RELIEVED: EvictionEvent = { type: 'RELIEVED' };
const CLEANED_UP: EvictionEvent = { type: 'CLEANED_UP' };
const reclaimed = (shortage?: typeof DISK): EvictionEvent => ({ type: 'NODE_RECLAIMED', shortage });
const ended = (uid: string): EvictionEvent => ({ type: 'POD_ENDED', uid });
const failed = (uid: string): EvictionEvent => ({ type: 'POD_FAILED', uid, problem: 'took too long' });
const gone = (uid: string): EvictionEvent => ({ type: 'POD_GONE', uid });

const observing = () => new Stepper(evictionMachine, undefined);
const evaluating = () => observing().send(PERIOD_OVER);
const reclaiming = () => evaluating().send(evaluated({ disk: 5 }));
const ranking = () => evaluating().send(evaluated({ memory: 50 }));
const evicting = () => ranking().send(RANKED);
const evictingTwo = () => evaluating().send(evaluated({}, 2048));
const cleaningUp = () => evicting().send(ended('a'));

type Machine = Stepper<typeof evictionMachine>;

/** The state of the region Pass, for example `Observing`. */
function pass(it: Machine): string | undefined {
  return /Pass\.(\w+)/u.exec(it.state)?.[1];
}

/** What is being measured: `Memory`, `Everything`, or nothing. */
function measured(it: Machine): string | undefined {
  return /Pass\.Evaluating\.(\w+)/u.exec(it.state)?.[1];
}

/** The states of Schedule for memory and for everything, for example `NotDue`, `Waiting`. */
function schedule(it: Machine): (string | undefined)[] {
  return /Schedule\.Memory\.(\w+) Everything\.(\w+)/u.exec(it.state)?.slice(1) ?? [];
}

describe('Observing', () => {
  test('is the initial state: a timer for the period is armed', () => {
    const it = observing();
    expect([pass(it), schedule(it), it.asked]).toEqual(['Observing', ['NotDue', 'Waiting'], []]);
    expect(it.context).toMatchObject({ state: INITIAL_EVICTION_STATE, evictions: [], unendable: [] });
  });

  test('if the period is over, everything is measured', () => {
    const it = evaluating();
    expect([measured(it), it.asked]).toEqual(['Everything', ['measureEverything']]);
  });

  test('if memory is reported short, only memory is measured, and the period goes on', () => {
    for (const event of [MEMORY_SHORT, MEMORY_STALLED]) {
      const it = observing().send(event);
      expect([measured(it), schedule(it), it.asked]).toEqual([
        'Memory',
        ['Measuring', 'Waiting'],
        ['measureMemory'],
      ]);
    }
  });

  test('if tasks wait for disks, everything is measured', () => {
    const it = observing().send(IO_STALLED);
    expect([measured(it), it.asked]).toEqual(['Everything', ['measureEverything']]);
  });

  test('if a pod has ended, only a resource that is short is measured', () => {
    expect(pass(observing().send(ended('x')))).toBe('Observing');
    const short = (left: Left, shortage: typeof MEMORY) =>
      evaluating().send(evaluated(left), ...(left.disk ? [reclaimed(shortage)] : []), {
        type: 'RANKED',
        choice: choice(['b']),
      });
    expect(measured(short({ memory: 50 }, MEMORY).send(ended('b')))).toBe('Memory');
    expect(measured(short({ disk: 5 }, DISK).send(ended('b')))).toBe('Everything');
  });
});

describe('Evaluating', () => {
  test('if nothing is short, the machine waits again, and keeps the state for the next pass', () => {
    const it = evaluating().send(evaluated({ memory: 500 }));
    expect([pass(it), it.asked]).toEqual(['Observing', []]);
    expect(it.context.state).toEqual(evaluation({ memory: 500 }).state);
    expect(it.context.shortage).toBeUndefined();
  });

  test('a failed measurement is logged, and the state for the next pass stays the same', () => {
    const it = evaluating().send(FAILED);
    expect([pass(it), it.asked]).toEqual(['Observing', ['reportFailedObservation']]);
    expect(it.context.state).toBe(INITIAL_EVICTION_STATE);
  });

  test('if disk is short, dead containers and images are removed first', () => {
    const it = reclaiming();
    expect([pass(it), it.asked]).toEqual([
      'ReclaimingNode',
      ['reportShortage', 'reportPressure', 'reclaimNode'],
    ]);
    expect(it.context.shortage?.reclaim).toEqual(['containers', 'images']);
  });

  test('if memory is short, pods are ranked at once', () => {
    const it = ranking();
    expect([pass(it), it.asked]).toEqual(['Ranking', ['reportShortage', 'reportPressure', 'rankPods']]);
  });

  test('pods that exceed their own limits are evicted together, even if a resource of the node is short', () => {
    const it = evaluating().send(evaluated({ memory: 50 }, 2048));
    expect([pass(it), it.asked]).toEqual(['Evicting', ['reportPressure', 'endPods']]);
    expect(it.context).toMatchObject({ awaited: ['a', 'b'], shortage: undefined });
  });

  test('if memory is reported short while everything is measured, the measurement is hurried, and memory is next', () => {
    for (const event of [MEMORY_SHORT, MEMORY_STALLED]) {
      const it = evaluating().send(event);
      expect([measured(it), schedule(it), it.asked]).toEqual([
        'Everything',
        ['Due', 'Measuring'],
        ['hurryMeasurement'],
      ]);
      it.send(PLENTY);
      expect([measured(it), schedule(it), it.asked]).toEqual([
        'Memory',
        ['Measuring', 'Waiting'],
        ['measureMemory'],
      ]);
    }
  });

  test('a pod that ends hurries the measurement of everything only if memory is short', () => {
    expect(evaluating().send(ended('x')).asked).toEqual([]);
    const it = evaluating().send(
      evaluated({ memory: 50 }),
      { type: 'RANKED', choice: choice(['b']) },
      PERIOD_OVER,
    );
    expect([measured(it), it.send(ended('b')).asked]).toEqual(['Everything', ['hurryMeasurement']]);
  });

  test('if memory is reported short while it is measured, memory is measured again after the answer', () => {
    const it = observing().send(MEMORY_SHORT, MEMORY_SHORT);
    expect([measured(it), schedule(it), it.asked]).toEqual(['Memory', ['Due', 'Waiting'], []]);
    it.send(PLENTY);
    expect([measured(it), it.asked]).toEqual(['Memory', ['measureMemory']]);
  });

  test('if tasks begin to wait for disks while everything is measured, everything is measured again', () => {
    const it = evaluating().send(IO_STALLED);
    expect([measured(it), schedule(it), it.asked]).toEqual(['Everything', ['NotDue', 'Due'], []]);
    it.send(FAILED);
    expect([measured(it), it.asked]).toEqual([
      'Everything',
      ['reportFailedObservation', 'measureEverything'],
    ]);
  });

  test('memory that is due is measured before everything that is due', () => {
    const it = observing().send(MEMORY_SHORT, MEMORY_SHORT, PERIOD_OVER, FAILED);
    expect([measured(it), schedule(it)]).toEqual(['Memory', ['Measuring', 'Due']]);
    it.send(FAILED);
    expect([measured(it), schedule(it)]).toEqual(['Everything', ['InDoubt', 'Measuring']]);
  });
});

describe('ReclaimingNode', () => {
  test('if enough has been removed, no pod is evicted', () => {
    const it = reclaiming().send(reclaimed());
    expect([pass(it), it.asked]).toEqual(['Observing', []]);
    expect(it.context.shortage).toBeUndefined();
  });

  test('if memory is reported short, it is measured before the end of the removal, and a new period begins', () => {
    const it = reclaiming().send(MEMORY_SHORT);
    expect([measured(it), schedule(it), it.asked]).toEqual([
      'Memory',
      ['Measuring', 'Waiting'],
      ['measureMemory'],
    ]);
    const before = evaluating().send(MEMORY_SHORT, evaluated({ disk: 5 }));
    expect([measured(before), schedule(before)]).toEqual(['Memory', ['Measuring', 'Waiting']]);
  });

  test('if too little has been removed, pods are ranked for the resource that is short now', () => {
    const it = reclaiming().send(reclaimed(DISK));
    expect([pass(it), it.asked, it.context.shortage]).toEqual(['Ranking', ['rankPods'], DISK]);
  });
});

describe('Ranking', () => {
  test('the victim is logged and asked to end; the reason stays in the context', () => {
    const it = evicting();
    expect([pass(it), it.asked]).toEqual(['Evicting', ['reportChoice', 'endPods']]);
    expect(it.context).toMatchObject({ awaited: ['a'], choice: { eviction: { pod: { uid: 'a' } } } });
    expect(it.context.choice?.why).toContain('default/a (uses 300Mi');
    expect(it.send(ended('a'), CLEANED_UP).context.choice?.why).toContain('default/a');
  });

  test('no pod is evicted while another pod is ending already', () => {
    const it = ranking().send({ type: 'RANKED', choice: choice(['b']) });
    expect([pass(it), it.asked]).toEqual(['Observing', ['reportChoice']]);
    expect(it.context).toMatchObject({ evictions: [], awaited: [] });
  });

  test('no pod is evicted if nothing is short any more', () => {
    const it = ranking().send(RELIEVED);
    expect([pass(it), it.asked, it.context.shortage]).toEqual(['Observing', [], undefined]);
  });
});

describe('Evicting', () => {
  test('the next measurement waits for the end of the pod', () => {
    const it = evicting().send(MEMORY_SHORT, IO_STALLED, evaluated({ memory: 50 }), RANKED);
    expect([pass(it), schedule(it), it.context.awaited]).toEqual(['Evicting', ['Due', 'Due'], ['a']]);
  });

  test('if the pod has ended, its clean-up is awaited', () => {
    const it = cleaningUp();
    expect([pass(it), it.asked]).toEqual(['CleaningUp', ['awaitCleanup']]);
    expect(it.context).toMatchObject({ awaited: [], ended: ['a'] });
  });

  test('every pod is awaited, in any order', () => {
    const it = evictingTwo().send(ended('b'));
    expect([pass(it), it.asked, it.context.awaited]).toEqual(['Evicting', [], ['a']]);
    expect(pass(it.send(ended('a')))).toBe('CleaningUp');
  });

  test('the end of a pod that was not evicted changes nothing', () => {
    const it = evicting().send(ended('x'), failed('y'));
    expect([pass(it), it.asked]).toEqual(['Evicting', []]);
    expect(it.context).toMatchObject({ awaited: ['a'], ended: [], unendable: [] });
  });

  test('a pod that does not end is reported and remembered, and the next pass begins at once', () => {
    const it = evicting().send(failed('a'));
    expect([measured(it), it.asked]).toEqual(['Memory', ['reportFailedPod', 'measureMemory']]);
    expect(it.context).toMatchObject({ awaited: [], unendable: ['a'] });
  });

  test('if one of two pods does not end, the clean-up of the other pod is awaited', () => {
    const it = evictingTwo().send(ended('a'), failed('b'));
    expect([pass(it), it.asked]).toEqual(['CleaningUp', ['reportFailedPod', 'awaitCleanup']]);
    const other = evictingTwo().send(failed('a'));
    expect([pass(other), other.asked]).toEqual(['Evicting', ['reportFailedPod']]);
    expect(pass(other.send(ended('b')))).toBe('CleaningUp');
  });
});

describe('CleaningUp', () => {
  test('the node is measured at once when the pods are cleaned up, and not before', () => {
    expect(pass(cleaningUp().send(MEMORY_SHORT))).toBe('CleaningUp');
    const it = cleaningUp().send(CLEANED_UP);
    expect([measured(it), it.asked]).toEqual(['Memory', ['measureMemory']]);
  });

  test('if memory was not short, everything is measured', () => {
    const it = evictingTwo().send(ended('a'), ended('b'), CLEANED_UP);
    expect([measured(it), it.asked]).toEqual(['Everything', ['measureEverything']]);
    const other = evictingTwo().send(failed('a'), failed('b'));
    expect([measured(other), other.asked]).toEqual(['Everything', ['reportFailedPod', 'measureEverything']]);
  });
});

describe('doubt, after the watch has reported that memory is short', () => {
  const doubting = () => observing().send(MEMORY_SHORT, PLENTY);

  test('if the figures do not show the shortage, memory is measured again soon', () => {
    const it = doubting();
    expect([pass(it), schedule(it), it.asked]).toEqual(['Observing', ['InDoubt', 'Waiting'], []]);
    it.send(DOUBT_OVER);
    expect([measured(it), it.asked]).toEqual(['Memory', ['measureMemory']]);
  });

  test('if the measurement fails, memory is measured again soon', () => {
    const it = observing().send(MEMORY_SHORT, FAILED);
    expect(schedule(it)).toEqual(['InDoubt', 'Waiting']);
  });

  test('memory is measured at most eight times', () => {
    const it = observing().send(MEMORY_SHORT);
    for (let left = DOUBT_MEASUREMENTS_MAX; left > 0; left -= 1) {
      expect([schedule(it.send(PLENTY))[0], it.context.doubtsLeft]).toEqual(['InDoubt', left - 1]);
      it.send(DOUBT_OVER);
    }
    expect(schedule(it.send(PLENTY))).toEqual(['NotDue', 'Waiting']);
    expect(schedule(doubting().send(DOUBT_OVER, MEMORY_ENOUGH, FAILED))).toEqual(['NotDue', 'Waiting']);
  });

  test('if the watch reports enough memory, the doubt ends', () => {
    const it = doubting().send(MEMORY_ENOUGH);
    expect([schedule(it), it.asked, it.context.doubtsLeft]).toEqual([['NotDue', 'Waiting'], [], 0]);
  });

  test('if tasks wait for memory, there is no doubt: memory is measured once', () => {
    expect(schedule(observing().send(MEMORY_STALLED, PLENTY))).toEqual(['NotDue', 'Waiting']);
  });

  test('if the figures show the shortage, there is no doubt', () => {
    const it = observing().send(MEMORY_SHORT, evaluated({ memory: 50 }));
    expect(schedule(it)).toEqual(['Confirmed', 'Waiting']);
    expect(schedule(doubting().send(PERIOD_OVER, evaluated({ memory: 50 })))[0]).toBe('Confirmed');
    expect(schedule(doubting().send(PERIOD_OVER, PLENTY))[0]).toBe('InDoubt');
  });

  test('if the figures for the ranking do not show the shortage any more, memory is measured again soon', () => {
    const it = observing().send(MEMORY_SHORT, evaluated({ memory: 50 }), RELIEVED);
    expect([pass(it), schedule(it), it.asked]).toEqual(['Observing', ['InDoubt', 'Waiting'], []]);
    const told = observing().send(MEMORY_STALLED, evaluated({ memory: 50 }), RELIEVED);
    expect(schedule(told)).toEqual(['Confirmed', 'Waiting']);
  });

  test('after a pod has been evicted for memory, there is no doubt about the next figures', () => {
    const it = observing().send(
      MEMORY_SHORT,
      evaluated({ memory: 50 }),
      RANKED,
      ended('a'),
      CLEANED_UP,
      PLENTY,
    );
    expect([pass(it), schedule(it)]).toEqual(['Observing', ['NotDue', 'Waiting']]);
  });
});

test('a pod that is gone is removed from the pods that do not end', () => {
  const it = evicting().send(failed('a'), gone('x'));
  expect(it.context.unendable).toEqual(['a']);
  expect(it.send(gone('a')).context.unendable).toEqual([]);
  expect(pass(it)).toBe('Evaluating');
});

test('without its effects, the machine throws an error that says so', () => {
  const actions = evictionMachine.implementations.actions as unknown as Record<
    string,
    (args: unknown, params: unknown) => void
  >;
  expect(() => actions.measureMemory!({}, undefined)).toThrow('without its effects');
  expect(() => actions.reportPressure!({}, { condition: 'PIDPressure' })).toThrow('without its effects');
});
