import { describe, expect, test } from '@jest/globals';
import { type PodKillEvent, podKillMachine } from '../../../src/agent/machines/pod-kill-machine.ts';
import type { KillRefusalKind } from '../../../src/agent/policies/eviction-plugins/pod-kill.ts';
import { after } from '../../support/child-events.ts';
import { Stepper } from '../../support/stepper.ts';

const pod = { uid: 'uid-of-web', name: 'web', namespace: 'default' };
const HERE: PodKillEvent = { type: 'TAKEN', awaits: 'Node' };
const TAKEN: PodKillEvent = { type: 'TAKEN', awaits: 'Object' };
const ENDING: PodKillEvent = { type: 'ENDING', awaits: 'Node' };
const ABSENT: PodKillEvent = { type: 'ENDING', awaits: 'Object' };
const refused = (kind: KillRefusalKind = 'Postponed'): PodKillEvent => ({
  type: 'REFUSED',
  refusal: { kind, problem: kind },
});
const DUE = after('retry', 'podKill.BackingOff');
const OVERDUE: PodKillEvent = { type: 'OVERDUE', problem: 'too long' };
const TERMINATED: PodKillEvent = { type: 'POD_TERMINATED' };
const GONE: PodKillEvent = { type: 'POD_GONE' };
const hasten = (gracePeriodSeconds: number): PodKillEvent => ({ type: 'HASTEN', gracePeriodSeconds });

const chosen = { pod, plugin: 'greed', reason: 'it uses too much', killer: 'DeletionAPI' } as const;
const requesting = () => new Stepper(podKillMachine, { ...chosen, gracePeriodSeconds: 30 });
const backingOff = () => requesting().send(refused());
const awaiting = () => requesting().send(TAKEN);
const awaitingHere = () => requesting().send(HERE);
const hastening = () => awaiting().send(hasten(5));
const hasteningHere = () => awaitingHere().send(hasten(5));
const overdue = () => awaiting().send(OVERDUE);
const overdueHere = () => awaitingHere().send(OVERDUE);

describe('Requesting', () => {
  test('is the initial state: the pod is asked for at once', () => {
    expect([requesting().state, requesting().asked]).toEqual(['Requesting', ['requestKill']]);
  });

  test.each([TAKEN, HERE])('with the request taken, its end is awaited', (taken) => {
    const it = requesting().send(taken);
    expect([it.state, it.asked]).toEqual(['AwaitingEnd', ['abortRequest', 'reportTaken', 'armLimit']]);
  });

  test.each([ENDING, ABSENT])('a pod that another part ends counts as ended by it', (ending) => {
    const it = requesting().send(ending);
    expect([it.state, it.asked]).toEqual(['AwaitingEnd', ['abortRequest', 'reportEnding', 'armLimit']]);
  });

  test('a request that is not taken is tried again later', () => {
    const it = backingOff();
    expect([it.state, it.asked]).toEqual(['BackingOff', ['abortRequest', 'reportRefusal']]);
    expect(it.context).toMatchObject({ failures: 1, refusal: { problem: 'Postponed' } });
  });

  test('a shorter grace period is asked for in place of the first; a longer one changes nothing', () => {
    const it = requesting().send(hasten(5));
    expect([it.state, it.asked, it.context.gracePeriodSeconds]).toEqual([
      'Requesting',
      ['abortRequest', 'requestKill'],
      5,
    ]);
    expect(it.send(hasten(5)).asked).toEqual([]);
    expect(it.send(hasten(40)).context.gracePeriodSeconds).toBe(5);
  });

  test('if the pod ends before the answer, the answer says whether more is awaited', () => {
    const ended = () => requesting().send(TERMINATED);
    expect([ended().state, ended().asked]).toEqual(['Requesting', []]);
    expect(ended().send(TAKEN).state).toBe('AwaitingEnd');
    expect(ended().send(ABSENT).state).toBe('AwaitingEnd');
    const here = ended().send(HERE);
    expect([here.state, here.asked]).toEqual(['Ended', ['abortRequest', 'reportTaken', 'reportEnded']]);
    expect(ended().send(ENDING).state).toBe('Ended');
    expect(ended().send(hasten(5)).asked).toEqual([]);
  });
});

describe('BackingOff', () => {
  test('refusals of one kind are counted, another kind begins anew', () => {
    const it = backingOff().send(DUE, refused());
    expect([it.state, it.context.failures]).toEqual(['BackingOff', 2]);
    it.send(DUE, refused('Unanswered'));
    expect(it.context).toMatchObject({ failures: 1, refusal: { kind: 'Unanswered' } });
    it.send(DUE, TAKEN);
    expect(it.context).toMatchObject({ failures: 0, refusal: undefined });
  });

  test('a shorter grace period does not shorten the wait that the server asked for', () => {
    const it = backingOff().send(hasten(5));
    expect([it.state, it.asked, it.context.gracePeriodSeconds]).toEqual(['BackingOff', [], 5]);
    expect(it.send(DUE).state).toBe('Requesting');
  });

  test('a pod that ends meanwhile needs no further request', () => {
    const it = backingOff().send(TERMINATED);
    expect([it.state, it.asked]).toEqual(['Ended', ['reportEnded']]);
  });

  test('of a pod that is ending already, hastening is tried again', () => {
    expect(hastening().send(refused(), DUE).state).toBe('Hastening');
    expect(hastening().send(refused(), TERMINATED).state).toBe('AwaitingEnd');
    expect(hasteningHere().send(refused(), TERMINATED).state).toBe('Ended');
  });
});

describe('AwaitingEnd', () => {
  test('asked of this node, the end of the pod is the end of the kill', () => {
    const it = awaitingHere().send(TERMINATED);
    expect([it.state, it.asked]).toEqual(['Ended', ['disarmLimit', 'reportEnded']]);
  });

  test('asked of the server, the object must be gone as well', () => {
    const it = awaiting().send(TERMINATED);
    expect([it.state, it.asked]).toEqual(['AwaitingEnd', []]);
    expect(it.send(GONE).state).toBe('Ended');
  });

  test('it is asked again only with a shorter grace period, and not once its containers have ended', () => {
    const it = awaiting().send(hasten(30), hasten(31));
    expect([it.state, it.asked]).toEqual(['AwaitingEnd', []]);
    it.send(hasten(29));
    expect([it.state, it.asked]).toEqual(['Hastening', ['disarmLimit', 'requestKill']]);
    expect(awaiting().send(TERMINATED, hasten(1)).state).toBe('AwaitingEnd');
  });

  test('if it takes too long, that is reported, and the kill goes on', () => {
    const it = overdue();
    expect([it.state, it.asked]).toEqual(['Overdue', ['disarmLimit', 'reportOverdue']]);
    expect(it.context.overdue).toBe('too long');
  });
});

describe('Hastening', () => {
  test.each([TAKEN, ABSENT])('with the request taken, the end is awaited for another time', (answer) => {
    const it = hastening().send(answer);
    expect([it.state, it.asked]).toEqual(['AwaitingEnd', ['abortRequest', 'armLimit']]);
  });

  test('an even shorter one is asked for instead', () => {
    expect(hastening().send(hasten(3)).asked).toEqual(['abortRequest', 'requestKill']);
    expect(hastening().send(hasten(6)).asked).toEqual([]);
  });

  test('is not needed any more when the pod has ended', () => {
    expect(hastening().send(TERMINATED).state).toBe('AwaitingEnd');
    expect(hasteningHere().send(TERMINATED).state).toBe('Ended');
  });
});

describe('Overdue', () => {
  test('ends with the pod', () => {
    expect(overdueHere().send(TERMINATED).state).toBe('Ended');
    expect(overdue().send(TERMINATED).state).toBe('Overdue');
    expect(overdue().send(TERMINATED, GONE).state).toBe('Ended');
  });

  test('can be hastened, and is not overdue then', () => {
    const it = overdue().send(hasten(5), TAKEN);
    expect([it.state, it.context.overdue]).toEqual(['AwaitingEnd', undefined]);
  });
});

test.each([requesting, backingOff, awaiting, hastening, overdue])(
  'a pod that is gone ends the kill in each state',
  (make) => {
    const it = make().send(GONE);
    expect([it.state, it.asked.at(-1)]).toEqual(['Ended', 'reportEnded']);
  },
);

test.each([requesting, backingOff, awaiting, hastening, overdue])(
  'a stop ends each state, and what was armed or asked in it',
  (make) => {
    const it = make().send({ type: 'STOP' });
    expect(it.state).toBe('Stopped');
    expect(it.asked.every((name) => ['abortRequest', 'disarmLimit'].includes(name))).toBe(true);
  },
);
