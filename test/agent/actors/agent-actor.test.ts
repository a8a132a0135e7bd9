import { expect, test } from '@jest/globals';
import { setup } from 'xstate';
import { createActor, runningActors } from '../../../src/agent/actors/agent-actor.ts';

const chart = setup({
  actions: {
    fail: () => {
      throw new Error('on purpose');
    },
  },
}).createMachine({
  id: 'some',
  initial: 'On',
  states: {
    On: { on: { END: 'Off', FAIL: { actions: 'fail' }, 'xstate.error.actor.*': {} } },
    Off: { type: 'final' },
  },
});

test('the actors of a system are found from their start to their end, those too that fail', () => {
  const root = createActor(chart, { id: 'root' }).start();
  const [web, db] = ['web', 'db'].map((id) => createActor(chart, { id, parent: root }));
  const running = () => Array.from(runningActors(root), ({ id }) => id);
  expect(running()).toEqual(['root']);
  web?.start();
  db?.start();
  expect(running()).toEqual(['root', 'web', 'db']);
  web?.send({ type: 'END' });
  expect(running()).toEqual(['root', 'db']);
  db?.send({ type: 'FAIL' });
  expect(running()).toEqual(['root']);
  expect(runningActors(createActor(chart)).size).toBe(1);
});
