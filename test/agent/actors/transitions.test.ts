import { describe, expect, test } from '@jest/globals';
import { type AnyActorRef, createActor, createMachine, raise, sendTo, setup } from 'xstate';
import { nodeTransitions, TransitionFeed } from '../../../src/agent/actors/transitions.ts';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import { systemClock } from '../../../src/system/timer.ts';
import type { Transition } from '../../../src/types/transition.ts';
import { countInspections } from '../../support/count-inspections.ts';
import { LEAVE_TO_START, podChart } from '../../support/pod-chart.ts';
import { testPod } from '../../support/pods.ts';

const CLOCK = { ...systemClock, now: () => 1_700_000_000_000 };

function heard(root: AnyActorRef): Transition[] {
  const transitions: Transition[] = [];
  new TransitionFeed(root, CLOCK).subscribe((kind, actor, atMs) => {
    transitions.push({ atMs, actor, ...kind });
  });
  return transitions;
}

/** Without time, actor and chart. */
function shown(transitions: readonly Transition[]): string[] {
  return transitions.map(({ event, from, to, guard, actions }) => {
    const decided = guard === undefined ? '' : ` [${guard}]`;
    return `${event}: ${from} → ${to}${decided} ${actions.join(' ')}`.trim();
  });
}

const none = () => undefined;
const MACHINE = setup({
  actions: { enter: none, enterInner: none, leave: none, leaveInner: none, act: none },
  guards: { no: () => false, yes: () => true },
}).createMachine({
  id: 'some',
  initial: 'Away',
  on: { NEVER: { guard: 'no', target: '.Away' }, IGNORED: {}, PING: { actions: 'act' } },
  states: {
    Away: { on: { GO: [{ guard: 'no' }, { guard: 'yes', target: 'Here', actions: [{ type: 'act' }] }] } },
    Here: {
      entry: 'enter',
      exit: 'leave',
      initial: 'One',
      on: { AGAIN: { target: 'Here', reenter: true }, FIRST: '.One', BACK: 'Away' },
      states: {
        One: { entry: 'enterInner', exit: 'leaveInner', on: { NEXT: 'Two' } },
        Two: { always: { guard: 'yes', target: 'Three' } },
        Three: {},
      },
    },
  },
});

describe('the transitions of all actors', () => {
  test('have their chart, actor, time, event, states, the guard that decided and the actions in their order', () => {
    const actor = createActor(MACHINE, { id: 'web' }).start();
    const transitions = heard(actor);
    actor.send({ type: 'GO' });
    expect(transitions).toEqual([
      {
        atMs: 1_700_000_000_000,
        chart: 'some',
        actor: 'web',
        event: 'GO',
        from: 'Away',
        to: 'Here.One',
        guard: 'yes',
        actions: ['act', 'enter', 'enterInner'],
      },
    ]);
  });

  test('are none for an event that is not handled, or that changes nothing and runs no action', () => {
    const actor = createActor(MACHINE).start();
    const transitions = heard(actor);
    for (const type of ['UNKNOWN', 'NEVER', 'IGNORED', 'NEXT']) actor.send({ type });
    expect(transitions).toEqual([]);
    actor.send({ type: 'PING' });
    expect(shown(transitions)).toEqual(['PING: Away → Away act']);
  });

  test('are one for each step that an event leads to without another event', () => {
    const actor = createActor(MACHINE).start();
    actor.send({ type: 'GO' });
    const transitions = heard(actor);
    actor.send({ type: 'NEXT' });
    expect(shown(transitions)).toEqual([
      'NEXT: Here.One → Here.Two leaveInner',
      'NEXT: Here.Two → Here.Three [yes]',
    ]);
  });

  test('show which states are entered again', () => {
    const actor = createActor(MACHINE).start();
    actor.send({ type: 'GO' });
    const transitions = heard(actor);
    for (const type of ['AGAIN', 'FIRST', 'BACK', 'GO']) actor.send({ type });
    expect(shown(transitions)).toEqual([
      'AGAIN: Here.One → Here.One leaveInner leave enter enterInner',
      'FIRST: Here.One → Here.One leaveInner enterInner',
      'BACK: Here.One → Away leaveInner leave',
      'GO: Away → Here.One [yes] act enter enterInner',
    ]);
  });

  test('name the actions that ran, as the machine itself runs them', () => {
    const events: PodEvent[] = [
      { type: 'SyncPodCreate', pod: testPod() },
      ...LEAVE_TO_START,
      { type: 'SYNC_DONE', terminal: false, again: false },
      { type: 'SyncPodSync' },
      { type: 'SYNC_FAILED', reason: { kind: 'failed' }, again: false },
      { type: 'SyncPodKill' },
      { type: 'STOP_DONE' },
      { type: 'CLEANUP_DONE' },
    ];
    const ran: string[] = [];
    const input = { uid: 'uid-of-web', fullName: 'web_default', runtimeHolds: 'nothing' } as const;
    const actor = createActor(podChart, { input }).start();
    actor.system.inspect((event) => {
      if (event.type === '@xstate.action') ran.push(event.action.type);
    });
    const transitions = heard(actor);
    for (const event of events) actor.send(event);
    expect(ran.length).toBeGreaterThan(5);
    const { actions: known } = podChart.implementations;
    const isEffect = (name: string) => (known as Record<string, { type?: string }>)[name]?.type === undefined;
    expect(transitions.flatMap(({ actions }) => actions).filter(isEffect)).toEqual(ran);
  });

  test('of the regions of a parallel state are one transition', () => {
    const machine = createMachine({
      id: 'both',
      type: 'parallel',
      states: {
        A: { initial: 'On', states: { On: { on: { FLIP: 'Off' } }, Off: { on: { FLIP: 'On' } } } },
        B: { initial: 'On', states: { On: { on: { FLIP: 'Off', LONE: 'Off' } }, Off: {} } },
      },
    });
    const actor = createActor(machine).start();
    const transitions = heard(actor);
    for (const type of ['FLIP', 'FLIP', 'LONE']) actor.send({ type });
    expect(shown(transitions)).toEqual(['FLIP: A.On,B.On → A.Off,B.Off', 'FLIP: A.Off,B.Off → A.On,B.Off']);
  });

  test("of children have XState's types of events, without the ids in them", () => {
    const child = createMachine({
      id: 'child',
      initial: 'On',
      states: { On: { on: { END: 'Off' } }, Off: { type: 'final' } },
    });
    const parent = setup({ actors: { child } }).createMachine({
      id: 'parent',
      initial: 'On',
      invoke: { src: 'child', id: 'of-web uid-1' },
      on: { END: { actions: sendTo('of-web uid-1', { type: 'END' }) } },
      states: { On: { on: { 'xstate.done.actor.*': 'Off' } }, Off: {} },
    });
    const actor = createActor(parent).start();
    const transitions = heard(actor);
    actor.send({ type: 'END' });
    expect(transitions.map(({ chart, actor: id }) => [chart, id])).toContainEqual(['child', 'of-web uid-1']);
    expect(shown(transitions)).toContain('xstate.done.actor: On → Off');
  });

  test('of an actor that leaves its initial state at once begin in that state', () => {
    const child = setup({ actions: { enter: none } }).createMachine({
      id: 'child',
      initial: 'Outer',
      entry: raise({ type: 'GO' }),
      states: {
        Outer: {
          initial: 'Inner',
          states: { Inner: { always: 'Next' }, Next: { on: { GO: 'Last' } }, Last: {} },
        },
      },
    });
    const parent = setup({ actors: { child } }).createMachine({
      id: 'parent',
      initial: 'Off',
      states: { Off: { on: { GO: 'On' } }, On: { invoke: { src: 'child', id: 'web' } } },
    });
    const actor = createActor(parent).start();
    const transitions = heard(actor);
    actor.send({ type: 'GO' });
    expect(shown(transitions)).toEqual([
      'xstate.init: Outer.Inner → Outer.Next',
      'GO: Outer.Next → Outer.Last',
      'GO: Off → On',
    ]);
    expect(actor.getSnapshot().children.web?.getSnapshot().status).toBe('active');
  });

  test('include an actor that an error in its code has ended', () => {
    const child = setup({
      actions: {
        fail: () => {
          throw new Error('on purpose');
        },
      },
    }).createMachine({ id: 'child', initial: 'On', states: { On: { on: { FAIL: { actions: 'fail' } } } } });
    const parent = setup({ actors: { child } }).createMachine({
      id: 'parent',
      initial: 'On',
      invoke: { src: 'child', id: 'web' },
      on: { FAIL: { actions: sendTo('web', { type: 'FAIL' }) } },
      states: { On: { on: { 'xstate.error.actor.*': 'Off' } }, Off: {} },
    });
    const actor = createActor(parent).start();
    const transitions = heard(actor);
    actor.send({ type: 'FAIL' });
    expect(transitions).toContainEqual(
      expect.objectContaining({
        chart: 'child',
        actor: 'web',
        event: 'xstate.error',
        from: 'On',
        to: 'error',
      }),
    );
  });

  test('cost nothing without a listener', () => {
    const actor = createActor(MACHINE).start();
    const feed = new TransitionFeed(actor, CLOCK);
    const inspected: string[] = [];
    const inspections = countInspections(actor);
    const [first, second] = ['first', 'second'].map((name) =>
      feed.subscribe(({ event }) => inspected.push(`${name} ${event}`)),
    );
    expect(inspections()).toBe(1);
    actor.send({ type: 'GO' });
    first?.();
    actor.send({ type: 'AGAIN' });
    second?.();
    expect(inspections()).toBe(0);
    actor.send({ type: 'BACK' });
    const third = feed.subscribe(({ event, from }) => inspected.push(`${event} from ${from}`));
    actor.send({ type: 'GO' });
    third();
    expect(inspected).toEqual(['first GO', 'second GO', 'second AGAIN', 'GO from Away']);
    expect(inspections()).toBe(0);
  });
});

const machine = createMachine({
  id: 'lamp',
  initial: 'Off',
  states: { Off: { on: { PRESS: 'On' } }, On: { on: { PRESS: 'Off' } } },
});

test('transitions of several systems are emitted, each once, until the subscription ends', () => {
  const [first, other] = [createActor(machine, { id: 'first' }), createActor(machine, { id: 'other' })];
  const child = createActor(machine, { id: 'child', parent: first });
  for (const actor of [first, child, other]) actor.start();
  const heard: string[] = [];
  const transitions = nodeTransitions([first, other], systemClock);
  const end = transitions.subscribe(({ to }, actor) => void heard.push(`${actor} ${to}`));
  for (const actor of [first, child, other]) actor.send({ type: 'PRESS' });
  expect(heard).toEqual(['first On', 'child On', 'other On']);
  end();
  other.send({ type: 'PRESS' });
  expect(heard).toHaveLength(3);
});
