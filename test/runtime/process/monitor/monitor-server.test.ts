import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MonitorServer } from '../../../../src/runtime/process/monitor/monitor-server.ts';
import { connectSocket } from '../../../../src/runtime/process/monitor/monitor-socket.ts';
import type { Handlers } from '../../../../src/runtime/process/monitor/protocol.ts';
import type { ContainerEvent, PodSandboxStatus } from '../../../../src/types/cri.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { processRuntimeBed, type ProcessRuntimeBed } from '../../../support/process-runtime.ts';
import { waitFor } from '../../../support/wait-for.ts';

const HELLO = {
  hello: 'statelet-monitor',
  protocol: 1,
  pid: process.pid,
  features: ['privileges', 'streams', 'findings'],
};
const EVENT = { containerId: 'a', containerEventType: 'CONTAINER_STARTED_EVENT' } as ContainerEvent;

/** With 65 MiB. */
const LARGE = { annotations: { a: 'x'.repeat(65 * 1024 * 1024) } } as unknown as PodSandboxStatus;

let dir: string;
let server: MonitorServer;
let sockets: Socket[];
/** The signal of each stop that is under way: stops do not end by themselves. */
let stops: AbortSignal[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-server-'));
  [sockets, stops] = [[], []];
  const handlers: Partial<Handlers> = {
    ping: () => undefined,
    listContainers: () => [],
    podSandboxStatus: ([id]) => ({ ...LARGE, id }),
    containerStatus: ([id]) => {
      throw new StateletError('NotFound', `there is no container ${id}`);
    },
    stopContainer: (_, signal) => {
      stops.push(signal);
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
    },
  };
  server = new MonitorServer(dir, handlers as Handlers);
  await server.listen();
});
afterEach(() => {
  server.close();
  for (const socket of sockets) socket.destroy();
  rmSync(dir, { recursive: true, force: true });
});

async function client() {
  const socket = await connectSocket(dir);
  sockets.push(socket);
  const received: unknown[] = [];
  createInterface(socket).on('line', (line) => received.push(JSON.parse(line)));
  const receives = (count: number) =>
    waitFor(() => received.length >= count && received, { what: `${count} messages` });
  await receives(1);
  return {
    socket,
    received,
    receives,
    send: (...messages: object[]) => {
      for (const message of messages) socket.write(`${JSON.stringify(message)}\n`);
    },
  };
}

describe('a client of the monitor', () => {
  test('is told first which monitor this is, then the answers to its requests', async () => {
    const { send, receives } = await client();
    send({ id: 1, method: 'listContainers', params: [{}] }, { id: 2, method: 'ping', params: [] });
    expect(await receives(3)).toEqual([HELLO, { id: 1, result: [] }, { id: 2 }]);
  });

  test('gets the errors of the methods, and Unimplemented for an unknown method', async () => {
    const { send, receives } = await client();
    send({ id: 1, method: 'containerStatus', params: ['x'] }, { id: 2, method: 'toString', params: [] });
    expect((await receives(3)).slice(1)).toEqual([
      { id: 1, error: { kind: 'NotFound', message: 'there is no container x' } },
      { id: 2, error: { kind: 'Unimplemented', message: 'the monitor has no method toString' } },
    ]);
  });

  test('gets an error in place of an answer that is larger than it takes', async () => {
    const { send, receives } = await client();
    send({ id: 1, method: 'podSandboxStatus', params: ['large'] }, { id: 2, method: 'ping', params: [] });
    expect((await receives(3)).slice(1)).toEqual([
      {
        id: 1,
        error: {
          kind: 'ResourceExhausted',
          message:
            'the answer to podSandboxStatus is too large: the monitor of the embedded runtime gives at most 64 MiB',
        },
      },
      { id: 2 },
    ]);
  });

  test('may cancel a call, and only its own', async () => {
    const [one, two] = [await client(), await client()];
    one.send({ id: 1, method: 'stopContainer', params: ['a', 5] });
    await waitFor(() => stops.length === 1, { what: 'the first stop' });
    two.send({ id: 1, method: 'stopContainer', params: ['b', 5] });
    await waitFor(() => stops.length === 2, { what: 'the second stop' });
    two.send({ cancel: 1 }, { cancel: 99 });
    await two.receives(2);
    expect(stops.map(({ aborted }) => aborted)).toEqual([false, true]);
  });

  test('that disconnects cancels its calls', async () => {
    const { socket, send } = await client();
    send({ id: 1, method: 'stopContainer', params: ['a', 5] });
    await waitFor(() => stops.length === 1, { what: 'the stop' });
    expect(server.clientCount).toBe(1);
    socket.destroy();
    await waitFor(() => stops[0]?.aborted, { what: 'the end of the call' });
    await waitFor(() => server.clientCount === 0, { what: 'the end of the connection' });
  });

  test('that does not speak the protocol is disconnected; the others are not', async () => {
    const [good, bad] = [await client(), await client()];
    const closed = once(bad.socket, 'close');
    bad.socket.write('GET / HTTP/1.1\r\n\r\n');
    await closed;
    good.send({ id: 1, method: 'ping', params: [] });
    expect(await good.receives(2)).toEqual([HELLO, { id: 1 }]);
  });

  test('gets every event, as all others do', async () => {
    const clients = [await client(), await client()];
    server.broadcast(EVENT);
    for (const { receives } of clients) expect(await receives(2)).toEqual([HELLO, { event: EVENT }]);
  });

  test('is disconnected when the server closes', async () => {
    const { socket } = await client();
    const ended = once(socket, 'end');
    server.close();
    await ended;
  });
});

describe("the monitor's socket", () => {
  test('and its folder are for their owner alone', () => {
    expect((statSync(dir).mode & 0o777).toString(8)).toBe('700');
    expect((statSync(join(dir, 'monitor.sock')).mode & 0o777).toString(8)).toBe('600');
  });

  test('replaces the file that a killed monitor has left', async () => {
    server.close();
    writeFileSync(join(dir, 'monitor.sock'), '');
    await server.listen();
    expect((await client()).received).toEqual([HELLO]);
  });

  test('is made again after it was deleted, and its connections stay', async () => {
    const { send, receives } = await client();
    rmSync(join(dir, 'monitor.sock'));
    await server.ensureReachable();
    expect((await client()).received).toEqual([HELLO]);
    send({ id: 1, method: 'ping', params: [] });
    expect(await receives(2)).toEqual([HELLO, { id: 1 }]);
  });

  test('is not made again while it exists', async () => {
    const { ino } = statSync(join(dir, 'monitor.sock'));
    await server.ensureReachable();
    expect(statSync(join(dir, 'monitor.sock')).ino).toBe(ino);
  });

  test('cannot be reached any more once its folder is removed, which the server notices', () => {
    expect(server.isFolderRemoved).toBe(false);
    rmSync(dir, { recursive: true });
    expect(server.isFolderRemoved).toBe(true);
  });
});

describe('a monitor with too many clients', () => {
  let bed: ProcessRuntimeBed;
  beforeEach(() => {
    bed = processRuntimeBed();
  });
  afterEach(() => bed.cleanup());

  test('disconnects those above its limit that have asked for nothing, the oldest first, and keeps no daemon out', async () => {
    const { runtime, rootDir } = bed;
    await runtime.status();
    const connections = await Promise.all(
      Array.from({ length: 100 }, () => connectSocket(join(rootDir, 'runtime'))),
    );
    for (const socket of connections) socket.on('error', () => undefined).resume();
    await waitFor(() => connections.filter(({ closed }) => closed).length === 37, { what: 'the limit' });
    expect((await runtime.status()).conditions).toHaveLength(2);
    expect(connections.slice(0, 36).every(({ closed }) => closed)).toBe(true);
    expect((await bed.connect().status()).conditions).toHaveLength(2);
    for (const socket of connections) socket.destroy();
    const log = readFileSync(join(rootDir, 'runtime', 'monitor.log'), 'utf8');
    expect(log.match(/started as process/g)).toHaveLength(1);
  });
});
