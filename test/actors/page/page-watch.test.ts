import { expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import { createActor, setup, stopChild, type AnyActorRef } from 'xstate';
import { KnownActors } from '../../../src/actors/page/known-actors.ts';
import { PageWatch } from '../../../src/actors/page/page-watch.ts';
import type { StatusNews } from '../../../src/actors/pods/status-manager.ts';
import { TransitionFeed } from '../../../src/actors/transitions.ts';
import { systemClock } from '../../../src/system/system-clock.ts';

const probe = setup({}).createMachine({
  id: 'probe',
  initial: 'Waiting',
  states: { Waiting: { on: { DUE: 'Running', STOP: 'Stopped' } }, Running: {}, Stopped: { type: 'final' } },
});
const pod = setup({}).createMachine({
  id: 'pod',
  initial: 'Syncing',
  states: { Syncing: { on: { KILL: 'Terminating' } }, Terminating: {} },
});
const supervisor = setup({
  types: { events: {} as { readonly type: 'ACTOR_FORGOTTEN'; readonly actor: AnyActorRef } },
  actions: { stopActor: stopChild(({ event }) => event.actor) },
}).createMachine({ id: 'supervisor', on: { ACTOR_FORGOTTEN: { actions: 'stopActor' } } });

test('actors are known from their begin to their end, without those of pods', () => {
  const root = createActor(supervisor);
  const known = new KnownActors(root);
  root.start();
  const one = createActor(probe, { id: 'of-web', parent: root }).start();
  createActor(pod, { id: 'web_default uid-web', parent: root }).start();
  expect(known.of('supervisor')).toHaveLength(1);
  expect(known.of('pod')).toEqual([]);
  one.send({ type: 'DUE' });
  expect(known.of('probe')).toEqual([{ chart: 'probe', actor: 'of-web', states: ['Running'] }]);
  const other = createActor(probe, { id: 'of-db', parent: root }).start();
  other.send({ type: 'STOP' });
  expect(known.of('probe').map(({ actor }) => actor)).toEqual(['of-web']);
});

test('a page hears of pods that change and that are forgotten, and of transitions where it wants them; without a page nothing listens', () => {
  const root = createActor(supervisor).start();
  const news = new Subject<StatusNews>();
  const untouched = { ...root.system };
  const watch = new PageWatch({
    feed: new TransitionFeed(root, systemClock),
    statusManager: { news },
    watchEvents: () => () => undefined,
  });
  const heard: string[] = [];
  const endFirst = watch.add({ podChanged: (uid) => heard.push(uid) });
  const endSecond = watch.add({
    podChanged: () => undefined,
    transition: ({ actor, event }) => heard.push(`${event} of ${actor}`),
  });
  const web = createActor(pod, { id: 'web_default uid-web', parent: root }).start();
  web.send({ type: 'KILL' });
  expect(heard.splice(0)).toEqual(['uid-web', 'KILL of web_default uid-web']);
  root.send({ type: 'ACTOR_FORGOTTEN', actor: web });
  expect(heard.splice(0)).toEqual(['uid-web', `ACTOR_FORGOTTEN of ${root.id}`]);
  endFirst();
  expect({ ...root.system }).not.toEqual(untouched);
  endSecond();
  expect({ ...root.system }).toEqual(untouched);
  expect(news.observed).toBe(false);
});
