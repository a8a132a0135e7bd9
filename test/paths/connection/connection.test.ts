/** The paths of the connection machine, replayed against the production actor by requests that end. */
import { afterAll, expect, test } from '@jest/globals';
import type { SnapshotFrom } from 'xstate';
import { ApiConnection } from '../../../src/agent/actors/cluster/api-connection.ts';
import { connectionMachine } from '../../../src/agent/machines/connection-machine.ts';
import { Coverage } from '../coverage.ts';
import { type Environment, shortestPaths, story } from '../paths.ts';
import { testContext } from '../../support/test-context.ts';

const STARTED_AT = 1000;
const coverage = new Coverage(connectionMachine);

const EVENTS = {
  answered: { type: 'ANSWERED', now: STARTED_AT },
  unauthorized: { type: 'UNAUTHORIZED', problem: 'token expired', now: STARTED_AT },
  failed: { type: 'FAILED', problem: 'connection refused', now: STARTED_AT },
} as const;

const REQUESTS: Readonly<Record<string, (connection: ApiConnection) => void>> = {
  answered: (connection) => connection.answered(),
  unauthorized: (connection) => connection.unauthorized('token expired'),
  failed: (connection) => connection.failed('connection refused'),
};

const environment: Environment<typeof connectionMachine> = {
  machine: connectionMachine,
  input: { now: STARTED_AT },
  events: EVENTS,
  possible: () => Object.keys(EVENTS),
  label: ({ value, context }: SnapshotFrom<typeof connectionMachine>) => `${value} ${context.problem ?? ''}`,
};

afterAll(() => coverage.print('all events in all states'));

test('every event in every state', () => {
  const paths = shortestPaths(environment);
  expect(paths.length).toBeGreaterThan(8);
  for (const path of paths) {
    let now = STARTED_AT;
    const clock = { now: () => now, setTimeout: () => 0, clearTimeout: () => undefined };
    const context = { ...testContext({ inspect: coverage.inspect }), clock };
    const connection = new ApiConnection(context, '/kubeconfig');
    connection.start();
    for (const { name, before, after } of path) {
      now += 1000;
      const { since } = connection.current;
      REQUESTS[name]?.(connection);
      const { state, problem, ...current } = connection.current;
      expect([story(path), state, problem]).toEqual([story(path), after.value, after.context.problem]);
      // Since when: moved by a change of the state alone.
      expect(current.since).toBe(before.value === after.value ? since : now);
    }
    connection.stop();
    coverage.replayed(path);
  }
  expect(coverage.uncovered()).toEqual([]);
});
