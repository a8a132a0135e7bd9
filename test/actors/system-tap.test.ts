/** These tests fail when XState changes what is private to it. */
import { expect, test } from '@jest/globals';
import { createActor, type InspectionEvent, setup } from 'xstate';
import { tapActors, tapEvents, type TappedEvent } from '../../src/actors/system-tap.ts';

const child = setup({ actions: { act: () => undefined } }).createMachine({
  id: 'child',
  initial: 'On',
  states: { On: { entry: 'act', always: 'Off' }, Off: { on: { END: 'End' } }, End: { type: 'final' } },
});
const failing = setup({
  actions: {
    fail: () => {
      throw new Error('on purpose');
    },
  },
}).createMachine({ id: 'failing', initial: 'On', states: { On: { on: { END: { actions: 'fail' } } } } });
const parent = setup({ actors: { child, failing } }).createMachine({
  id: 'parent',
  initial: 'Off',
  states: {
    Off: { on: { GO: 'On' } },
    On: {
      invoke: [
        { src: 'child', id: 'web' },
        { src: 'failing', id: 'db' },
      ],
      on: { 'xstate.error.actor.*': {} },
    },
  },
});

test('a tap hears all that an inspector hears, and leaves the system as it was', () => {
  const actor = createActor(parent).start();
  const { system } = actor;
  const untouched = { ...system };
  const [inspected, tapped]: [InspectionEvent[], TappedEvent[]] = [[], []];
  system.inspect((event) => inspected.push(event));
  const end = tapEvents(system, (event) => tapped.push(event));
  actor.send({ type: 'GO' });
  expect(new Set(tapped.map(({ type }) => type))).toEqual(
    new Set(['@xstate.event', '@xstate.actor', '@xstate.microstep', '@xstate.action', '@xstate.snapshot']),
  );
  expect(tapped.map((event) => ({ ...event, rootId: actor.sessionId }))).toEqual(inspected);
  end();
  const [heard, seen] = [tapped.length, inspected.length];
  actor.send({ type: 'ANY' });
  expect(tapped.length).toBe(heard);
  expect(inspected.length).toBeGreaterThan(seen);
  expect({ ...system }).toEqual(untouched);
});

test('the actors that begin and end are told, those too that fail', () => {
  const actor = createActor(parent);
  const told: string[] = [];
  tapActors(actor.system, {
    began: ({ id }) => told.push(`${id} began`),
    ended: ({ id }) => told.push(`${id} ended`),
  });
  actor.start();
  actor.send({ type: 'GO' });
  const { web, db } = actor.getSnapshot().children;
  expect(told.splice(0)).toEqual([`${actor.id} began`, 'web began', 'db began']);
  web?.send({ type: 'END' });
  db?.send({ type: 'END' });
  expect(told.splice(0)).toEqual(['web ended', 'db ended']);
  actor.stop();
  expect(told).toContain(`${actor.id} ended`);
});
