import { mkdtempSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import { createServer, type Server as SocketServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { GrpcClient } from '../../../src/system/grpc/grpc-client.ts';
import type { Method } from '../../../src/system/grpc/method.ts';
import { bytes, field, message } from '../../../src/system/protobuf.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { Connections } from '../../support/connections.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Data {
  readonly data: Buffer;
}
const data = message<Data>({ data: field(1, bytes) });
const ECHO: Method<Data, Data> = { name: 'Echo', path: '/test.Echo/Echo', request: data, response: data };
const SERVICE = {
  echo: {
    path: ECHO.path,
    requestStream: false as const,
    responseStream: false as const,
    requestSerialize: data.encode,
    requestDeserialize: data.decode,
    responseSerialize: (answer: Buffer) => answer,
    responseDeserialize: (answer: Buffer) => answer,
  },
};
const MEGABYTE = 1024 * 1024;
const UNLIMITED = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 };

const never = new AbortController().signal;
let dir: string;
let path: string;
let client: GrpcClient;
const servers: Server[] = [];
const sockets: SocketServer[] = [];
const open = new Set<Socket>();

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-grpc-'));
  path = join(dir, 'socket');
  client = new GrpcClient('the echo', path);
});
afterEach(async () => {
  client.close();
  servers.splice(0).forEach((server) => server.forceShutdown());
  open.forEach((socket) => socket.destroy());
  await Promise.all(sockets.splice(0).map((server) => new Promise((done) => server.close(done))));
  rmSync(dir, { recursive: true });
});

type Handler = handleUnaryCall<Data, Buffer>;
const echo: Handler = ({ request }, done) => done(null, data.encode(request));

async function serve(handler: Handler, options: object = UNLIMITED): Promise<Server> {
  const server = new Server(options);
  servers.push(server);
  server.addService(SERVICE, { echo: handler });
  await new Promise<void>((resolve, reject) => {
    const bound = (error: Error | null) => (error ? reject(error) : resolve());
    server.bindAsync(`unix://${path}`, ServerCredentials.createInsecure(), bound);
  });
  return server;
}

/** What listens there speaks no gRPC. */
async function listen(accept: (socket: Socket) => void): Promise<void> {
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
    accept(socket);
  });
  sockets.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
}

const ask = (text = 'x', signal = never) => client.call(ECHO, { data: Buffer.from(text) }, signal);

describe('a client of gRPC', () => {
  test('gets the answer', async () => {
    await serve(echo);
    expect((await ask('hello')).data.toString()).toBe('hello');
    expect((await ask('')).data.length).toBe(0);
  });

  test('can wait for the server, and for the end of the connection', async () => {
    await expect(client.connect(never)).rejects.toThrow('the echo');
    await client.disconnected(never);
    const server = await serve(echo);
    await client.connect(never);
    const given = new AbortController();
    const givenUp = expect(client.disconnected(given.signal)).rejects.toThrow('given up');
    given.abort(new Error('given up'));
    await givenUp;
    const ended = client.disconnected(never);
    server.forceShutdown();
    await ended;
  });

  test('sends a request in parts', async () => {
    await serve(echo);
    const whole = data.encode({ data: Buffer.from('in parts') });
    const parts = [whole.subarray(0, 3), Buffer.alloc(0), whole.subarray(3)];
    expect((await client.ask(ECHO, () => parts, never)).data.toString()).toBe('in parts');
  });

  test('sends and gets many bytes, several times at once', async () => {
    await serve(echo);
    const large = Buffer.alloc(8 * MEGABYTE, 'statelet');
    const answers = await Promise.all([1, 2, 3].map(() => client.call(ECHO, { data: large }, never)));
    for (const answer of answers) expect(answer.data.equals(large)).toBe(true);
  });

  test('uses one connection', async () => {
    await serve(echo);
    const connections = new Connections();
    for (let i = 0; i < 20; i += 1) await connections.of(() => ask());
    expect(connections.opened).toBe(1);
  });

  test.each([
    [status.INTERNAL, 'Internal', 'no disk'],
    [status.UNIMPLEMENTED, 'Unimplemented', 'another version'],
    [status.UNKNOWN, 'Unknown', 'grüße %'],
  ])('a server that answers with the code %i', async (code, kind, details) => {
    await serve((_, done) => done({ code, details }));
    await expect(ask()).rejects.toMatchObject({ kind, message: `the echo (${path}): Echo: ${details}` });
  });

  test('a server that refuses a request for its length', async () => {
    await serve(echo, {});
    const tooLong = client.call(ECHO, { data: Buffer.alloc(8 * MEGABYTE) }, never);
    await expect(tooLong).rejects.toMatchObject({ kind: 'ResourceExhausted' });
    expect((await ask('short')).data.toString()).toBe('short');
  });

  test('an answer that is too long', async () => {
    const long = Buffer.alloc(17 * MEGABYTE);
    await serve(({ request }, done) => done(null, request.data.length > 1 ? long : data.encode(request)));
    await expect(ask('long')).rejects.toMatchObject({
      kind: 'ResourceExhausted',
      message: `the echo (${path}): Echo: the answer is longer than ${16 * MEGABYTE} bytes`,
    });
    expect((await ask('x')).data.toString()).toBe('x');
  });

  test('an answer that is no such message', async () => {
    await serve((_, done) => done(null, Buffer.from([0x0a, 0x7f, 0x00])));
    await expect(ask()).rejects.toMatchObject({
      kind: 'Internal',
      message: expect.stringContaining(`the echo (${path}): Echo: `),
    });
  });

  test('a socket that is not there', async () => {
    await expect(ask()).rejects.toMatchObject({
      kind: 'Unavailable',
      message: `the echo (${path}): Echo: connect ENOENT ${path}`,
    });
  });

  test.each([
    ['closes the connection', (socket: Socket) => void socket.destroy()],
    ['speaks no HTTP/2', (socket: Socket) => void socket.write('220 mail.example ready\r\n')],
  ])('a server that %s', async (_, accept) => {
    await listen(accept);
    await expect(ask()).rejects.toMatchObject({ kind: 'Unavailable' });
  });

  test('a server that comes up, goes and comes back is asked again', async () => {
    await expect(ask()).rejects.toMatchObject({ kind: 'Unavailable' });
    const first = await serve(echo);
    expect((await ask('first')).data.toString()).toBe('first');
    first.forceShutdown();
    rmSync(path, { force: true });
    await waitFor(
      () =>
        ask().then(
          () => false,
          () => true,
        ),
      { what: 'the server to be gone' },
    );
    await serve(echo);
    expect((await ask('second')).data.toString()).toBe('second');
  });

  test('a server that says goodbye in peace is connected again', async () => {
    const first = await serve(echo);
    await ask();
    await new Promise<void>((done) => first.tryShutdown(() => done()));
    rmSync(path, { force: true });
    await serve(echo);
    await waitFor(
      () =>
        ask().then(
          () => true,
          () => false,
        ),
      { what: 'an answer of the new server' },
    );
  });

  test('a server that goes while it is asked', async () => {
    const server = await serve(() => server.forceShutdown());
    await expect(ask()).rejects.toMatchObject({ kind: 'Unavailable' });
  });
});

describe('a question that is given up', () => {
  const aborts = [
    [
      new StateletError('DeadlineExceeded', 'not answered within 5 s'),
      'DeadlineExceeded',
      'not answered within 5 s',
    ],
    [new Error('the node stops'), 'Canceled', 'the node stops'],
    [new DOMException('too slow', 'TimeoutError'), 'DeadlineExceeded', 'too slow'],
  ] as const;

  test.each(aborts)('rejects with the reason: %s', async (reason, kind, text) => {
    const abort = new AbortController();
    await serve(() => abort.abort(reason));
    await expect(ask('x', abort.signal)).rejects.toMatchObject({
      kind,
      message: `the echo (${path}): Echo: ${text}`,
    });
    await expect(ask('x', abort.signal)).rejects.toMatchObject({ kind });
  });

  test('is canceled at the server, and others go on', async () => {
    const abort = new AbortController();
    const canceled = Promise.withResolvers<undefined>();
    const other = Promise.withResolvers<undefined>();
    await serve((call, done) => {
      if (call.request.data.toString() === 'slow') {
        call.on('cancelled', () => canceled.resolve(undefined));
        void other.promise.then(() => abort.abort(new Error('enough')));
      } else {
        other.resolve(undefined);
        void canceled.promise.then(() => done(null, data.encode(call.request)));
      }
    });
    const slow = ask('slow', abort.signal);
    const patient = ask('patient');
    await expect(slow).rejects.toMatchObject({ kind: 'Canceled' });
    expect((await patient).data.toString()).toBe('patient');
  });

  test('leaves no connection to a server that has stopped', async () => {
    const sessions = new Set<http2.ServerHttp2Session>();
    const abort = [new AbortController(), new AbortController()];
    const server = http2.createServer().on('session', (session) => {
      sessions.add(session.once('close', () => void sessions.delete(session)));
    });
    let asked = 0;
    server.on('stream', () => {
      asked += 1;
      if (asked === 2) abort.forEach((one) => one.abort(new Error('enough')));
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const both = await Promise.allSettled(abort.map((one) => ask('x', one.signal)));
    expect(both.map((one) => one.status)).toEqual(['rejected', 'rejected']);
    await waitFor(() => sessions.size === 0, { what: 'the connection to be closed' });
    await new Promise((done) => server.close(done));
  });

  test('leaves no connection to a server that accepts them and stays silent', async () => {
    const accepted: Socket[] = [];
    let abort = new AbortController();
    await listen((socket) => {
      accepted.push(socket.resume());
      abort.abort(new Error('enough'));
    });
    for (let i = 0; i < 20; i += 1) {
      abort = new AbortController();
      await expect(ask('x', abort.signal)).rejects.toMatchObject({ kind: 'Canceled' });
    }
    await waitFor(() => open.size === 0, { what: 'all connections to be closed' });
    // Each question has tried anew.
    expect(accepted.length).toBe(20);
  });
});

describe('a client that is closed', () => {
  test('rejects what it has asked, and what it is asked then', async () => {
    const asked = Promise.withResolvers<undefined>();
    await serve(() => asked.resolve(undefined));
    const pending = ask();
    await asked.promise;
    client.close();
    const closed = { kind: 'Unavailable', message: `the echo (${path}): Echo: the connection was closed` };
    await expect(pending).rejects.toMatchObject(closed);
    await expect(ask()).rejects.toMatchObject(closed);
  });

  test('closes its connection, and dials no more', async () => {
    const connected = Promise.withResolvers<undefined>();
    let connections = 0;
    await listen((socket) => {
      connections += 1;
      socket.resume();
      connected.resolve(undefined);
    });
    const pending = ask();
    await connected.promise;
    client.close();
    await expect(pending).rejects.toMatchObject({ kind: 'Unavailable' });
    await waitFor(() => open.size === 0, { what: 'the connection to be closed' });
    // Longer than a channel of grpc-js waits before it dials again.
    await delay(1500);
    expect(connections).toBe(1);
  });
});
