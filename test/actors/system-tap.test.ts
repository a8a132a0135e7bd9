import { expect, test } from '@jest/globals';
import { createActor, type InspectionEvent, setup } from 'xstate';
import { tapSystem, type TappedEvent } from '../../src/actors/system-tap.ts';

const child = setup({ actions: { act: () => undefined } }).createMachine({
  id: 'child',
  initial: 'On',
  states: { On: { entry: 'act', always: 'Off' }, Off: { type: 'final' } },
});
const parent = setup({ actors: { child } }).createMachine({
  id: 'parent',
  initial: 'Off',
  states: { Off: { on: { GO: 'On' } }, On: { invoke: { src: 'child', id: 'web' } } },
});

/** Fails when XState changes what is private. */
test('a tap hears what an inspector hears, in the same order', () => {
  const actor = createActor(parent).start();
  const [inspected, tapped]: [InspectionEvent[], TappedEvent[]] = [[], []];
  actor.system.inspect((event) => inspected.push(event));
  tapSystem(actor.system, (event) => tapped.push(event));
  actor.send({ type: 'GO' });
  expect(new Set(tapped.map(({ type }) => type))).toEqual(
    new Set(['@xstate.event', '@xstate.actor', '@xstate.microstep', '@xstate.action', '@xstate.snapshot']),
  );
  expect(tapped.map((event) => ({ ...event, rootId: actor.sessionId }))).toEqual(inspected);
});

test('several taps end in any order, and leave the system as it was', () => {
  const actor = createActor(parent).start();
  const { system } = actor;
  const untouched = { ...system };
  const heard: string[] = [];
  const [first, second, third] = ['first', 'second', 'third'].map((name) =>
    tapSystem(system, ({ type }) => {
      if (type === '@xstate.event') heard.push(name);
    }),
  );
  actor.send({ type: 'ANY' });
  first?.();
  first?.();
  actor.send({ type: 'ANY' });
  third?.();
  actor.send({ type: 'ANY' });
  second?.();
  actor.send({ type: 'ANY' });
  expect(heard).toEqual(['first', 'second', 'third', 'second', 'third', 'second']);
  expect({ ...system }).toEqual(untouched);
});
