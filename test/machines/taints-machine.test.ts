import { describe, expect, test } from '@jest/globals';
import { type TaintsEvent, taintsMachine } from '../../src/machines/taints-machine.ts';
import { Stepper } from '../support/stepper.ts';

const DUE: TaintsEvent = { type: 'LOOK_DUE', differs: true };
const SAME: TaintsEvent = { type: 'LOOK_DUE', differs: false };
const WRITTEN: TaintsEvent = { type: 'WRITTEN' };
const OUTDATED: TaintsEvent = { type: 'OUTDATED', problem: 'conflict' };
const REFUSED: TaintsEvent = { type: 'WRITE_FAILED', problem: 'forbidden', isRefused: true };
const FAILED: TaintsEvent = { type: 'WRITE_FAILED', problem: 'busy', isRefused: false, askedMs: 7 };

const settled = () => new Stepper(taintsMachine, undefined);
const writing = () => settled().send(DUE);
const backingOff = () => writing().send(REFUSED);

describe('Settled', () => {
  test('is the initial state: only a timer is armed', () => {
    expect([settled().state, settled().asked]).toEqual(['Settled', ['armLook']]);
  });

  test('while nothing differs, nothing is written', () => {
    const it = settled().send(SAME);
    expect([it.state, it.asked]).toEqual(['Settled', ['disarmTimer', 'armLook']]);
  });

  test('what differs is written', () => {
    expect([writing().state, writing().asked]).toEqual(['Writing', ['disarmTimer', 'writeTaints']]);
  });
});

describe('Writing', () => {
  test('ends with what was written, and forgets earlier problems', () => {
    const it = backingOff().send(DUE, WRITTEN);
    expect([it.state, it.asked]).toEqual(['Settled', ['abortRequest', 'reportWrite', 'armLook']]);
    expect(it.context).toMatchObject({ failures: 0, problem: undefined, isRefused: false });
  });

  test('an object that has changed is read again at once, five times in a row', () => {
    const it = writing();
    for (let times = 0; times < 5; times += 1) {
      it.send(OUTDATED);
      expect([it.state, it.asked]).toEqual(['Writing', ['abortRequest', 'writeTaints']]);
    }
    it.send(OUTDATED);
    expect([it.state, it.asked]).toEqual(['BackingOff', ['abortRequest', 'reportFailure', 'armBackOff']]);
    expect(it.context).toMatchObject({ failures: 1, conflicts: 0, isRefused: false, problem: 'conflict' });
  });

  test('a refusal is kept apart from other failures', () => {
    expect(backingOff().context).toMatchObject({ failures: 1, isRefused: true, problem: 'forbidden' });
    expect(writing().send(FAILED).context).toMatchObject({ failures: 1, isRefused: false, askedMs: 7 });
    expect(writing().send(FAILED, DUE, FAILED).context.failures).toBe(2);
  });
});

describe('BackingOff', () => {
  test('after it, what still differs is written', () => {
    const it = backingOff().send(DUE);
    expect([it.state, it.asked]).toEqual(['Writing', ['disarmTimer', 'writeTaints']]);
  });

  test('where nothing differs any more, the problem is over', () => {
    const it = backingOff().send(SAME);
    expect([it.state, it.context.problem]).toEqual(['Settled', undefined]);
  });
});
