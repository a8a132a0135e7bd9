import grpc, { type ClientReadableStream, type ServiceError } from '@grpc/grpc-js';
import { kindOfCode } from '../../../../system/grpc/grpc-codes.ts';
import type { Method } from '../../../../system/grpc/method.ts';
import { MAX_TIMER_MS } from '../../../../types/clock.ts';
import { type ErrorKind, StateletError } from '../../../../types/errors.ts';

/** The kubelet's limit: a list of many containers with long annotations is larger than gRPC's default of 4 MB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

const TIMER_INEXACTNESS_MS = 5;

const OPTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  // The socket is on this machine: a try is cheap, and pods wait for the connection.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  // These features are not needed and would cost time in every call.
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
};

export interface UnaryOptions {
  /** Default: no limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A connection to a runtime's socket. It is made with the first call, and again after it broke. */
export class Channel {
  readonly endpoint: string;
  readonly #client: grpc.Client;
  readonly #underWay = new Set<{ cancel(): void }>();
  #closed = false;

  /** `endpoint`: `unix:///path`. */
  constructor(endpoint: string) {
    if (!/^unix:\/\/\/./.test(endpoint)) {
      const message = `"${endpoint}" is not the endpoint of a runtime: it has to be unix:// and the path of its socket, such as unix:///run/containerd/containerd.sock`;
      throw new StateletError('InvalidArgument', message);
    }
    this.endpoint = endpoint;
    this.#client = new grpc.Client(endpoint, grpc.credentials.createInsecure(), OPTIONS);
  }

  call<Q, A>(method: Method<Q, A>, request: Q, { timeoutMs, signal }: UnaryOptions = {}): Promise<A> {
    if (this.#closed) return Promise.reject(closed(method.name));
    if (signal?.aborted) return Promise.reject(canceled(method.name));
    const deadline = deadlineOf(timeoutMs);
    return new Promise<A>((resolve, reject) => {
      const call = this.#client.makeUnaryRequest<Q, A>(
        method.path,
        method.request.encode,
        method.response.decode,
        request,
        new grpc.Metadata(),
        deadline === undefined ? {} : { deadline },
        (error, answer) => {
          this.#underWay.delete(call);
          signal?.removeEventListener('abort', onAbort);
          if (error === null && answer !== undefined) resolve(answer);
          else reject(this.#explain(method.name, error, { timeoutMs, deadline, signal }));
        },
      );
      const onAbort = (): void => call.cancel();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#underWay.add(call);
    });
  }

  /** A stream of answers, which ends with `error` or `end`. If the runtime is down, the stream waits for it. */
  stream<Q, A>(
    method: Method<Q, A>,
    request: Q,
    headers: Record<string, string> = {},
  ): ClientReadableStream<A> {
    const metadata = new grpc.Metadata({ waitForReady: true });
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
    const { path, request: asked, response } = method;
    return this.#client.makeServerStreamRequest<Q, A>(path, asked.encode, response.decode, request, metadata);
  }

  /** Cancels all calls under way, but no streams. */
  close(): void {
    this.#closed = true;
    for (const call of this.#underWay) call.cancel();
    this.#client.close();
  }

  #explain(
    name: string,
    error: ServiceError | null,
    { timeoutMs, deadline, signal }: { timeoutMs?: number; deadline?: number; signal?: AbortSignal },
  ): StateletError {
    if (signal?.aborted) return canceled(name);
    if (this.#closed) return closed(name);
    if (error === null) return new StateletError('Internal', `${name} was answered with nothing`);
    // The runtime uses the same code for a command that took too long.
    const own = deadline !== undefined && Date.now() >= deadline - TIMER_INEXACTNESS_MS;
    if (own && error.code === grpc.status.DEADLINE_EXCEEDED) {
      return deadlineError(name, this.endpoint, timeoutMs ?? 0);
    }
    return callError(name, this.endpoint, error);
  }
}

/** In Unix milliseconds. Node's timers reach 24 days: a longer limit counts as none. */
function deadlineOf(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined || timeoutMs > MAX_TIMER_MS) return undefined;
  return Date.now() + timeoutMs;
}

type Answer = Pick<ServiceError, 'code' | 'details'>;

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
