/**
 * The standard health service of gRPC servers, `grpc.health.v1.Health`. Each call has a connection of its own, which ends with
 * the call: a channel of grpc-js goes on dialing after it was closed, and does not let go of a server that accepts its
 * connection and then stays silent. To be loaded by the first such probe, for the library's sake.
 */
import { STATUS_CODES } from 'node:http';
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Address, hostPort, userAgent } from '../../policies/probes/probe-request.ts';
import { errorKind, type ErrorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { BoundedOutput } from '../../system/bounded-output.ts';
import { field, int, message, string } from '../service/protobuf.ts';
import { kindOfCode } from '../service/grpc-codes.ts';
import { unlessAborted } from '../../system/unless-aborted.ts';

const CHECK = '/grpc.health.v1.Health/Check';
const healthCheckRequest = message<{ service: string }>({ service: field(1, string) });
const healthCheckResponse = message<{ status: number }>({ status: field(1, int) });

/** By the number that stands for it. */
const SERVING_STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** Between two attempts to connect: as long as gRPC's own clients wait. */
const RETRY_MS = 1000;
/** Before each message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;
/** What an HTTP status means where the server does not speak gRPC: gRPC's own rules. */
const KIND_OF_HTTP_STATUS: Readonly<Record<number, ErrorKind>> = {
  ...{ 400: 'Internal', 401: 'Unauthenticated', 403: 'PermissionDenied', 404: 'Unimplemented' },
  ...{ 429: 'Unavailable', 502: 'Unavailable', 503: 'Unavailable', 504: 'Unavailable' },
};

/**
 * Asks how the service is (empty: the server as a whole): `SERVING`, `NOT_SERVING`, … Waits for the server to come up
 * until `signal` aborts. Rejects with DeadlineExceeded, Unimplemented or Unavailable, in the kubelet's words.
 */
export async function grpcHealth(
  address: Address,
  service: string,
  limitSeconds: number,
  signal: AbortSignal,
): Promise<string> {
  const connection = await connected(address, limitSeconds, signal);
  try {
    return await check(connection.session, address, service, limitSeconds, signal);
  } finally {
    connection.close();
  }
}

interface Connection {
  readonly session: ClientHttp2Session;
  /** Resolves when the server has shown that it speaks HTTP/2. */
  readonly ready: Promise<undefined>;
  /** At once, in whatever state it is. */
  close(): void;
}

function open(address: Address): Connection {
  const { promise: ready, resolve, reject } = Promise.withResolvers<undefined>();
  const socket = connectSocket(address);
  const session = connect(`http://${hostPort(address)}`, {
    createConnection: () => socket,
    settings: { enablePush: false },
  });
  session.once('remoteSettings', () => resolve(undefined));
  session.on('error', reject).once('close', () => reject(new Error('the connection was closed')));
  ready.catch(() => undefined);
  const close = () => {
    session.destroy();
    socket.destroy();
  };
  return { session, ready, close };
}

async function connected(address: Address, limitSeconds: number, signal: AbortSignal): Promise<Connection> {
  try {
    for (;;) {
      signal.throwIfAborted();
      const connection = open(address);
      const isReady = await unlessAborted(connection.ready, signal).then(
        () => true,
        () => false,
      );
      if (isReady) return connection;
      connection.close();
      // Cut short by the signal.
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  } catch (error) {
    if (errorKind(error) !== 'DeadlineExceeded') throw error;
    const text = `timeout: failed to connect service "${hostPort(address)}" within ${limitSeconds}s`;
    throw new StateletError('DeadlineExceeded', `${text}: context deadline exceeded`);
  }
}

async function check(
  session: ClientHttp2Session,
  address: Address,
  service: string,
  limitSeconds: number,
  signal: AbortSignal,
): Promise<string> {
  try {
    return servingStatus(await unlessAborted(call(session, address, service), signal));
  } catch (error) {
    if (signal.aborted && errorKind(error) !== 'DeadlineExceeded') throw error;
    throw checkFailure(error, limitSeconds);
  }
}

interface Answer {
  /** With the trailers. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Rejects where the connection breaks off. */
function call(session: ClientHttp2Session, address: Address, service: string): Promise<Answer> {
  const stream = session.request({
    ...{ ':method': 'POST', ':path': CHECK, ':authority': hostPort(address) },
    ...{ 'content-type': 'application/grpc', te: 'trailers', 'user-agent': `${userAgent('probe')} statelet` },
  });
  let headers: IncomingHttpHeaders = {};
  const body = new BoundedOutput();
  const add = (more: IncomingHttpHeaders) => (headers = { ...headers, ...more });
  stream.on('response', add).on('trailers', add);
  stream.on('data', (chunk: Buffer) => body.add(chunk));
  return new Promise((resolve, reject) => {
    stream.once('error', reject).once('close', () => resolve({ headers, body: body.bytes() }));
    stream.end(prefixed(healthCheckRequest.encode({ service })));
  });
}

function prefixed(bytes: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** Throws with gRPC's code as the kind. */
function servingStatus({ headers, body }: Answer): string {
  const code = Number(headers['grpc-status'] ?? Number.NaN);
  if (Number.isNaN(code)) throw withoutStatus(headers);
  if (code !== 0) throw new StateletError(kindOfCode(code), detailsOf(headers));
  const { status } = healthCheckResponse.decode(body.subarray(PREFIX_BYTES));
  return SERVING_STATUS[status] ?? String(status);
}

/** The server speaks HTTP/2, but not gRPC; or the connection broke off. */
function withoutStatus(headers: IncomingHttpHeaders): StateletError {
  const status = headers[constants.HTTP2_HEADER_STATUS] as number | undefined;
  if (status === undefined) return new StateletError('Unavailable', 'error reading from server: EOF');
  const text = `${status} (${STATUS_CODES[status] ?? ''})`;
  return new StateletError(
    KIND_OF_HTTP_STATUS[status] ?? 'Unknown',
    `unexpected HTTP status code received from server: ${text}`,
  );
}

function detailsOf({ 'grpc-message': details = '' }: IncomingHttpHeaders): string {
  try {
    return decodeURIComponent(String(details));
  } catch {
    return String(details);
  }
}

function checkFailure(error: unknown, limitSeconds: number): StateletError {
  const kind = error instanceof StateletError ? error.kind : 'Unavailable';
  const details = errorMessage(error);
  if (kind === 'DeadlineExceeded') {
    return new StateletError(kind, `timeout: health rpc did not complete within ${limitSeconds}s`);
  }
  if (kind === 'Unimplemented') {
    const text = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';
    return new StateletError(kind, `${text}: ${details}`);
  }
  const text = `error: health rpc probe failed: rpc error: code = ${kind} desc = ${details}`;
  return new StateletError('Unavailable', text);
}
