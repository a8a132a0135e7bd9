import { expect, test } from '@jest/globals';
import { VolumeStates } from '../../../src/runtime/volumes/volume-states.ts';

const tick = () => new Promise(setImmediate);

test('work on one volume waits for earlier work on it, also for work that failed; other volumes do not wait', async () => {
  const states = new VolumeStates();
  const told: string[] = [];
  const say = (what: string) => () => {
    told.push(what);
    return Promise.resolve();
  };
  const first = Promise.withResolvers<undefined>();
  const earlier = states.inTurn('u', 'a', async () => {
    told.push('first');
    await first.promise;
  });
  const refused = expect(earlier).rejects.toThrow('broken');
  const later = states.inTurn('u', 'a', say('second'));
  await states.inTurn('u', 'b', say('other volume'));
  await states.inTurn('v', 'a', say('other pod'));
  expect(told).toEqual(['first', 'other volume', 'other pod']);
  first.reject(new Error('broken'));
  await refused;
  await later;
  expect(told.at(-1)).toBe('second');
});

test('a pod is at rest when all work on its volumes has ended', async () => {
  const states = new VolumeStates();
  await states.atRest('u');
  const work = Promise.withResolvers<undefined>();
  void states.inTurn('u', 'a', () => work.promise);
  let isAtRest = false;
  const rest = states.atRest('u').then(() => (isAtRest = true));
  await tick();
  expect(isAtRest).toBe(false);
  work.resolve(undefined);
  await rest;
});

test('what is known of a volume is kept until the pod is forgotten', () => {
  const states = new VolumeStates();
  expect(states.has('u')).toBe(false);
  states.of('u', 'a').readyAs = 'x';
  expect([states.has('u'), states.of('u', 'a').readyAs, states.of('u', 'b').readyAs]).toEqual([
    true,
    'x',
    undefined,
  ]);
  states.forget('u');
  expect([states.has('u'), states.of('u', 'a').readyAs]).toEqual([false, undefined]);
});
