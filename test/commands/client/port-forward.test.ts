import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseForwardedPort, portForward } from '../../../src/commands/client/port-forward.ts';
import { podOnNode } from '../../support/owner-socket.ts';
import { distinctBytes, hashOf, readSlowly } from '../../support/slow-reader.ts';
import { type StreamingPod, streamingPod } from '../../support/streaming-pod.ts';
import { waitFor } from '../../support/wait-for.ts';

const WEB = podOnNode('web', 'default', {
  containers: [{ name: 'main', ports: [{ name: 'http', containerPort: 80 }] }],
});

describe('a port', () => {
  test.each([
    ['8080', 8080, 8080],
    ['8080:80', 8080, 80],
    [':80', 0, 80],
    ['0:80', 0, 80],
    ['http', 80, 80],
    ['8080:http', 8080, 80],
  ])('%s', (text, local, remote) => {
    const expected = text === 'http' ? { local: 80, remote: 80 } : { local, remote };
    expect(parseForwardedPort(text, WEB)).toEqual(expected);
  });

  test.each([
    ['', 'PORT, LOCAL:REMOTE or :REMOTE is expected'],
    ['80:', 'PORT, LOCAL:REMOTE or :REMOTE is expected'],
    ['1:2:3', 'PORT, LOCAL:REMOTE or :REMOTE is expected'],
    ['0', 'the port of the pod must be greater than 0'],
    ['70000', 'it must be from 0 to 65535'],
    ['x:80', '"x" is no port of this machine'],
    ['80:nope', 'pod web-node-a has no port of the name "nope"'],
  ])('"%s" is refused', (text, problem) => {
    expect(() => parseForwardedPort(text, WEB)).toThrow(`port "${text}": ${problem}`);
  });
});

/** What listens in the pod: sends back what it got when the client has ended its half. */
async function startEcho(): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void buffer(socket).then((got) => socket.end(got));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

let echo: Server;
let connections: Socket[];
let pod: StreamingPod;
let stop: AbortController;
/** What stands in the place of a connection to the pod. */
let replaced: Duplex | undefined;
let lines: string[];
let problems: string[];
beforeEach(async () => {
  echo = await startEcho();
  connections = [];
  lines = [];
  problems = [];
  stop = new AbortController();
  replaced = undefined;
  pod = await streamingPod(WEB, {
    forwarder: {
      connect: async (port) => {
        if (replaced) return replaced;
        if (port !== 80) throw new Error(`nothing listens at ${String(port)}`);
        const { port: there } = echo.address() as AddressInfo;
        const socket = connect({ port: there, host: '127.0.0.1', allowHalfOpen: true });
        connections.push(socket);
        await once(socket, 'connect');
        return socket;
      },
      close: () => connections.forEach((socket) => socket.destroy()),
    },
  });
});
afterEach(async () => {
  stop.abort();
  await pod.close();
  echo.close();
});

async function forward(...ports: string[]): Promise<{ done: Promise<unknown>; ports: number[] }> {
  const flags = { rootDir: pod.rootDir, address: '127.0.0.1' };
  const teller = {
    line: (text: string) => void lines.push(text),
    problem: (text: string) => void problems.push(text),
  };
  const done = portForward('web', ports, flags, teller, stop.signal).catch((error: unknown) => error);
  const told = await waitFor(
    () => {
      const found = lines.filter((line) => line.startsWith('Forwarding from 127.0.0.1:'));
      return found.length === ports.length && found;
    },
    { what: 'the ports to be open' },
  );
  return { done, ports: told.map((line) => Number(/:(\d+) ->/.exec(line)?.[1])) };
}

async function ask(port: number | undefined, sent: string | Buffer): Promise<Buffer> {
  const socket = connect({ port: port ?? 0, host: '127.0.0.1', allowHalfOpen: true });
  const answer = buffer(socket);
  socket.end(sent);
  return answer;
}

test('a connection has its answer after it has ended its own half', async () => {
  const { ports } = await forward(':80', ':http');
  expect((await ask(ports[0], 'hello')).toString()).toBe('hello');
  expect((await ask(ports[1], 'again')).toString()).toBe('again');
  expect(lines.filter((line) => line.startsWith('Handling'))).toEqual(
    ports.map((port) => `Handling connection for ${String(port)}`),
  );
});

test('three hundred connections at a time, each with its own data', async () => {
  const { ports } = await forward(':80');
  const sent = Array.from({ length: 300 }, (_, index) => Buffer.alloc(20_000, String(index)));
  const answers = await Promise.all(sent.map((data) => ask(ports[0], data)));
  expect(answers.every((answer, index) => sent[index]?.equals(answer))).toBe(true);
  await waitFor(() => connections.every((socket) => socket.destroyed), { what: 'all connections to close' });
});

test('a client that goes away ends its connection in the pod, and no other', async () => {
  const { ports } = await forward(':80');
  const gone = connect({ port: ports[0] ?? 0, host: '127.0.0.1' });
  gone.write('x');
  await waitFor(() => connections.length === 1, { what: 'the connection' });
  gone.resetAndDestroy();
  await waitFor(() => connections[0]?.destroyed, { what: 'the end of the connection in the pod' });
  expect((await ask(ports[0], 'still here')).toString()).toBe('still here');
});

test('a port at which nothing listens is reported for each connection; others go on', async () => {
  const { ports } = await forward(':81', ':80');
  const refused = connect({ port: ports[0] ?? 0, host: '127.0.0.1' });
  refused.on('error', () => undefined);
  await new Promise((resolve) => refused.once('close', resolve));
  await waitFor(() => problems.length === 1, { what: 'the problem' });
  expect(problems[0]).toContain(`an error occurred forwarding ${String(ports[0])} -> 81: `);
  expect(problems[0]).toContain('nothing listens at 81');
  expect((await ask(ports[1], 'x')).toString()).toBe('x');
});

test('a slow client gets all that came before its connection broke', async () => {
  const sent = distinctBytes(20_000_000);
  let at = 0;
  const breaking = new Duplex({
    // Nothing is held: what breaks then has been passed on.
    readableHighWaterMark: 1,
    read() {
      if (at >= sent.length) this.destroy(new Error('the pod is gone'));
      else this.push(sent.subarray(at, (at += 40_000)));
    },
    write: (_chunk, _encoding, done) => done(),
  });
  replaced = breaking;
  const { ports } = await forward(':80');
  const client = connect({ port: ports[0] ?? 0, host: '127.0.0.1' });
  expect(await readSlowly(client, 2)).toEqual({ bytes: sent.length, hash: hashOf(sent) });
  expect(problems[0]).toContain('the pod is gone');
});

test('ends when it is stopped, and frees its port', async () => {
  const { done, ports } = await forward(':80');
  stop.abort();
  expect(await done).toBeUndefined();
  const server = createServer().listen(ports[0], '127.0.0.1');
  await once(server, 'listening');
  server.close();
});

test('ends when the daemon does', async () => {
  const { done } = await forward(':80');
  await pod.close();
  expect(await done).toMatchObject({ kind: 'Unavailable' });
  pod = await streamingPod(WEB);
});

test('a local port that is in use is an error', async () => {
  const { port } = echo.address() as AddressInfo;
  const teller = { line: () => undefined, problem: () => undefined };
  const flags = { rootDir: pod.rootDir, address: '127.0.0.1' };
  await expect(portForward('web', [`${String(port)}:80`], flags, teller)).rejects.toThrow(
    `cannot listen on port ${String(port)}: listen EADDRINUSE`,
  );
});
