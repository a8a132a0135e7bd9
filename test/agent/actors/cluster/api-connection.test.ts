import { describe, expect, test } from '@jest/globals';
import { type AnyActorRef, createActor, createMachine } from 'xstate';
import {
  ApiConnection,
  type ApiConnectionState,
} from '../../../../src/agent/actors/cluster/api-connection.ts';
import { testContext } from '../../../support/test-context.ts';

describe('the connection to the API server', () => {
  function open(parent?: AnyActorRef) {
    let now = 0;
    const lines: string[] = [];
    const log = (level: string) => (fields: object, message: string) =>
      void lines.push([level, message, ...Object.values(fields)].join(' '));
    const logger = {
      trace: log('trace'),
      debug: log('debug'),
      info: log('info'),
      warn: log('warn'),
      error: log('error'),
    };
    const clock = { now: () => now, setTimeout: () => 0, clearTimeout: () => undefined };
    const connection = new ApiConnection({ ...testContext({ logger, parent }), clock }, '/kubeconfig');
    connection.start();
    const at = (later: number) => {
      now = later;
      return connection;
    };
    return { connection, lines, at };
  }

  test('is logged when it changes, with the problem and how long it lasted', () => {
    const { at, lines } = open();
    at(1000).failed('GET /api/v1/nodes/n: connection refused');
    at(2000).answered();
    at(3000).answered();
    at(60_000).failed('GET /api/v1/nodes/n: no answer to a ping');
    at(61_000).failed('GET /api/v1/nodes/n: connection refused');
    at(150_000).answered();
    at(160_000).unauthorized('Unauthorized');
    expect(lines).toEqual([
      'warn API server: no answer: GET /api/v1/nodes/n: connection refused /kubeconfig',
      'info API server: connected after 2s (GET /api/v1/nodes/n: connection refused)',
      'warn API server: no answer: GET /api/v1/nodes/n: no answer to a ping /kubeconfig',
      'info API server: connected after 1m30s (GET /api/v1/nodes/n: connection refused)',
      'error API server: it does not accept the credentials of this node: Unauthorized /kubeconfig',
    ]);
  });

  test('is logged once when the clocks differ, and once when they agree again', () => {
    const { connection, lines } = open();
    for (const difference of [0, 3_600_000, 3_601_000, 0, 0]) connection.clockDifference(difference);
    expect(lines).toEqual([
      expect.stringMatching(
        /^warn API server: the clock of this machine is 1h ahead of that of the API server/,
      ),
      'info API server: its clock and that of this machine agree again',
    ]);
  });

  test('describes what it waits for, and since when', () => {
    const { connection, at } = open();
    expect(connection.current).toEqual({ state: 'Waiting', since: 0, problem: undefined });
    at(5000).unauthorized('Unauthorized');
    at(6000).unauthorized('Unauthorized');
    expect(connection.current).toEqual({ state: 'Unauthorized', since: 5000, problem: 'Unauthorized' });
  });

  test('calls its listeners only when it changes', () => {
    const { connection, at } = open();
    const heard: ApiConnectionState['state'][] = [];
    const end = connection.onChange(({ state }) => heard.push(state));
    at(1).answered();
    at(2).answered();
    at(3).failed('reset');
    at(4).failed('reset');
    end();
    at(5).answered();
    expect(heard).toEqual(['Connected', 'Waiting']);
  });

  test.each([
    ['alone', undefined],
    ['under a parent', createActor(createMachine({})).start()],
  ])('%s it ignores requests that end after it was stopped', (_, parent) => {
    const { connection, at } = open(parent);
    connection.stop();
    at(1).answered();
    expect(connection.current.state).toBe('Waiting');
  });
});
