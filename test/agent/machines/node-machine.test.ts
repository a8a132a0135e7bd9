import { describe, expect, test } from '@jest/globals';
import { type NodeEvent, nodeMachine } from '../../../src/agent/machines/node-machine.ts';
import { Stepper } from '../../support/stepper.ts';

const NOW = Date.UTC(2030, 0, 1);
const LEASE_SECONDS = 40;

const START: NodeEvent = { type: 'START', now: NOW };
const due = (now = NOW): NodeEvent => ({ type: 'DUE', now });
const NEWS: NodeEvent = { type: 'REPORT_NOW' };
const registered = (now = NOW): NodeEvent => ({ type: 'REGISTERED', uid: 'a', now });
const refused = (now = NOW): NodeEvent => ({ type: 'REGISTRATION_FAILED', problem: 'refused', now });
const found = (now = NOW): NodeEvent => ({ type: 'NODE_FOUND', uid: 'a', now });
const missing = (now = NOW): NodeEvent => ({ type: 'NODE_MISSING', now });
const unread = (now = NOW): NodeEvent => ({ type: 'LOOK_FAILED', problem: 'refused', now });
const reported = (isReady = true, now = NOW, uid = 'a'): NodeEvent => ({
  type: 'REPORTED',
  uid,
  isReady,
  now,
});
const unreported = (now = NOW): NodeEvent => ({ type: 'REPORT_FAILED', problem: 'refused', now });
const taken = (now = NOW): NodeEvent => ({ type: 'OTHER_MACHINE', other: 'machine ID b', now });
const seen = (version: string | undefined, now = NOW): NodeEvent => ({ type: 'OTHER_SEEN', version, now });

const idle = (registersItself = true) =>
  new Stepper(nodeMachine, { registersItself, leaseDurationSeconds: LEASE_SECONDS, now: NOW });
const backingOff = () => idle().send(START);
const trying = () => backingOff().send(due());
const looking = () => idle(false).send(START);
const awaitingNode = () => looking().send(missing());
const reporting = () => trying().send(registered());
const waiting = () => reporting().send(reported());
const lookingAtOther = () => trying().send(taken());
const awaitingOther = () => lookingAtOther().send(seen('1'));

describe('Idle', () => {
  test('is the initial state: nothing is asked of the server', () => {
    const it = idle();
    expect([it.state, it.asked, it.hasTag('isRegistered')]).toEqual(['Idle', [], false]);
  });

  test('a node that registers itself begins with the first delay', () => {
    const it = backingOff();
    expect([it.state, it.asked]).toEqual(['Registering.BackingOff', ['armRegistration']]);
  });

  test('another node looks for its Node object', () => {
    const it = looking();
    expect([it.state, it.asked]).toEqual(['AwaitingNode.Looking', ['lookForNode']]);
  });
});

describe('Registering', () => {
  test('after the delay one try is made', () => {
    const it = trying();
    expect([it.state, it.asked]).toEqual(['Registering.Trying', ['disarmTimer', 'register']]);
  });

  test('a failure is reported and counted, and the next try waits', () => {
    const it = trying().send(refused());
    expect([it.state, it.asked]).toEqual(['Registering.BackingOff', ['reportFailure', 'armRegistration']]);
    expect(it.context).toMatchObject({ failures: 1, problem: 'refused' });
    expect(it.send(due(), refused()).context.failures).toBe(2);
  });

  test('a node that has registered is announced, and reports its status at once', () => {
    const it = reporting();
    expect([it.state, it.asked]).toEqual(['Registered.Reporting', ['tellRegistered', 'report']]);
    expect(it.hasTag('isRegistered')).toBe(true);
    expect(it.context).toMatchObject({ uid: 'a', problem: undefined, since: NOW });
  });

  test('after failures the first report has all its tries', () => {
    expect(trying().send(refused(), due(), registered()).context.failures).toBe(0);
  });

  test('a Node object of another machine is reported, and the node is not registered', () => {
    const it = lookingAtOther();
    expect([it.state, it.asked]).toEqual(['OtherMachine.Looking', ['reportOther', 'lookAtOther']]);
    expect(it.context).toMatchObject({
      other: 'machine ID b',
      problem: 'the Node object is of another machine: machine ID b',
    });
  });
});

describe('AwaitingNode', () => {
  test('waits for the next look while there is no object', () => {
    const it = awaitingNode();
    expect([it.state, it.asked]).toEqual(['AwaitingNode.Waiting', ['armLook']]);
    expect(it.context).toMatchObject({ problem: 'the Node object does not exist', since: NOW });
  });

  test('has waited since its start, however often it has looked', () => {
    expect(awaitingNode().send(due(NOW + 10_000), missing(NOW + 10_000)).context.since).toBe(NOW);
  });

  test('a failure is reported, and waits for the next look', () => {
    const it = looking().send(unread());
    expect([it.state, it.asked]).toEqual(['AwaitingNode.Waiting', ['reportFailure', 'armLook']]);
  });

  test.each([['the time of the next look', due()] as const, ['the watch', NEWS] as const])(
    'looks again with %s',
    (_, event) => {
      const it = awaitingNode().send(event);
      expect([it.state, it.asked]).toEqual(['AwaitingNode.Looking', ['disarmTimer', 'lookForNode']]);
    },
  );

  test('an object that was found is kept up to date', () => {
    const it = looking().send(found());
    expect([it.state, it.asked]).toEqual(['Registered.Reporting', ['tellRegistered', 'report']]);
  });

  test('an object of another machine is reported', () => {
    expect(looking().send(taken()).state).toBe('OtherMachine.Looking');
  });
});

describe('Registered.Reporting', () => {
  test('a report waits for the next look', () => {
    const it = waiting();
    expect([it.state, it.asked]).toEqual(['Registered.Waiting', ['tellRegistered', 'armLook']]);
    expect(it.context).toMatchObject({ writtenUid: 'a' });
  });

  test('five tries are made at once, then the next look is waited for', () => {
    const it = reporting();
    for (let tries = 1; tries < 5; tries += 1) {
      it.send(unreported());
      expect([it.state, it.asked]).toEqual(['Registered.Reporting', ['reportFailure', 'report']]);
      expect(it.context.failures).toBe(tries);
    }
    it.send(unreported());
    expect([it.state, it.asked]).toEqual(['Registered.Waiting', ['reportFailure', 'armLook']]);
    expect(it.context).toMatchObject({ failures: 0, problem: 'refused' });
  });

  test('news that come while a report is under way are reported after it', () => {
    const it = reporting().send(NEWS);
    expect([it.state, it.asked]).toEqual(['Registered.Reporting', []]);
    it.send(reported());
    expect([it.state, it.asked.at(-1)]).toEqual(['Registered.Reporting', 'report']);
    expect(it.send(reported()).state).toBe('Registered.Waiting');
  });

  test('an object that was made anew by another client is reported', () => {
    const it = reporting().send(reported(true, NOW, 'b'));
    expect(it.asked).toContain('tellRegistered');
    expect(it.context.uid).toBe('b');
  });

  test('an object that was deleted is reported, and not made anew', () => {
    const it = reporting().send(missing(NOW + 5));
    expect([it.state, it.asked]).toEqual(['AwaitingNode.Waiting', ['reportMissing', 'tellLost', 'armLook']]);
    expect(it.context).toMatchObject({ uid: undefined, since: NOW + 5 });
    expect(it.hasTag('isRegistered')).toBe(false);
  });

  test('an object that another machine has taken is reported, and not written any more', () => {
    const it = reporting().send(taken());
    expect([it.state, it.asked]).toEqual([
      'OtherMachine.Looking',
      ['reportOther', 'tellLost', 'lookAtOther'],
    ]);
    expect(it.context).toMatchObject({ uid: undefined, writtenUid: undefined });
  });
});

describe('Registered.Waiting', () => {
  test.each([['the time of the next look', due()] as const, ['news', NEWS] as const])(
    'reports with %s',
    (_, event) => {
      const it = waiting().send(event);
      expect([it.state, it.asked]).toEqual(['Registered.Reporting', ['disarmTimer', 'report']]);
    },
  );

  test('a node that is not Ready any more is not looked at often: that is for the start', () => {
    expect(waiting().send(due(NOW + 130_000), reported(false, NOW + 130_000)).state).toBe(
      'Registered.Waiting',
    );
  });
});

describe('OtherMachine', () => {
  test('a lease that was seen once says nothing yet', () => {
    const it = awaitingOther();
    expect([it.state, it.asked]).toEqual(['OtherMachine.Waiting', ['armLook']]);
    expect(it.context.otherLease).toEqual({ version: '1', since: NOW, looks: 1 });
  });

  test.each([['the time of the next look', due()] as const, ['the watch', NEWS] as const])(
    'looks again with %s',
    (_, event) => {
      const it = awaitingOther().send(event);
      expect([it.state, it.asked]).toEqual(['OtherMachine.Looking', ['disarmTimer', 'lookAtOther']]);
    },
  );

  test('a lease that is renewed is waited for, however long', () => {
    const it = lookingAtOther();
    for (let version = 1; version < 20; version += 1)
      it.send(seen(`${version}`, NOW + version * 10_000), due());
    expect(it.state).toBe('OtherMachine.Looking');
  });

  test.each([['1'], [undefined]])(
    'a lease that is not renewed for its duration lets this node register: version %s',
    (version) => {
      const it = lookingAtOther().send(seen(version), due(), seen(version), due());
      it.send(seen(version, NOW + LEASE_SECONDS * 1000 - 1));
      expect(it.state).toBe('OtherMachine.Waiting');
      it.send(due(), seen(version, NOW + LEASE_SECONDS * 1000));
      expect([it.state, it.asked]).toEqual(['Registering.BackingOff', ['reportTakeOver', 'armRegistration']]);
      expect(it.context).toMatchObject({ mayTakeOver: true, other: undefined });
    },
  );

  test('the permission to take over ends with the first report', () => {
    const it = lookingAtOther().send(seen('1'), due(), seen('1'), due(), seen('1'), due());
    it.send(seen('1', NOW + 50_000), due(), registered());
    expect(it.context.mayTakeOver).toBe(true);
    expect(it.send(reported()).context.mayTakeOver).toBe(false);
  });

  test.each([['is of this machine again', found()] as const, ['is gone', missing()] as const])(
    'if the object %s, this node begins anew',
    (_, event) => {
      expect(lookingAtOther().send(event).state).toBe('Registering.BackingOff');
      expect(looking().send(taken(), event).state).toBe('AwaitingNode.Looking');
    },
  );

  test('a failure is reported, and waits for the next look', () => {
    const it = lookingAtOther().send(unread());
    expect([it.state, it.asked]).toEqual(['OtherMachine.Waiting', ['reportFailure', 'armLook']]);
  });

  test('while the server does not answer, the silence of the other machine does not count', () => {
    const it = awaitingOther().send(due(), unread(NOW + 10_000), due(), seen('1', NOW + 60_000));
    expect(it.state).toBe('OtherMachine.Waiting');
    expect(it.context.otherLease).toEqual({ version: '1', since: NOW + 60_000, looks: 1 });
  });
});
