import { expect, test } from '@jest/globals';
import { PastLives } from '../../../src/runtime/pods/past-lives.ts';
import type { RuntimeContainerStatus } from '../../../src/types/runtime-pod.ts';

const instance = (name: string, restartCount: number) =>
  ({ name, restartCount }) as unknown as RuntimeContainerStatus;

test('a removed pod has had as many instances of a container as its highest attempt says', () => {
  const lives = new PastLives({ now: () => 0 });
  lives.note('a', { containers: [instance('main', 3), instance('main', 2), instance('side', 0)] });
  // The removal failed after some containers, and is tried again.
  lives.note('a', { containers: [instance('main', 2)] });
  lives.note('a', { containers: [] });
  expect(['main', 'side', 'other'].map((name) => lives.instances('a', name))).toEqual([4, 1, 0]);
  expect(lives.instances('b', 'main')).toBe(0);
});

test('it is forgotten after a while', () => {
  let now = 0;
  const lives = new PastLives({ now: () => now });
  lives.note('a', { containers: [instance('main', 0)] });
  now = 10 * 60_000;
  lives.collectGarbage();
  expect(lives.instances('a', 'main')).toBe(1);
  now += 1;
  lives.collectGarbage();
  expect(lives.instances('a', 'main')).toBe(0);
});
