/**
 * Asks the standard health service of gRPC servers, `grpc.health.v1.Health`. Each call has its own connection, which ends with
 * the call. grpc-js is not used: its channel goes on dialing after it was closed, and keeps the connection to a server that
 * accepts it and then stays silent.
 */
import { STATUS_CODES } from 'node:http';
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Address, hostPort, userAgent } from '../../policies/probes/probe-request.ts';
import { errorKind, type ErrorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { BoundedOutput } from '../../system/bounded-output.ts';
import { field, int, message, string } from '../../system/protobuf.ts';
import { kindOfCode } from '../../system/grpc/grpc-codes.ts';
import { unlessAborted } from '../../system/unless-aborted.ts';

const CHECK = '/grpc.health.v1.Health/Check';
const healthCheckRequest = message<{ service: string }>({ service: field(1, string) });
const healthCheckResponse = message<{ status: number }>({ status: field(1, int) });

/** By number. */
const SERVING_STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** The wait between two attempts to connect: as in gRPC's own clients. */
const RETRY_MS = 1000;
/** The prefix of each message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;
/** The kind of error of an HTTP status, if the server does not speak gRPC: gRPC's own rules. */
const KIND_OF_HTTP_STATUS: Readonly<Record<number, ErrorKind>> = {
  400: 'Internal',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unimplemented',
  429: 'Unavailable',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

/**
 * The state of the service (empty: of the server as a whole): `SERVING`, `NOT_SERVING`, … Waits for the server to come up
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
  /** Closes at once, in any state. */
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
      // The signal ends the wait early.
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
  /** Includes the trailers. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Rejects if the connection breaks. */
function call(session: ClientHttp2Session, address: Address, service: string): Promise<Answer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': CHECK,
    ':authority': hostPort(address),
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': `${userAgent('probe')} statelet`,
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

/** The server speaks HTTP/2, but not gRPC; or the connection broke. */
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
