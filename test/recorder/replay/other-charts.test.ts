/** Charts that the simulation does not run, or seldom: lives of them are recorded and replayed. */
import { expect, test } from '@jest/globals';
import { type AnyStateMachine, createActor, type EventObject, fromPromise } from 'xstate';
import { TransitionFeed } from '../../../src/agent/actors/transitions.ts';
import { RecordWriter } from '../../../src/recorder/policies/record-format.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { done, failed } from '../../support/child-events.ts';
import { machineOf, replayed } from './support.ts';

const POD = { namespace: 'default', name: 'web', uid: 'uid-1' };
const TEMPLATE = { commonName: 'a', organizations: ['b'], dnsNames: [], ipAddresses: ['10.0.0.1'] };
const CERTIFICATE = { ...TEMPLATE, notBefore: 0, notAfter: 10_000 };
const WITHOUT_ADDRESS = { ...CERTIFICATE, ipAddresses: [] };

interface Life {
  readonly input?: object;
  readonly events: readonly (EventObject | (EventObject & Readonly<Record<string, unknown>>))[];
}

const LIVES: Readonly<Record<string, Life>> = {
  certificate: {
    input: { rotates: false, isVital: true },
    events: [
      { type: 'START', template: undefined, certificate: undefined, mustRenew: false, at: 1, random: 0.5 },
      { type: 'TEMPLATE', template: TEMPLATE, at: 2 },
      failed('sendRequest', { problem: 'no answer', isRefused: true, at: 3, random: 0.5 }),
      done('untilRetry', { at: 4 }),
      { type: 'TEMPLATE', template: { ...TEMPLATE, ipAddresses: ['10.0.0.2'] }, at: 5 },
      done('sendRequest', { name: 'csr', at: 6 }),
      done('sendRequest', { name: 'csr-2', at: 7 }),
      done('awaitCertificate', { certificate: WITHOUT_ADDRESS, at: 8, random: 0.5 }),
      { type: 'TEMPLATE', template: TEMPLATE, at: 9 },
      done('untilRenewal', { at: 10 }),
      done('untilExpiry', { at: 20_000 }),
      done('untilGivenUp', { at: 30_000 }),
      failed('sendRequest', { problem: 'refused', isRefused: true, at: 40_000, random: 0.5 }),
    ],
  },
  connection: {
    input: { now: 0 },
    events: [
      { type: 'FAILED', problem: 'no route', now: 1 },
      { type: 'FAILED', problem: 'no route', now: 2 },
      { type: 'ANSWERED', now: 3 },
      { type: 'UNAUTHORIZED', problem: 'who?', now: 4 },
      { type: 'FAILED', problem: 'no route', now: 5 },
    ],
  },
  shutdown: {
    events: [
      {
        type: 'SHUTDOWN',
        at: 1,
        groups: [
          { priority: 0, seconds: 5, uids: Array.from({ length: 200 }, (_, index) => `uid-${index}`) },
          { priority: 10, seconds: 5, uids: ['uid-a'] },
        ],
      },
      ...Array.from({ length: 200 }, (_, index) => ({ type: 'POD_ENDED', uid: `uid-${index}` })),
      { type: 'xstate.after.groupTime.shutdown.ShuttingDown.EndingGroup' },
      { type: 'SHUTDOWN_CANCELLED' },
    ],
  },
  podKill: {
    input: { pod: POD, gracePeriodSeconds: 30 },
    events: [
      { type: 'REFUSED', refusal: { kind: 'Postponed', problem: 'a budget', askedMs: 5 } },
      { type: 'xstate.after.retry.podKill.BackingOff' },
      { type: 'TAKEN', awaits: 'Object' },
      { type: 'HASTEN', gracePeriodSeconds: 5 },
      { type: 'REFUSED', refusal: { kind: 'Unanswered', problem: 'no answer' } },
      { type: 'xstate.after.retry.podKill.BackingOff' },
      { type: 'ENDING', awaits: 'Object' },
      { type: 'POD_TERMINATED' },
      { type: 'OVERDUE', problem: 'it takes long' },
      { type: 'POD_GONE' },
    ],
  },
};

/** With effects that do nothing. */
function inert(machine: AnyStateMachine): AnyStateMachine {
  const asked = Object.entries(machine.implementations.actions as Record<string, unknown>).filter(
    ([, action]) => typeof action === 'function' && !('resolve' in action),
  );
  const actions = Object.fromEntries(asked.map(([name]) => [name, () => undefined]));
  const unanswered = fromPromise(() => new Promise<never>(() => undefined));
  const requests = Object.keys(machine.implementations.actors as object).map((name) => [name, unanswered]);
  return machine.provide({ actions, actors: Object.fromEntries(requests) } as never);
}

test.each(Object.keys(LIVES))('%s', (chart) => {
  const { input, events = [] } = LIVES[chart] ?? {};
  const machine = machineOf(chart);
  const actor = createActor(inert(machine), { id: chart, ...(input && { input }) } as never);
  const writer = new RecordWriter({ program: '1', pid: 1, node: 'n' });
  writer.begin(0);
  new TransitionFeed(actor, new VirtualClock()).subscribe((...transition) => writer.add(...transition));
  actor.start();
  for (const event of events) actor.send(event);
  const record = writer.take().lines;
  const { transitions, differences, notReplayed } = replayed(record);
  expect(transitions).toBeGreaterThanOrEqual(events.length - 1);
  expect({ differences, notReplayed }).toEqual({ differences: [], notReplayed: {} });
  // What events said matters.
  const silent = replayed(record.replaceAll(/^(\[\d+,\d+,\d+),\{.*\}\]$/gmu, '$1]'));
  expect(silent.differences.length).toBeGreaterThan(0);
});
