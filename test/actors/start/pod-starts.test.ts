import { beforeEach, expect, test } from '@jest/globals';
import type { PodRegistry } from '../../../src/actors/pods/pod-registry.ts';
import type { PodRemoval } from '../../../src/actors/pods/pod-removal.ts';
import { PodStarts, type StartRequest } from '../../../src/actors/start/pod-starts.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/policies/pod/pod-kinds.ts';
import { testPod } from '../../support/pods.ts';

const NAME = 'web_default';

let starts: PodStarts;
let granted: string[];

const request = (uid: string): StartRequest => ({
  type: 'START_REQUESTED',
  pod: testPod({ uid, annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } }),
});

beforeEach(() => {
  granted = [];
  const registry = {
    get: () => ({}),
    isPodTerminationRequested: () => false,
    send: (uid: string) => granted.push(uid),
  };
  starts = new PodStarts({
    registry: () => registry as unknown as PodRegistry,
    removal: { underWay: () => undefined } as unknown as PodRemoval,
    admission: { admits: () => true },
    askAgain: (again) => starts.decide(again),
  });
});

test('of several of one static name that run when the agent starts, the one that is wanted waits for all others', () => {
  for (const uid of ['a', 'b', 'c']) starts.adopt(NAME, uid);
  starts.decide(request('b'));
  starts.ended(NAME, 'a');
  expect(granted).toEqual([]);
  starts.ended(NAME, 'c');
  expect(granted).toEqual(['b']);
});

test('of several that are wanted one goes on, as none of them would end for the other', () => {
  for (const uid of ['a', 'b']) starts.adopt(NAME, uid);
  starts.decide(request('b'));
  starts.decide(request('a'));
  expect(granted).toEqual(['a']);
  starts.ended(NAME, 'a');
  expect(granted).toEqual(['a', 'b']);
});

test('one that comes anew waits for what ran before it, wanted or not', () => {
  starts.adopt(NAME, 'a');
  starts.decide(request('new'));
  starts.decide(request('a'));
  expect(granted).toEqual(['a']);
  starts.ended(NAME, 'a');
  expect(granted).toEqual(['a', 'new']);
});
