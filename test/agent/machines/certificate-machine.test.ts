import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  type CertificateEvent,
  certificateMachine,
} from '../../../src/agent/machines/certificate-machine.ts';
import { type CertificateFacts, clientTemplate } from '../../../src/agent/policies/cluster/certificates.ts';
import { done, failed as requestFailed } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

const MINUTE = 60_000;
const template = clientTemplate('node-1');
const withAddress = (...ipAddresses: string[]) => ({ ...template, ipAddresses });
/** Valid from 0 to 1000 minutes: renewed after 700 to 900 of them. */
const certificate: CertificateFacts = { ...template, notBefore: 0, notAfter: 1000 * MINUTE };

let machine: Stepper<typeof certificateMachine>;

beforeEach(() => {
  machine = stepper();
});

function stepper(input: { rotates?: boolean; isVital?: boolean } = {}): Stepper<typeof certificateMachine> {
  return new Stepper(certificateMachine, { rotates: true, isVital: true, ...input });
}

const started = (more: Partial<Extract<CertificateEvent, { type: 'START' }>> = {}) =>
  ({ type: 'START', template, certificate: undefined, mustRenew: false, at: 1, random: 0, ...more }) as const;
const requested = (at = 2) => done('sendRequest', { name: 'csr-1', at });
const issued = (at = 3, facts = certificate) =>
  done('awaitCertificate', { certificate: facts, at, random: 0.5 });
const failed = (at: number, isRefused = false, which: 'sendRequest' | 'awaitCertificate' = 'sendRequest') =>
  requestFailed(which, { problem: 'no answer', isRefused, at, random: 0 });
const renewalTime = (at: number) => done('untilRenewal', { at });
const retryTime = (at: number) => done('untilRetry', { at });
const expiry = (at: number) => done('untilExpiry', { at });
const fiveMinutes = () => done('untilGivenUp', { at: 5 * MINUTE });

const renewal = () => /Renewal\.(\w+)/.exec(machine.state)?.[1];
const validity = () => /Validity\.(\w+)/.exec(machine.state)?.[1];

describe('a node without a certificate', () => {
  test('asks for one, waits until it is signed, and settles', () => {
    machine.send(started());
    expect(renewal()).toBe('Requesting');
    expect(machine.asked).toEqual(['sendRequest', 'untilGivenUp']);
    machine.send(requested());
    expect(renewal()).toBe('AwaitingCertificate');
    expect(machine.asked).toEqual(['awaitCertificate']);
    expect(machine.context).toMatchObject({ requestName: 'csr-1', since: 2 });
    machine.send(issued());
    expect(machine.state).toBe('Renewal.Settled Validity.Valid');
    expect(machine.asked).toEqual(['reportIssue', 'untilRenewal', 'untilExpiry']);
    expect(machine.context).toMatchObject({ requestName: undefined, since: 3, renewAt: 800 * MINUTE });
  });

  test('tries again after a failure, later each time', () => {
    machine.send(started(), failed(10));
    expect(renewal()).toBe('BackingOff');
    expect(machine.asked).toEqual(['reportFailure', 'untilRetry']);
    expect(machine.context).toMatchObject({ failures: 1, problem: 'no answer', retryAt: 2_010 });
    machine.send(retryTime(2_010));
    expect(renewal()).toBe('Requesting');
    machine.send(failed(3_000));
    expect(machine.context.retryAt).toBe(7_000);
    machine.send(retryTime(7_000), requested(), issued());
    expect(machine.context).toMatchObject({ failures: 0, problem: undefined });
  });

  test('tries again when its request is denied or waits too long', () => {
    machine.send(started(), requested(), failed(10, false, 'awaitCertificate'));
    expect(renewal()).toBe('BackingOff');
    expect(machine.asked).toEqual(['reportFailure', 'untilRetry']);
    expect(machine.context.requestName).toBeUndefined();
  });
});

describe('a node with a certificate', () => {
  test('settles at once, and renews it between 70 and 90 per cent of its life', () => {
    machine.send(started({ certificate, random: 1 }));
    expect(machine.state).toBe('Renewal.Settled Validity.Valid');
    expect(machine.context.renewAt).toBe(900 * MINUTE);
    machine.send(renewalTime(900 * MINUTE));
    expect(renewal()).toBe('Requesting');
  });

  test('asks for its own at once if it has been given one only to begin with', () => {
    machine.send(started({ certificate, mustRenew: true }));
    expect(machine.state).toBe('Renewal.Requesting Validity.Valid');
  });

  test('asks for another one if it is for another node', () => {
    machine.send(started({ certificate: { ...certificate, commonName: 'system:node:node-2' } }));
    expect(renewal()).toBe('Requesting');
  });

  test('does not renew it where it does not rotate', () => {
    machine = stepper({ rotates: false, isVital: false });
    machine.send(started({ certificate }));
    expect([machine.state, machine.context.renewAt]).toEqual([
      'Renewal.Settled Validity.Unwatched',
      Infinity,
    ]);
  });
});

describe('a serving certificate', () => {
  beforeEach(() => {
    machine = stepper({ isVital: false });
  });

  test('is not asked for before the node has an IP address', () => {
    machine.send(started({ template: undefined }));
    expect(renewal()).toBe('AwaitingAddresses');
    machine.send({ type: 'TEMPLATE', template: withAddress('10.0.0.1'), at: 5 });
    expect(renewal()).toBe('Requesting');
  });

  test('is asked for again when an address is missing in it, not when one is gone', () => {
    const serving = { ...certificate, ipAddresses: ['10.0.0.1'] };
    machine.send(started({ template: undefined, certificate: serving }));
    machine.send({ type: 'TEMPLATE', template: withAddress('10.0.0.1'), at: 5 });
    expect(renewal()).toBe('Settled');
    machine.send({ type: 'TEMPLATE', template: undefined, at: 6 });
    expect(renewal()).toBe('Settled');
    machine.send({ type: 'TEMPLATE', template: withAddress('10.0.0.1', '10.0.0.2'), at: 7 });
    expect(renewal()).toBe('Requesting');
  });

  test('is asked for anew when the addresses change while the request waits', () => {
    machine.send(started({ template: withAddress('10.0.0.1') }), requested());
    machine.send({ type: 'TEMPLATE', template: withAddress('10.0.0.2'), at: 5 });
    expect(renewal()).toBe('Requesting');
    expect(machine.asked).toEqual(['sendRequest']);
  });

  test('is asked for anew when the addresses change while the request is sent', () => {
    machine.send(started({ template: withAddress('10.0.0.1') }));
    machine.send({ type: 'TEMPLATE', template: withAddress('10.0.0.2'), at: 5 });
    expect(renewal()).toBe('Requesting');
    machine.send(requested());
    expect(renewal()).toBe('Requesting');
    expect(machine.asked).toEqual(['awaitCertificate', 'sendRequest']);
  });

  test('that the signer issues without an address is not asked for again and again', () => {
    machine.send(started({ template: withAddress('10.0.0.1') }), requested(), issued());
    expect(renewal()).toBe('Settled');
  });

  test('that expires while the node has no address waits for one', () => {
    const serving = { ...certificate, ipAddresses: ['10.0.0.1'] };
    machine.send(started({ template: undefined, certificate: serving }), renewalTime(950 * MINUTE));
    expect(renewal()).toBe('AwaitingAddresses');
    machine.send({ type: 'TEMPLATE', template: withAddress('10.0.0.1'), at: 951 * MINUTE });
    machine.send(renewalTime(951 * MINUTE));
    expect(renewal()).toBe('Requesting');
  });

  test('that is not needed any more is not asked for after a failure', () => {
    machine.send(started({ template: withAddress('10.0.0.1') }), failed(10));
    machine.send({ type: 'TEMPLATE', template: undefined, at: 11 }, retryTime(3_000));
    expect(renewal()).toBe('AwaitingAddresses');
  });
});

describe('an agent without a valid client certificate', () => {
  test('gives up after five minutes if the server refuses to give one', () => {
    machine.send(started({ at: 0 }), failed(1_000, true));
    expect(validity()).toBe('Missing');
    machine.send(fiveMinutes());
    expect(validity()).toBe('GivenUp');
    expect(machine.asked).toEqual(['giveUp']);
  });

  test('goes on while the server does not answer, and gives up when it refuses', () => {
    machine.send(started({ at: 0 }), failed(1_000), fiveMinutes());
    expect(validity()).toBe('Overdue');
    machine.send(retryTime(6 * MINUTE), failed(6 * MINUTE));
    expect(validity()).toBe('Overdue');
    machine.send(retryTime(7 * MINUTE), failed(7 * MINUTE, true));
    expect(validity()).toBe('GivenUp');
  });

  test.each(['Missing', 'Overdue'])('goes on as usual when one is issued (%s)', (state) => {
    machine.send(started({ at: 0 }), requested());
    if (state === 'Overdue') machine.send(fiveMinutes());
    expect(validity()).toBe(state);
    machine.send(issued());
    expect(validity()).toBe('Valid');
  });

  test('has lost it when it expires', () => {
    machine.send(started({ certificate }), expiry(1000 * MINUTE));
    expect(validity()).toBe('Valid');
    machine.send(expiry(1000 * MINUTE + 1));
    expect(validity()).toBe('Missing');
    expect(machine.asked).toEqual(['reportMissing', 'untilGivenUp']);
    expect(machine.context.missingSince).toBe(1000 * MINUTE + 1);
  });

  test('that starts with an expired one has none', () => {
    machine.send(started({ certificate, at: 1001 * MINUTE }));
    expect(validity()).toBe('Missing');
  });
});

test('a stop ends both regions, and nothing is asked any more', () => {
  machine.send(started(), { type: 'STOP' });
  expect([renewal(), validity(), machine.asked]).toEqual(['Stopped', 'Stopped', []]);
});
