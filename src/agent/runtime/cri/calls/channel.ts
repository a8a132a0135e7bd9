import { codeOfKind, kindOfCode } from '../../../../system/grpc/grpc-codes.ts';
import { GrpcClient, type Listening } from '../../../../system/grpc/grpc-client.ts';
import type { Method } from '../../../../system/grpc/method.ts';
import { systemClock, withDeadline } from '../../../../system/timer.ts';
import { type ErrorKind, StateletError } from '../../../../types/errors.ts';

export interface UnaryOptions {
  /** Default: no limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A connection to a runtime's socket. It is made with the first call, and again after it broke. */
export class Channel {
  readonly endpoint: string;
  readonly #client: GrpcClient;
  #isClosed = false;

  /** `endpoint`: `unix:///path`. */
  constructor(endpoint: string) {
    if (!/^unix:\/\/\/./.test(endpoint)) {
      const message = `"${endpoint}" is not the endpoint of a runtime: it has to be unix:// and the path of its socket, such as unix:///run/containerd/containerd.sock`;
      throw new StateletError('InvalidArgument', message);
    }
    this.endpoint = endpoint;
    this.#client = new GrpcClient(
      (name, kind, details) => callError(name, endpoint, { code: codeOfKind(kind), details }),
      endpoint.slice('unix://'.length),
    );
  }

  async call<Q, A>(
    method: Method<Q, A>,
    request: Q,
    { timeoutMs = 0, signal }: UnaryOptions = {},
  ): Promise<A> {
    const { name } = method;
    const over: { late?: StateletError } = {};
    const onLate = () => (over.late = deadlineError(name, this.endpoint, timeoutMs));
    const ask = (limited: AbortSignal) => this.#client.call(method, request, limited);
    try {
      return await withDeadline(systemClock, timeoutMs, signal, ask, onLate);
    } catch (error) {
      if (signal?.aborted) throw canceled(name);
      if (this.#isClosed) throw closed(name);
      throw over.late ?? error;
    }
  }

  /** Passes on each answer of a stream. Resolves when the runtime ends it well. */
  listen<Q, A>(method: Method<Q, A>, request: Q, listening: Listening<A>): Promise<void> {
    return this.#client.listen(method, request, listening);
  }

  /** Calls and streams under way end. */
  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }
}

interface Answer {
  /** Of gRPC. */
  readonly code: number;
  readonly details: string;
}

export function callError(name: string, endpoint: string, answer: Answer): StateletError {
  const kind = kindOf(answer);
  return new StateletError(kind, messageOf(kind, name, endpoint, answer.details), { cause: answer });
}

const canceled = (name: string): StateletError => new StateletError('Canceled', `${name} was given up`);

const closed = (name: string): StateletError =>
  new StateletError('Unavailable', `${name}: the connection to the runtime was closed`);

const deadlineError = (name: string, endpoint: string, timeoutMs: number): StateletError =>
  new StateletError(
    'DeadlineExceeded',
    `the container runtime at ${endpoint} has not answered ${name} within ${timeoutMs / 1000} s`,
  );

/** containerd's answer, without a special code, while it restores its state after a restart. */
const STARTING = 'server is not initialized yet';

function kindOf({ code, details }: Answer): ErrorKind {
  if (details.includes(STARTING)) return 'Unavailable';
  return kindOfCode(code);
}

function messageOf(kind: ErrorKind, name: string, endpoint: string, details: string): string {
  if (kind === 'Unavailable') {
    return (
      `the container runtime at ${endpoint} is not available for ${name}: ${details}. ` +
      'Check that it runs, and that this is its socket'
    );
  }
  if (kind === 'Unimplemented' && details.includes('unknown service')) {
    return (
      `what listens at ${endpoint} does not speak CRI v1 (${details}): check that its CRI plugin is on ` +
      '(disabled_plugins in its config.toml) and that this is the socket of a container runtime'
    );
  }
  return kind === 'ResourceExhausted' || kind === 'Unimplemented' || details === ''
    ? `${name}: ${details || kind}`
    : details;
}
