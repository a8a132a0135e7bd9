import { expect, test } from '@jest/globals';
import { createActor, setup } from 'xstate';
import { asksOf } from '../../../src/agent/machines/ask.ts';

const ask = asksOf('bell', 'src/agent/actors/bell.ts');

const machine = setup({
  types: { events: {} as { type: 'PRESSED' } },
  actions: { ring: ask(), ringTimes: ask<{ times: number }>() },
}).createMachine({
  initial: 'Quiet',
  states: {
    Quiet: {
      on: { PRESSED: { actions: ['ring', { type: 'ringTimes', params: { times: 2 } }] } },
    },
  },
});

test('an action that is not provided throws an error that names the machine and the file of its actor', () => {
  const problems: string[] = [];
  const actor = createActor(machine).start();
  actor.subscribe({ error: (error) => problems.push(String(error)) });
  actor.send({ type: 'PRESSED' });
  expect(problems).toEqual([
    'Error: the bell machine was run without its effects: provide them (src/agent/actors/bell.ts)',
  ]);
});

test('a provided action gets the params that were declared', () => {
  const rung: number[] = [];
  const provided = machine.provide({
    actions: { ring: () => rung.push(1), ringTimes: (_, { times }) => rung.push(times) },
  });
  createActor(provided).start().send({ type: 'PRESSED' });
  expect(rung).toEqual([1, 2]);
});
