import { expect, test } from '@jest/globals';
import { createActor, createMachine } from 'xstate';
import { nodeTransitions } from '../../../src/actors/node/node-transitions.ts';
import { systemClock } from '../../../src/system/system-clock.ts';

const machine = createMachine({
  id: 'lamp',
  initial: 'Off',
  states: { Off: { on: { PRESS: 'On' } }, On: { on: { PRESS: 'Off' } } },
});

test('transitions of several systems are told, each once, until that is ended', () => {
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
