/**
 * Asks the standard health service of gRPC servers, `grpc.health.v1.Health`. Each call has its own connection, which ends with
 * the call.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Address, hostPort, userAgent } from '../../policies/probes/probe-request.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import { OUTPUT_BYTES_MAX } from '../../../system/run-command.ts';
import { GrpcConnection } from '../../../system/grpc/grpc-connection.ts';
import { field, int, message, string } from '../../../system/protobuf.ts';
import { unlessAborted } from '../../../system/promises.ts';

const CHECK = '/grpc.health.v1.Health/Check';
const healthCheckRequest = message<{ service: string }>({ service: field(1, string) });
const healthCheckResponse = message<{ status: number }>({ status: field(1, int) });

/** By number. */
const SERVING_STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** The wait between two attempts to connect: as in gRPC's own clients. */
const RETRY_MS = 1000;

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
    return await check(connection, service, limitSeconds, signal);
  } finally {
    connection.close();
  }
}

function open(address: Address): GrpcConnection {
  return new GrpcConnection(address, {
    authority: hostPort(address),
    userAgent: `${userAgent('probe')} statelet`,
    answerBytesMax: OUTPUT_BYTES_MAX,
  });
}

async function connected(
  address: Address,
  limitSeconds: number,
  signal: AbortSignal,
): Promise<GrpcConnection> {
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
  connection: GrpcConnection,
  service: string,
  limitSeconds: number,
  signal: AbortSignal,
): Promise<string> {
  try {
    const request = [healthCheckRequest.encode({ service })];
    const answer = await connection.ask({ path: CHECK, request, signal });
    const { status } = healthCheckResponse.decode(answer);
    return SERVING_STATUS[status] ?? String(status);
  } catch (error) {
    if (signal.aborted && errorKind(error) !== 'DeadlineExceeded') throw error;
    throw checkFailure(error, limitSeconds);
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
