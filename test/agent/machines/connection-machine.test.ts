import { describe, expect, test } from '@jest/globals';
import { connectionMachine, type ConnectionEvent } from '../../../src/agent/machines/connection-machine.ts';
import { Stepper } from '../../support/stepper.ts';

const answered = (now: number): ConnectionEvent => ({ type: 'ANSWERED', now });
const unauthorized = (problem: string, now: number): ConnectionEvent => ({
  type: 'UNAUTHORIZED',
  problem,
  now,
});
const failed = (problem: string, now: number): ConnectionEvent => ({ type: 'FAILED', problem, now });

const waiting = () => new Stepper(connectionMachine, { now: 1 });
const connected = () => waiting().send(answered(10));
const refused = () => waiting().send(unauthorized('token expired', 10));
const seen = (it: Stepper<typeof connectionMachine>) => [it.state, it.context, it.asked];

describe('Waiting', () => {
  test('is the initial state, since the agent began', () => {
    expect(seen(waiting())).toEqual(['Waiting', { since: 1, problem: undefined }, []]);
  });

  test('keeps its time and the latest problem while requests fail, and reports the first', () => {
    const it = waiting().send(failed('refused', 5));
    expect(seen(it)).toEqual(['Waiting', { since: 1, problem: 'refused' }, ['reportWaiting']]);
    it.send(failed('reset', 9));
    expect(seen(it)).toEqual(['Waiting', { since: 1, problem: 'reset' }, []]);
  });

  test('ends with an answer', () => {
    expect(seen(connected())).toEqual(['Connected', { since: 10, problem: undefined }, ['reportConnected']]);
  });

  test('ends with credentials that are not accepted', () => {
    const context = { since: 10, problem: 'token expired' };
    expect(seen(refused())).toEqual(['Unauthorized', context, ['reportUnauthorized']]);
  });
});

describe('Connected', () => {
  test('says nothing of further answers', () => {
    const it = connected().send(answered(20));
    expect(seen(it)).toEqual(['Connected', { since: 10, problem: undefined }, []]);
  });

  test('ends with a request without an answer', () => {
    const it = connected().send(failed('reset', 20));
    expect(seen(it)).toEqual(['Waiting', { since: 20, problem: 'reset' }, ['reportWaiting']]);
  });

  test('ends with credentials that are not accepted', () => {
    const it = connected().send(unauthorized('certificate expired', 20));
    const context = { since: 20, problem: 'certificate expired' };
    expect(seen(it)).toEqual(['Unauthorized', context, ['reportUnauthorized']]);
  });
});

describe('Unauthorized', () => {
  test('keeps its time and the latest problem', () => {
    const it = refused().send(unauthorized('no token', 20));
    expect(seen(it)).toEqual(['Unauthorized', { since: 10, problem: 'no token' }, []]);
  });

  test('ends with an answer', () => {
    const it = refused().send(answered(20));
    expect(seen(it)).toEqual(['Connected', { since: 20, problem: undefined }, ['reportConnected']]);
  });

  test('ends with a request without an answer', () => {
    const it = refused().send(failed('reset', 20));
    expect(seen(it)).toEqual(['Waiting', { since: 20, problem: 'reset' }, ['reportWaiting']]);
  });
});
