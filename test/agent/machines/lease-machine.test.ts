import { describe, expect, test } from '@jest/globals';
import { leaseMachine, type LeaseEvent } from '../../../src/agent/machines/lease-machine.ts';
import type { Lease } from '../../../src/types/kubernetes.ts';
import { after, done, failed } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

const NOW = Date.UTC(2030, 0, 1);
const LEASE: Lease = { metadata: { name: 'node-1', resourceVersion: '1' } };
const NEWER: Lease = { metadata: { name: 'node-1', resourceVersion: '2' } };

const KNOWN: LeaseEvent = { type: 'NODE_KNOWN', uid: 'a', now: NOW };
const LOST: LeaseEvent = { type: 'NODE_LOST', now: NOW + 5 };
const BACKED_OFF = after('backOff', 'lease.BackingOff');
const DUE = after('renewal', 'lease.Waiting');
const FOUND = done('ensureLease', { lease: LEASE });
const failure = (now: number, problem = 'refused') => ({ problem, isOutdated: problem === 'conflict', now });
const created = (now = NOW) => done('ensureLease', { lease: LEASE, renewedAt: now });
const renewed = (now = NOW) => done('renewLease', { lease: NEWER, renewedAt: now });
const unread = (now = NOW) => failed('ensureLease', failure(now));
const unwritten = (now = NOW) => failed('renewLease', failure(now));
const outdated = (now = NOW) => failed('renewLease', failure(now, 'conflict'));

const fresh = () => new Stepper(leaseMachine, { now: NOW });
const ensuring = () => fresh().send(KNOWN);
const backingOff = () => ensuring().send(unread());
/** With a lease that has just been read. */
const renewing = () => ensuring().send(FOUND);
const waiting = () => ensuring().send(created());
/** With the lease of the last renewal. */
const renewingAgain = () => waiting().send(DUE);
const ALL: [string, () => Stepper<typeof leaseMachine>][] = [
  ['AwaitingNode', fresh],
  ['Ensuring', ensuring],
  ['BackingOff', backingOff],
  ['Renewing', renewing],
  ['Waiting', waiting],
];

describe('AwaitingNode', () => {
  test('is the initial state: nothing is asked of the server', () => {
    const it = fresh();
    expect([it.state, it.asked, it.context.since]).toEqual(['AwaitingNode', [], NOW]);
  });

  test('with the Node object the lease is read', () => {
    const it = ensuring();
    expect([it.state, it.asked, it.context.nodeUid]).toEqual(['Ensuring', ['ensureLease'], 'a']);
  });
});

describe('the Node object', () => {
  test.each(ALL)('if it is lost, %s ends and everything is forgotten', (_, make) => {
    const it = make().send(LOST);
    expect(it.state).toBe('AwaitingNode');
    expect(it.context).toMatchObject({
      nodeUid: undefined,
      lease: undefined,
      problem: undefined,
      since: NOW + 5,
    });
  });

  test.each(ALL.slice(1))('if it is told again with the same UID, %s goes on', (state, make) => {
    const it = make().send(KNOWN);
    expect([it.state, it.asked]).toEqual([state, []]);
  });

  test.each(ALL.slice(1))('if it was made anew, %s ends and the lease is read anew', (_, make) => {
    const it = make().send({ type: 'NODE_KNOWN', uid: 'b', now: NOW + 5 });
    expect([it.state, it.asked.at(-1)]).toEqual(['Ensuring', 'ensureLease']);
    expect(it.context).toMatchObject({ nodeUid: 'b', lease: undefined });
  });
});

describe('Ensuring', () => {
  test('a lease that exists is renewed at once', () => {
    const it = renewing();
    expect([it.state, it.asked]).toEqual(['Renewing', ['renewLease']]);
    expect(it.context).toMatchObject({ lease: LEASE, isFresh: true });
  });

  test('a lease that was created is valid: the next renewal is waited for', () => {
    const it = waiting();
    expect([it.state, it.asked]).toEqual(['Waiting', ['reportRenewal']]);
    expect(it.context).toMatchObject({ lease: LEASE, renewedAt: NOW, problem: undefined });
  });

  test('a failure is reported, and the next try waits', () => {
    const it = backingOff();
    expect([it.state, it.asked]).toEqual(['BackingOff', ['reportFailure']]);
    expect(it.context).toMatchObject({ readFailures: 1, problem: 'refused', since: NOW });
  });
});

describe('BackingOff', () => {
  test('the lease is read again when the time is over', () => {
    const it = backingOff().send(BACKED_OFF);
    expect([it.state, it.asked]).toEqual(['Ensuring', ['ensureLease']]);
  });

  test('failures are counted, and failing since the first one, until the lease is read', () => {
    const it = backingOff().send(BACKED_OFF, unread(NOW + 1000), BACKED_OFF, unread(NOW + 2000));
    expect(it.context).toMatchObject({ readFailures: 3, since: NOW });
    expect(it.send(BACKED_OFF, FOUND).context.readFailures).toBe(0);
  });
});

describe('Renewing', () => {
  test('a renewal is remembered with the lease as the server answered it', () => {
    const it = renewing().send(renewed(NOW + 10));
    expect([it.state, it.asked]).toEqual(['Waiting', ['reportRenewal']]);
    expect(it.context).toMatchObject({ lease: NEWER, renewedAt: NOW + 10, isFresh: false });
  });

  test('five tries are made at once', () => {
    const it = renewing();
    for (let tries = 1; tries < 5; tries += 1) {
      it.send(unwritten());
      expect([it.state, it.asked]).toEqual(['Renewing', ['reportFailure', 'renewLease']]);
    }
    expect(it.send(unwritten()).state).toBe('Waiting');
  });

  test('if the lease of the last renewal cannot be written, it is read, and tried five times more', () => {
    const it = renewingAgain().send(...Array.from({ length: 5 }, () => unwritten()));
    expect([it.state, it.asked.at(-1)]).toEqual(['Ensuring', 'ensureLease']);
    it.send(FOUND, ...Array.from({ length: 4 }, () => unwritten()));
    expect(it.state).toBe('Renewing');
    expect(it.send(unwritten()).state).toBe('Waiting');
  });

  test('a round of tries begins with all of them', () => {
    const it = renewing().send(unwritten(), unwritten(), renewed(), DUE);
    expect(it.context.failedTries).toBe(0);
  });

  test('a lease that another client has written or deleted is read again', () => {
    const it = renewing().send(outdated());
    expect([it.state, it.asked]).toEqual(['Ensuring', ['ensureLease']]);
  });

  test('a lease that another client writes all the time is left for this time after five tries', () => {
    const it = renewing();
    for (let tries = 1; tries < 5; tries += 1) it.send(outdated(), FOUND);
    it.send(outdated());
    expect([it.state, it.asked]).toEqual(['Waiting', ['reportFailure']]);
  });
});

describe('Waiting', () => {
  test('the lease is renewed with what the server answered last, without being read', () => {
    const it = renewingAgain();
    expect([it.state, it.asked]).toEqual(['Renewing', ['renewLease']]);
    expect(it.context.lease).toBe(LEASE);
  });
});

test('since when the lease is renewed, or is not, stays as long as that does not change', () => {
  const it = waiting().send(DUE, renewed(NOW + 10_000));
  expect(it.context.since).toBe(NOW);
  it.send(DUE, unwritten(NOW + 20_000), unwritten(NOW + 21_000));
  expect(it.context).toMatchObject({ since: NOW + 20_000, problem: 'refused', renewedAt: NOW + 10_000 });
  it.send(renewed(NOW + 22_000));
  expect(it.context).toMatchObject({ since: NOW + 22_000, problem: undefined });
});

test.each(ALL)('a stop ends %s for good', (_, make) => {
  const it = make().send({ type: 'STOP' });
  expect([it.state, it.asked]).toEqual(['Stopped', []]);
});
