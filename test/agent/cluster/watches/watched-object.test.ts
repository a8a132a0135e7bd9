import { expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import {
  ofThisMachine,
  type WatchedObject,
  watchNode,
} from '../../../../src/agent/cluster/watches/watched-object.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { ScriptedApi } from '../../../support/scripted-api.ts';

const node = (resourceVersion: string) => ({ metadata: { name: 'node-1', uid: 'u-1', resourceVersion } });

test('changes of the own node go to all subscribers by one watch', async () => {
  const clock = new VirtualClock();
  const api = new ScriptedApi();
  const watched = watchNode(api, 'node-1', { clock, random: () => 0 });
  const first: WatchedObject<Node>[] = [];
  const second: WatchedObject<Node>[] = [];
  const subscriptions = [watched.subscribe((state) => first.push(state))];

  api.lists.shift()?.fail(new StateletError('Unavailable', 'connection refused'));
  await clock.advance(800);
  expect(first).toEqual([{ isKnown: false, problem: 'cannot list nodes: connection refused' }]);

  expect(api.lists[0]?.options.fieldSelector).toBe('metadata.name=node-1');
  api.lists.shift()?.answer('5');
  await clock.advance(0);
  expect(first.at(-1)).toEqual({ isKnown: true });

  api.watches[0]?.send('ADDED', node('6'));
  expect(first.at(-1)).toEqual({ isKnown: true, object: node('6') });

  subscriptions.push(watched.subscribe((state) => second.push(state)));
  expect(second).toEqual([{ isKnown: true, object: node('6') }]);
  api.watches[0]?.send('DELETED', node('7'));
  expect(second.at(-1)).toEqual({ isKnown: true });

  expect([api.lists.length, api.watches.length]).toEqual([0, 1]);
  subscriptions.forEach((subscription) => subscription.unsubscribe());
  expect(api.watches[0]?.isEnded).toBe(true);
});

const NODE: Node = { metadata: { name: 'node-1' } };

test('a Node object of another machine counts as not known, until it is of this machine', () => {
  const watched = new Subject<WatchedObject<Node>>();
  const seen: WatchedObject<Node>[] = [];
  let other: string | undefined = 'machine ID b';
  ofThisMachine(watched, () => other).subscribe((node) => seen.push(node));
  watched.next({ isKnown: false, problem: 'no answer' });
  watched.next({ isKnown: true });
  watched.next({ isKnown: true, object: NODE });
  other = undefined;
  watched.next({ isKnown: true, object: NODE });
  expect(seen).toEqual([
    { isKnown: false, problem: 'no answer' },
    { isKnown: true },
    { isKnown: false, problem: 'the Node object is of another machine: machine ID b' },
    { isKnown: true, object: NODE },
  ]);
});
