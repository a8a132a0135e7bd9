import { describe, expect, test } from '@jest/globals';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { bound, clock, desired, lines, manager, server, writer } from './status-writer-bed.ts';

const RUNNING = { phase: 'Running' };

const noAnswer = () => {
  throw new StateletError('Unavailable', 'connect ECONNREFUSED');
};

describe('a server that does not answer', () => {
  test('gets one request at a time, less and less often, and when it is back each status once', async () => {
    const pods = Array.from({ length: 30 }, (_, i) => bound(`web-${i}`));
    server.before = noAnswer;
    for (let change = 0; change < 100; change += 1) {
      for (const pod of pods) manager.set(pod, { phase: 'Running', message: `change ${change}` });
      await clock.advance(600);
    }
    // 1, 2, 4, 8 and then 10 s between the tries, after the first ones that were under way together.
    expect(server.requests.length).toBeLessThan(16);
    expect(lines).toEqual([expect.stringMatching(/^warn Statuses of \d+ pods could not be written/)]);
    server.requests.length = 0;
    server.before = () => undefined;
    writer.connected();
    await clock.advance(0);
    expect(server.patches).toHaveLength(30);
    expect(server.requests).toHaveLength(60);
    for (const { status } of server.patches) expect(status.message).toBe('change 99');
    expect(lines.slice(1)).toEqual(['info Statuses of pods are written again']);
  });

  test('gets no request during the time to wait that it has named', async () => {
    const pod = bound('web');
    server.before = () => {
      throw new ApiError('slow down', { status: 429, reason: 'TooManyRequests', retryAfterMs: 7_000 });
    };
    manager.set(pod, RUNNING);
    await clock.advance(6_999);
    expect(server.requests).toEqual(['get web']);
    server.before = () => undefined;
    await clock.advance(1);
    expect(server.statusOf('web')?.phase).toBe('Running');
  });

  test('gets no request any more once the writer has stopped', async () => {
    const pod = bound('web');
    server.before = noAnswer;
    manager.set(pod, RUNNING);
    await clock.advance(0);
    await writer.stop();
    expect(clock.armed).toBe(0);
    manager.set(pod, { phase: 'Failed' });
    await clock.advance(60_000);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a status that the server refuses', () => {
  const forbidden = new ApiError('pods "bad" is forbidden', { status: 403, reason: 'Forbidden' });
  const invalid = new ApiError('Pod "bad" is invalid', { status: 422, reason: 'Invalid' });
  const refuse = (error: ApiError) => {
    server.before = (request) => {
      if (request === 'get bad') throw error;
    };
  };

  test('delays no other status, and is logged once', async () => {
    const [bad, good] = [bound('bad'), bound('good')];
    refuse(invalid);
    manager.set(bad, RUNNING);
    manager.set(good, RUNNING);
    await clock.advance(0);
    expect(server.statusOf('good')?.phase).toBe('Running');
    await clock.advance(60_000);
    expect(lines).toEqual(['warn The API server refuses the status of the pod: Pod "bad" is invalid']);
  });

  test('is tried again when the status changes again', async () => {
    const [bad, good] = [bound('bad'), bound('good')];
    refuse(invalid);
    manager.set(bad, RUNNING);
    await clock.advance(0);
    server.before = () => undefined;
    manager.set(good, RUNNING);
    await clock.advance(0);
    expect(server.statusOf('bad')?.phase).toBe('Running');
  });

  test('because the server does not know of the binding to this node yet is logged only if that goes on', async () => {
    const bad = bound('bad');
    refuse(forbidden);
    manager.set(bad, RUNNING);
    await clock.advance(10_000);
    expect(lines).toEqual([]);
    await clock.advance(60_000);
    expect(lines).toEqual(['warn The API server refuses the status of the pod: pods "bad" is forbidden']);
  });

  test('because the pod is gone: is not sent again', async () => {
    const bad = bound('bad');
    desired.delete(bad);
    refuse(forbidden);
    manager.set(bad, RUNNING);
    await clock.advance(60_000);
    expect(server.requests).toEqual(['get bad']);
    expect(lines).toEqual([]);
  });
});
