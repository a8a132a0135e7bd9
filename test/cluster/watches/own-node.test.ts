import { expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import { ofThisMachine } from '../../../src/cluster/watches/own-node.ts';
import type { WatchedObject } from '../../../src/cluster/watches/watched-object.ts';
import type { Node } from '../../../src/types/kubernetes.ts';

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
