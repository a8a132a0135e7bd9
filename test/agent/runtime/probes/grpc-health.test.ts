import type { Socket } from 'node:net';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { type handleUnaryCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import protobuf from 'protobufjs';
import { grpcHealth } from '../../../../src/agent/runtime/probes/grpc-health.ts';
import { withDeadline } from '../../../../src/system/timer.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { Connections } from '../../../support/connections.ts';
import { closedPort, closeServers, http2Server, tcpServer } from './servers.ts';
import { waitFor } from '../../../support/wait-for.ts';

const servers: Server[] = [];
afterAll(async () => {
  servers.forEach((server) => server.forceShutdown());
  await closeServers();
});

/** The messages as their definition has them, so that both ends are not wrong in the same way. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message HealthCheckRequest { string service = 1; }
  message HealthCheckResponse { int32 status = 1; }
`);
const requestType = root.lookupType('HealthCheckRequest');
const responseType = root.lookupType('HealthCheckResponse');

interface Request {
  readonly service: string;
}

const start = (check?: handleUnaryCall<Request, number>) => startOn(0, check);

async function startOn(wanted: number, check?: handleUnaryCall<Request, number>): Promise<number> {
  const server = new Server();
  servers.push(server);
  if (check) {
    const method = {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer) => requestType.decode(bytes) as unknown as Request,
      responseSerialize: (number: number) => Buffer.from(responseType.encode({ status: number }).finish()),
      responseDeserialize: () => 0,
    };
    server.addService({ Check: method }, { Check: check });
  }
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${wanted}`, ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

const answering = (number: number) => start((_, done) => done(null, number));
const { signal } = new AbortController();
const health = (port: number, service = '', given = signal) =>
  grpcHealth({ host: '127.0.0.1', port }, service, 1, given);

describe('grpcHealth', () => {
  test.each([
    [0, 'UNKNOWN'],
    [1, 'SERVING'],
    [2, 'NOT_SERVING'],
    [3, 'SERVICE_UNKNOWN'],
    [77, '77'],
  ])('%i means %s', async (number, meaning) => {
    expect(await health(await answering(number))).toBe(meaning);
  });

  test.each(['', 'liveness', 'ü', 'x'.repeat(200), 'y'.repeat(20_000)])(
    'asks for the service %#',
    async (service) => {
      let asked = '';
      let agent: unknown;
      const port = await start((call, done) => {
        asked = call.request.service;
        agent = call.metadata.get('user-agent')[0];
        done(null, 1);
      });
      await health(port, service);
      expect(asked).toBe(service);
      expect(agent).toMatch(/^kube-probe\/1\.36 /u);
    },
  );

  test('a server without the health service', async () => {
    await expect(health(await start())).rejects.toMatchObject({
      kind: 'Unimplemented',
      message: expect.stringContaining('does not implement the grpc health protocol (grpc.health.v1.Health)'),
    });
  });

  test('a server that errs', async () => {
    const port = await start((_, done) => done({ code: status.INTERNAL, details: 'no disk' }));
    await expect(health(port)).rejects.toThrow(
      'error: health rpc probe failed: rpc error: code = Internal desc = no disk',
    );
  });

  test.each([
    [404, 'Unimplemented', 'error: this server does not implement the grpc health protocol'],
    [
      503,
      'Unavailable',
      'error: health rpc probe failed: rpc error: code = Unavailable desc = unexpected HTTP',
    ],
    [200, 'Unavailable', 'error: health rpc probe failed: rpc error: code = Unknown desc = unexpected HTTP'],
  ])('a server that speaks HTTP/2 but not gRPC, and answers %i', async (code, kind, message) => {
    const port = await http2Server((stream) => stream.respond({ ':status': code }, { endStream: true }));
    await expect(health(port)).rejects.toMatchObject({ kind, message: expect.stringContaining(message) });
  });

  test('a server that breaks off', async () => {
    const port = await http2Server((stream) => stream.session?.destroy());
    await expect(health(port)).rejects.toThrow(
      'error: health rpc probe failed: rpc error: code = Unavailable',
    );
  });

  test('a server that says that it has run out of time', async () => {
    const port = await start((_, done) => done({ code: status.DEADLINE_EXCEEDED, details: 'slow' }));
    await expect(health(port)).rejects.toThrow('timeout: health rpc did not complete within 1s');
  });

  test('a server that comes up in time', async () => {
    const port = await closedPort();
    const asked = health(port);
    const server = await startOn(port, (_, done) => done(null, 1));
    expect(await asked).toBe('SERVING');
    expect(server).toBe(port);
  });

  test('a server that does not come up in time', async () => {
    const clock = new VirtualClock();
    const port = await closedPort();
    const pending = withDeadline(clock, 1000, signal, (limited) => {
      const asking = health(port, '', limited);
      void clock.advance(1000);
      return asking;
    });
    await expect(pending).rejects.toThrow(
      /^timeout: failed to connect service "127\.0\.0\.1:\d+" within 1s: context deadline exceeded$/u,
    );
  });

  test('a server that does not answer in time', async () => {
    const clock = new VirtualClock();
    const port = await start(() => void clock.advance(1000));
    const pending = withDeadline(clock, 1000, signal, (limited) => health(port, '', limited));
    await expect(pending).rejects.toThrow('timeout: health rpc did not complete within 1s');
  });

  test('aborted: the reason is kept', async () => {
    const abort = new AbortController();
    const port = await start(() => abort.abort(new Error('the pod ends')));
    await expect(health(port, '', abort.signal)).rejects.toThrow('the pod ends');
    await expect(health(port, '', abort.signal)).rejects.toThrow('the pod ends');
  });
});

describe('500 failed probes', () => {
  const FAILED = 500;
  let connections: Connections;
  beforeEach(() => {
    connections = new Connections();
  });

  /** Each is given up as at the end of its time limit, once `seen` has resolved. */
  async function fail(port: number, seen: Promise<unknown>): Promise<void> {
    const timeUp = new AbortController();
    const probe = () => health(port, '', timeUp.signal);
    const probes = connections.of(() => Array.from({ length: FAILED }, probe));
    const outcomes = Promise.allSettled(probes);
    await seen;
    timeUp.abort(new StateletError('DeadlineExceeded', 'not done in time'));
    const reasons = (await outcomes).map((outcome) => String((outcome as PromiseRejectedResult).reason));
    expect(new Set(reasons)).toEqual(
      new Set([expect.stringContaining('timeout: failed to connect service')]),
    );
  }

  test('leave no connection to a server that accepts them and stays silent', async () => {
    const open = new Set<Socket>();
    const all = Promise.withResolvers<undefined>();
    const port = await tcpServer((socket) => {
      open.add(socket.resume());
      socket.once('close', () => open.delete(socket));
      if (open.size === FAILED) all.resolve(undefined);
    });
    await fail(port, all.promise);
    await waitFor(() => open.size === 0, { what: 'all connections to be closed' });
    expect([connections.opened, connections.open]).toEqual([FAILED, 0]);
  });

  test('leave nothing behind that dials a server which comes up afterwards', async () => {
    const port = await closedPort();
    await fail(port, setImmediate());
    expect([connections.opened, connections.open]).toEqual([FAILED, 0]);
    let dialed = 0;
    await tcpServer(() => dialed++, port);
    // Longer than a channel of gRPC waits before it dials again.
    await delay(2_000);
    expect(dialed).toBe(0);
  });
});
