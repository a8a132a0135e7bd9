import { describe, expect, test } from '@jest/globals';
import { type TaintsFailure, taintsMachine } from '../../../src/agent/machines/taints-machine.ts';
import { after, done, failed } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

const DUE = after('look', 'taints.Settled');
const BACKED_OFF = after('backOff', 'taints.BackingOff');
const SAME = done('writeTaints', 'Same' as const);
const WRITTEN = done('writeTaints', 'Written' as const);
const failure = (problem: string, more: Partial<TaintsFailure> = {}) =>
  failed('writeTaints', { problem, isOutdated: false, isRefused: false, askedMs: undefined, ...more });
const OUTDATED = failure('conflict', { isOutdated: true });
const REFUSED = failure('forbidden', { isRefused: true });
const FAILED = failure('busy', { askedMs: 7 });

const settled = () => new Stepper(taintsMachine, undefined);
const writing = () => settled().send(DUE);
const backingOff = () => writing().send(REFUSED);

describe('Settled', () => {
  test('is the initial state: nothing is asked', () => {
    expect([settled().state, settled().asked]).toEqual(['Settled', []]);
  });

  test('while nothing differs, nothing is written', () => {
    const it = writing().send(SAME);
    expect([it.state, it.asked]).toEqual(['Settled', []]);
  });

  test('what differs is written', () => {
    expect([writing().state, writing().asked]).toEqual(['Writing', ['writeTaints']]);
  });
});

describe('Writing', () => {
  test('ends with what was written, and forgets earlier problems', () => {
    const it = backingOff().send(BACKED_OFF, WRITTEN);
    expect([it.state, it.asked]).toEqual(['Settled', ['reportWrite']]);
    expect(it.context).toMatchObject({ failures: 0, problem: undefined, isRefused: false });
  });

  test('an object that has changed is read again at once, five times in a row', () => {
    const it = writing();
    for (let times = 0; times < 5; times += 1) {
      it.send(OUTDATED);
      expect([it.state, it.asked]).toEqual(['Writing', ['writeTaints']]);
    }
    it.send(OUTDATED);
    expect([it.state, it.asked]).toEqual(['BackingOff', ['reportFailure']]);
    expect(it.context).toMatchObject({ failures: 1, conflicts: 0, isRefused: false, problem: 'conflict' });
  });

  test('a refusal is kept apart from other failures', () => {
    expect(backingOff().context).toMatchObject({ failures: 1, isRefused: true, problem: 'forbidden' });
    expect(writing().send(FAILED).context).toMatchObject({ failures: 1, isRefused: false, askedMs: 7 });
    expect(writing().send(FAILED, BACKED_OFF, FAILED).context.failures).toBe(2);
  });
});

describe('BackingOff', () => {
  test('after it, what still differs is written', () => {
    const it = backingOff().send(BACKED_OFF);
    expect([it.state, it.asked]).toEqual(['Writing', ['writeTaints']]);
  });

  test('where nothing differs any more, the problem is over', () => {
    const it = backingOff().send(BACKED_OFF, SAME);
    expect([it.state, it.context.problem]).toEqual(['Settled', undefined]);
  });
});

test.each([settled, writing, backingOff])('a stop ends everything: %#', (make) => {
  const it = make().send({ type: 'STOP' });
  expect([it.state, it.asked]).toEqual(['Stopped', []]);
});
