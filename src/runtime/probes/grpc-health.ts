/** The standard health service of gRPC servers, `grpc.health.v1.Health`. To be loaded by the first such probe, for the library's sake. */
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { type Address, hostPort, userAgent } from '../../policies/probe-request.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';

/** By the number that stands for it. */
const SERVING_STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

const CHECK = '/grpc.health.v1.Health/Check';
/** Tags of protobuf: field 1 as text, and as a number. */
const FIELD_1_TEXT = 0x0a;
const FIELD_1_NUMBER = 0x08;
const UNIMPLEMENTED = 12;

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
  signal.throwIfAborted();
  const client = new Client(hostPort(address), credentials.createInsecure(), {
    'grpc.primary_user_agent': userAgent('probe'),
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
  });
  const aborted = rejectionOf(signal);
  try {
    await connected(client, aborted.promise, address, limitSeconds);
    return await check(client, service, aborted.promise, limitSeconds);
  } finally {
    aborted.forget();
    client.close();
  }
}

async function connected(
  client: Client,
  aborted: Promise<never>,
  address: Address,
  limitSeconds: number,
): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    client.waitForReady(Infinity, (error) => (error ? reject(error) : resolve()));
  });
  try {
    await Promise.race([ready, aborted]);
  } catch (error) {
    if (errorKind(error) !== 'DeadlineExceeded') throw error;
    const text = `timeout: failed to connect service "${hostPort(address)}" within ${limitSeconds}s`;
    throw new StateletError('DeadlineExceeded', `${text}: context deadline exceeded`);
  }
}

async function check(
  client: Client,
  service: string,
  aborted: Promise<never>,
  limitSeconds: number,
): Promise<string> {
  try {
    return await Promise.race([call(client, service), aborted]);
  } catch (error) {
    throw checkFailure(error, limitSeconds);
  }
}

function call(client: Client, service: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null, status?: string) => {
      if (error) reject(error);
      else resolve(status ?? '');
    };
    client.makeUnaryRequest(CHECK, encodeRequest, decodeResponse, service, done);
  });
}

function checkFailure(error: unknown, limitSeconds: number): unknown {
  if (error instanceof StateletError) {
    if (error.kind !== 'DeadlineExceeded') return error;
    return new StateletError(
      'DeadlineExceeded',
      `timeout: health rpc did not complete within ${limitSeconds}s`,
    );
  }
  const { code, details = '' } = error as { readonly code?: number; readonly details?: string };
  if (code !== UNIMPLEMENTED) {
    return new StateletError('Unavailable', `error: health rpc probe failed: ${errorMessage(error)}`);
  }
  const text = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';
  return new StateletError('Unimplemented', `${text}: ${details}`);
}

/** `forget` must be called once the promise is of no interest any more. */
function rejectionOf(signal: AbortSignal): { promise: Promise<never>; forget: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  return { promise, forget: () => signal.removeEventListener('abort', abort) };
}

/** HealthCheckRequest: `service` is its only field. */
function encodeRequest(service: string): Buffer {
  const text = Buffer.from(service, 'utf8');
  if (text.length === 0) return text;
  const lengthBytes: number[] = [];
  for (let rest = text.length; rest > 0; rest >>>= 7) {
    lengthBytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  return Buffer.concat([Buffer.from([FIELD_1_TEXT, ...lengthBytes]), text]);
}

/** HealthCheckResponse: `status` is its only field, and left out where it is 0. */
function decodeResponse(bytes: Buffer): string {
  const number = bytes[0] === FIELD_1_NUMBER ? (bytes[1] ?? 0) : 0;
  return SERVING_STATUS[number] ?? String(number);
}
