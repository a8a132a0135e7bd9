import { expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import { setup, stopChild, type AnyActorRef } from 'xstate';
import { createActor } from '../../../src/agent/actors/agent-actor.ts';
import { PageFacts } from '../../../src/page/watch/page-facts.ts';
import { PageWatch } from '../../../src/page/watch/page-watch.ts';
import type { StatusNews } from '../../../src/agent/actors/pods/status-manager.ts';
import { TransitionFeed } from '../../../src/agent/actors/transitions.ts';
import { countInspections } from '../../support/count-inspections.ts';
import { systemClock } from '../../../src/system/timer.ts';

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

test('actors are shown from their start to their end', () => {
  const root = createActor(supervisor);
  const facts = new PageFacts({ agent: { roots: [root] } } as never);
  root.start();
  const one = createActor(probe, { id: 'of-web', parent: root }).start();
  expect(facts.actors('supervisor')).toHaveLength(1);
  one.send({ type: 'DUE' });
  expect(facts.actors('probe')).toEqual([{ chart: 'probe', actor: 'of-web', states: ['Running'] }]);
  const other = createActor(probe, { id: 'of-db', parent: root });
  expect(facts.actors('probe')).toHaveLength(1);
  other.start();
  expect(facts.actors('probe')).toHaveLength(2);
  other.send({ type: 'STOP' });
  expect(facts.actors('probe').map(({ actor }) => actor)).toEqual(['of-web']);
});

test('a page gets pods that change, that wait and that are forgotten, and transitions where it wants them; without a page nothing listens', () => {
  const root = createActor(supervisor).start();
  const news = new Subject<StatusNews>();
  const waits = new Subject<readonly string[]>();
  const inspections = countInspections(root);
  const watch = new PageWatch({
    feed: new TransitionFeed(root, systemClock),
    statusManager: { news },
    waitChanges: waits,
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
  waits.next(['uid-web']);
  expect(heard.splice(0)).toEqual(['uid-web']);
  endFirst();
  expect(inspections()).toBe(1);
  endSecond();
  expect(inspections()).toBe(0);
  expect([news.observed, waits.observed]).toEqual([false, false]);
});
