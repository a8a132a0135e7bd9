/** Joined paths have what shortest paths have. */
import { expect, test } from '@jest/globals';
import type { AnyStateMachine } from 'xstate';
import { type Environment, JOINED_STEPS_MAX, joinedPaths, type Path, shortestPaths, story } from './paths.ts';
import { evictionEnvironment } from './eviction/eviction-environment.ts';

/** What shortest paths have and joined ones do not. */
function missing<Machine extends AnyStateMachine>(
  joined: readonly Path<Machine>[],
  shortest: readonly Path<Machine>[],
  { label }: Environment<Machine>,
): readonly string[] {
  const keysOf = (paths: readonly Path<Machine>[]) =>
    paths.flat().map(({ name, before, after }) => `${label(before)} ${name} ${label(after)}`);
  const found = new Set(keysOf(joined));
  return keysOf(shortest).filter((key) => !found.has(key));
}

test('joined paths are fewer, not too long, and have every event in every state; what comes alone is in a shortest path', () => {
  const environment = evictionEnvironment({ resource: 'pids' });
  const shortest = shortestPaths(environment);
  const joined = joinedPaths(environment, ['lingering']);
  expect(missing(joined, shortest, environment)).toEqual([]);
  expect(joined.length).toBeLessThan(shortest.length / 2);
  expect(Math.max(...joined.map(({ length }) => length))).toBeLessThanOrEqual(JOINED_STEPS_MAX);
  const storiesOf = (paths: typeof joined) => paths.map(story).filter((names) => names.includes('lingering'));
  expect(storiesOf(joined).length).toBeGreaterThan(0);
  expect(storiesOf(shortest)).toEqual(expect.arrayContaining(storiesOf(joined)));
});
