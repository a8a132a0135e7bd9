import { describe, expect, test } from '@jest/globals';
import { preemptionMachine, type PreemptionEvent } from '../../../src/agent/machines/preemption-machine.ts';
import { selectVictims } from '../../../src/agent/policies/preemption/victims.ts';
import { requestingPod } from '../../support/admission.ts';
import { Stepper } from '../../support/stepper.ts';

const PREEMPTOR = { name: 'critical', namespace: 'kube-system', uid: 'critical' };
const SHORT = { reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu" };
const HOPELESS = { reason: 'UnexpectedAdmissionError', message: 'no set of running pods found' };

const decide = (amount: number) =>
  selectVictims({
    preemptor: requestingPod('critical', { critical: true }),
    pods: ['a', 'b', 'c'].map((name) => requestingPod(name, { requests: { cpu: '1' } })),
    missing: [{ resource: 'cpu', amount }],
    lowerPriorityFirst: true,
  });
const DECISION = decide(2000);

const PREEMPT: PreemptionEvent = { type: 'PREEMPT' };
const GONE: PreemptionEvent = { type: 'PREEMPTOR_GONE' };
const ADMITTED: PreemptionEvent = { type: 'ADMITTED' };
const REJECTED: PreemptionEvent = { type: 'REJECTED' };
const STILL_SHORT: PreemptionEvent = { type: 'STILL_SHORT', rejection: SHORT };
const REFUSED: PreemptionEvent = {
  type: 'REFUSED',
  rejection: { reason: 'TaintToleration', message: 'taints' },
};
const NO_VICTIMS: PreemptionEvent = { type: 'NO_VICTIMS', decision: decide(9000), rejection: HOPELESS };
const selected = (...awaited: string[]): PreemptionEvent => ({
  type: 'VICTIMS_SELECTED',
  decision: DECISION,
  awaited,
});
const ended = (uid: string): PreemptionEvent => ({ type: 'VICTIM_ENDED', uid });
const failed = (uid: string): PreemptionEvent => ({ type: 'VICTIM_FAILED', uid, problem: 'took too long' });

const idle = () => new Stepper(preemptionMachine, { preemptor: PREEMPTOR });
const selecting = () => idle().send(PREEMPT);
const evicting = () => selecting().send(selected('b', 'c'));
const admitting = () => evicting().send(ended('b'), ended('c'));
const admittingAtOnce = () => selecting().send(selected());
const rejecting = () => selecting().send(NO_VICTIMS);
const BUSY: [string, () => Stepper<typeof preemptionMachine>][] = [
  ['SelectingVictims', selecting],
  ['Evicting', evicting],
  ['Admitting', admitting],
  ['Rejecting', rejecting],
];

describe('Idle', () => {
  test('is the initial state: no action runs, and no room is promised', () => {
    const it = idle();
    expect([it.state, it.asked, it.hasTag('roomPromised')]).toEqual(['Idle', [], false]);
    expect(it.context).toMatchObject({ preemptor: PREEMPTOR, decision: undefined, awaited: [] });
  });

  test('if a pod asks for room, victims are selected', () => {
    const it = selecting();
    expect([it.state, it.asked]).toEqual(['SelectingVictims', ['selectVictims']]);
  });

  test('a second request of the pod starts without the data of the first one', () => {
    const it = evicting().send(failed('b'), ended('c'), ADMITTED);
    expect(it.context.unendable).toEqual(['b']);
    it.send(PREEMPT);
    expect(it.context).toMatchObject({ decision: undefined, unendable: [], hasWaited: false });
  });
});

describe('SelectingVictims', () => {
  test('the decision is reported, the victims are told to end, and the room is promised from then on', () => {
    const it = evicting();
    expect([it.state, it.asked]).toEqual(['Evicting', ['reportDecision', 'endVictims']]);
    expect(it.context).toMatchObject({ decision: DECISION, awaited: ['b', 'c'] });
    expect([selecting().hasTag('roomPromised'), it.hasTag('roomPromised')]).toEqual([false, true]);
  });

  test('if no victim is needed, admission is tried at once', () => {
    const it = admittingAtOnce();
    expect([it.state, it.asked]).toEqual(['Admitting', ['tryAdmission']]);
  });

  test('if no victims can make enough room, the decision is reported, and the pod is rejected', () => {
    const it = rejecting();
    expect([it.state, it.asked]).toEqual(['Rejecting', ['reportDecision', 'rejectPreemptor']]);
    expect(it.context.rejection).toEqual(HOPELESS);
    expect(it.context.decision?.unmet).toEqual([{ resource: 'cpu', amount: 6000 }]);
  });

  test('a second request changes nothing', () => {
    const it = selecting().send(PREEMPT);
    expect([it.state, it.asked]).toEqual(['SelectingVictims', []]);
  });
});

describe('Evicting', () => {
  test('the ends of all victims are awaited, in any order', () => {
    const it = evicting().send(ended('c'));
    expect([it.state, it.asked, it.context.awaited]).toEqual(['Evicting', [], ['b']]);
    it.send(ended('b'));
    expect([it.state, it.asked, it.context.awaited]).toEqual(['Admitting', ['tryAdmission'], []]);
  });

  test('a victim that does not end is reported, and its end is not awaited any more', () => {
    const it = evicting().send(failed('b'));
    expect([it.state, it.asked]).toEqual(['Evicting', ['reportFailedVictim']]);
    expect(it.context).toMatchObject({ awaited: ['c'], unendable: ['b'] });
    expect(it.send(ended('c')).state).toBe('Admitting');
  });

  test('if the last victim does not end, admission is tried', () => {
    const it = evicting().send(ended('c'), failed('b'));
    expect([it.state, it.asked]).toEqual(['Admitting', ['reportFailedVictim', 'tryAdmission']]);
    expect(it.context).toMatchObject({ awaited: [], unendable: ['b'] });
  });

  test('the end of a pod that is not awaited changes nothing', () => {
    expect(evicting().send(ended('x')).context.awaited).toEqual(['b', 'c']);
  });
});

describe('Admitting', () => {
  test('the room stays promised until it is taken', () => {
    expect(admitting().hasTag('roomPromised')).toBe(true);
    const it = admitting().send(ADMITTED);
    expect([it.state, it.asked, it.hasTag('roomPromised')]).toEqual(['Idle', [], false]);
    expect(it.context.decision).toEqual(DECISION);
  });

  test('if there is still too little room, victims are selected again, without the victims that did not end', () => {
    const it = evicting().send(failed('b'), ended('c'), STILL_SHORT);
    expect([it.state, it.asked]).toEqual(['SelectingVictims', ['selectVictims']]);
    expect(it.context.unendable).toEqual(['b']);
    it.send(selected('a'), failed('a'));
    expect(it.context.unendable).toEqual(['b', 'a']);
  });

  test('if there is too little room and no victim was awaited, the pod is rejected', () => {
    const it = admittingAtOnce().send(STILL_SHORT);
    expect([it.state, it.asked, it.context.rejection]).toEqual(['Rejecting', ['rejectPreemptor'], SHORT]);
  });

  test('if there is too little room and the second selection awaits no victim, the pod is rejected', () => {
    const it = admitting().send(STILL_SHORT, selected(), STILL_SHORT);
    expect(it.state).toBe('Rejecting');
  });

  test('if the pod may not run on the node for another reason than room, it is rejected for that reason', () => {
    const it = admitting().send(REFUSED);
    expect([it.state, it.asked]).toEqual(['Rejecting', ['rejectPreemptor']]);
    expect(it.context.rejection?.reason).toBe('TaintToleration');
  });
});

describe('Rejecting', () => {
  test('lasts until the rejection has been written', () => {
    const it = rejecting().send(REJECTED);
    expect([it.state, it.asked]).toEqual(['Idle', []]);
    expect(it.context.rejection).toEqual(HOPELESS);
  });

  test('promises no room', () => {
    expect(rejecting().hasTag('roomPromised')).toBe(false);
  });
});

describe('the preemptor is deleted', () => {
  test.each(BUSY)('in %s: the end of no pod is awaited any more', (state, at) => {
    expect(at().state).toBe(state);
    const it = at().send(GONE);
    expect([it.state, it.asked, it.hasTag('roomPromised')]).toEqual(['Idle', [], false]);
    expect(it.context.awaited).toEqual([]);
  });

  test('later events change nothing', () => {
    const it = evicting().send(GONE);
    for (const event of [ended('b'), failed('c'), selected('a'), ADMITTED, STILL_SHORT, REJECTED])
      expect([it.send(event).state, it.asked]).toEqual(['Idle', []]);
    expect(it.context).toMatchObject({ decision: undefined, unendable: [] });
  });
});

test('without its effects, the machine throws an error that says so', () => {
  const { selectVictims: action } = preemptionMachine.implementations.actions as unknown as Record<
    string,
    () => void
  >;
  expect(action).toThrow('without its effects');
});
