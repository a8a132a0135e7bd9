import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Connection } from '../../../src/embedded/monitor/connection.ts';
import type { ContainerEvent } from '../../../src/types/cri.ts';
import { waitFor } from '../../support/wait-for.ts';

const HELLO = { hello: 'statelet-monitor', protocol: 1, pid: 4711, features: ['privileges'] };
const kind = (name: string) => ({ kind: name });

let dir: string;
let server: Server;
let monitorEnd: Promise<[Socket]>;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-connection-'));
  server = createServer().listen(join(dir, 'socket'));
  await once(server, 'listening');
  monitorEnd = once(server, 'connection') as Promise<[Socket]>;
});
afterEach(async () => {
  const [socket] = await monitorEnd;
  socket.destroy();
  server.close();
  rmSync(dir, { recursive: true });
});

/** A connection, with the monitor's end of it in the hand of the test. */
async function connected() {
  const events: ContainerEvent[] = [];
  const connection = new Connection(connect(join(dir, 'socket')), (event) => events.push(event));
  // Not every test says hello.
  connection.hello.catch(() => undefined);
  const [socket] = await monitorEnd;
  socket.on('error', () => undefined);
  const received: unknown[] = [];
  createInterface(socket).on('line', (line) => received.push(JSON.parse(line)));
  return {
    connection,
    events,
    received,
    say: (message: object | string) =>
      socket.write(typeof message === 'string' ? message : `${JSON.stringify(message)}\n`),
    hangUp: () => socket.destroy(),
    receives: (count: number) =>
      waitFor(() => received.length >= count && received, { what: `${count} messages` }),
  };
}

describe('the first message of the monitor', () => {
  test('says who it is and what it can do', async () => {
    const { connection, say } = await connected();
    say(HELLO);
    expect(await connection.hello).toEqual(HELLO);
  });

  test('of another version is an error that names both versions and the process', async () => {
    const { connection, say } = await connected();
    say({ ...HELLO, protocol: 7 });
    await expect(connection.hello).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(/process 4711.*protocol 7, this statelet 1.*kill 4711/s),
    });
  });

  test('is Unavailable if the monitor hangs up before', async () => {
    const { connection, hangUp } = await connected();
    hangUp();
    await expect(connection.hello).rejects.toMatchObject(kind('Unavailable'));
  });

  test('must be of the protocol: the connection is closed otherwise', async () => {
    const { connection, say } = await connected();
    say('HTTP/1.1 400 Bad Request\r\n\r\n');
    await expect(connection.hello).rejects.toMatchObject(kind('Unavailable'));
    await connection.closed;
  });
});

describe('a call', () => {
  test('is a request with a number of its own; answers may come in any order', async () => {
    const { connection, say, receives } = await connected();
    say(HELLO);
    const calls = [connection.call('containerStatus', ['a']), connection.call('stopContainer', ['b', 5])];
    expect(await receives(2)).toEqual([
      { id: 1, method: 'containerStatus', params: ['a'] },
      { id: 2, method: 'stopContainer', params: ['b', 5] },
    ]);
    say({ id: 2 });
    expect(await calls[1]).toBeUndefined();
    say({ id: 1, result: { id: 'a' } });
    expect(await calls[0]).toEqual({ id: 'a' });
  });

  test('fails with the error of the monitor', async () => {
    const { connection, say } = await connected();
    const call = connection.call('containerStatus', ['a']);
    say({ id: 1, error: { kind: 'NotFound', message: 'there is no container a' } });
    await expect(call).rejects.toMatchObject({ kind: 'NotFound', message: 'there is no container a' });
  });

  test('that is aborted is Canceled at once, and the monitor is notified', async () => {
    const { connection, receives, say } = await connected();
    const abort = new AbortController();
    const call = connection.call('ping', [], abort.signal);
    abort.abort();
    await expect(call).rejects.toMatchObject(kind('Canceled'));
    expect(await receives(2)).toEqual([{ id: 1, method: 'ping', params: [] }, { cancel: 1 }]);
    // An answer that comes all the same is dropped.
    say({ id: 1 });
    const next = connection.call('ping', []);
    say({ id: 2 });
    await next;
  });

  test('that was aborted before is not sent', async () => {
    const { connection, receives } = await connected();
    await expect(connection.call('ping', [], AbortSignal.abort())).rejects.toMatchObject(kind('Canceled'));
    const call = connection.call('ping', []);
    expect(await receives(1)).toEqual([{ id: 2, method: 'ping', params: [] }]);
    await connection.close();
    await expect(call).rejects.toMatchObject(kind('Unavailable'));
  });

  test('that is larger than the monitor takes is refused and not sent, and the connection stays', async () => {
    const { connection, receives, say } = await connected();
    const large = ['x'.repeat(17 * 1024 * 1024)];
    await expect(connection.call('execSync', ['a', large, 1])).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: 'the request execSync is too large: the monitor of the embedded runtime takes at most 16 MiB',
    });
    const next = connection.call('ping', []);
    expect(await receives(1)).toMatchObject([{ method: 'ping' }]);
    say({ id: 2 });
    await next;
  });

  test('is Unavailable if the connection ends meanwhile, or has ended', async () => {
    const { connection, hangUp } = await connected();
    const calls = [connection.call('ping', []), connection.call('listContainers', [{}])];
    const outcomes = Promise.allSettled(calls);
    hangUp();
    await connection.closed;
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: kind('Unavailable') });
    }
    await expect(connection.call('ping', [])).rejects.toMatchObject(kind('Unavailable'));
  });
});

test('events go to the listener, between the answers', async () => {
  const { connection, say, events } = await connected();
  const event = { containerId: 'a', containerEventType: 'CONTAINER_STARTED_EVENT' };
  const call = connection.call('ping', []);
  say(`${JSON.stringify({ event })}\n${JSON.stringify({ id: 1 })}\n`);
  await call;
  expect(events).toEqual([event]);
});
