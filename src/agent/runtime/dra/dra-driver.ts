/** A DRA driver of this node, which is asked over gRPC on its socket. */
import type { ClaimKey } from '../../policies/dra/claim-devices.ts';
import type { ReportedHealth } from '../../policies/dra/device-health-list.ts';
import type { DraService } from '../../policies/dra/dra-registration.ts';
import { driverWords } from '../../policies/formats/terminal-text.ts';
import { type Dial, dialSocket, type GrpcLink } from '../../../system/grpc/grpc-client.ts';
import type { Method } from '../../../system/grpc/method.ts';
import { withDeadline } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import {
  type PreparedAnswer,
  prepareMethod,
  type UnpreparedAnswer,
  unprepareMethod,
  WATCH_RESOURCES,
} from './dra-messages.ts';

/** The kubelet's. */
const CALL_LIMIT_MS = 45_000;
const HEALTH_BYTES_MAX = 4 * 1024 * 1024;

type Answers<Answer> = Readonly<Record<string, Answer>>;

interface DraSocket {
  readonly name: string;
  readonly endpoint: string;
  readonly service: DraService;
  /** Default: the sockets of drivers. */
  readonly dial?: Dial | undefined;
}

type Context = Pick<AgentContext, 'clock' | 'measurements'>;

export class DraDriver {
  readonly name: string;
  readonly endpoint: string;
  readonly #service: DraService;
  readonly #context: Context;
  readonly #calls: GrpcLink;
  /** Only shows whether the driver is connected. Calls have another connection, which an aborted call may close. */
  readonly #link: GrpcLink;

  constructor(context: Context, { name, endpoint, service, dial = dialSocket }: DraSocket) {
    this.#context = context;
    this.name = name;
    this.endpoint = endpoint;
    this.#service = service;
    const errorOf = (_: string, kind: StateletError['kind'], text: string, cause: unknown) =>
      new StateletError(kind, `DRA driver ${name}: rpc error: code = ${kind} desc = ${text}`, { cause });
    this.#calls = dial(errorOf, endpoint);
    this.#link = dial(errorOf, endpoint);
  }

  /** Rejects where it does not listen. */
  connect(signal: AbortSignal): Promise<void> {
    return this.#link.connect(signal);
  }

  /** Resolves when its connection has ended. */
  disconnected(signal: AbortSignal): Promise<void> {
    return this.#link.disconnected(signal);
  }

  prepare(claims: readonly ClaimKey[], signal: AbortSignal): Promise<Answers<PreparedAnswer>> {
    return this.#call(prepareMethod(this.#service), claims, signal);
  }

  unprepare(claims: readonly ClaimKey[], signal: AbortSignal): Promise<Answers<UnpreparedAnswer>> {
    return this.#call(unprepareMethod(this.#service), claims, signal);
  }

  /** `onHealth` gets each list of devices. Resolves or rejects when the stream ends. */
  watchHealth(onHealth: (devices: readonly ReportedHealth[]) => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const onMessage = (message: Buffer) => onHealth(WATCH_RESOURCES.response.decode(message).devices);
    return this.#link.watch(
      WATCH_RESOURCES,
      {},
      { clock, signal, messageBytesMax: HEALTH_BYTES_MAX, onMessage },
    );
  }

  /** Calls under way reject. */
  close(): void {
    this.#calls.close();
    this.#link.close();
  }

  async #call<Answer>(
    method: Method<{ readonly claims: readonly ClaimKey[] }, { readonly claims: Answers<Answer> }>,
    claims: readonly ClaimKey[],
    signal: AbortSignal,
  ): Promise<Answers<Answer>> {
    const { clock, measurements } = this.#context;
    const end = measurements?.dra.called(this.name, method.path);
    try {
      const answer = await withDeadline(clock, CALL_LIMIT_MS, signal, (limit) =>
        this.#calls.call(method, { claims }, limit),
      );
      end?.('OK');
      return answer.claims;
    } catch (error) {
      const kind = errorKind(error);
      end?.(kind);
      const message = `${method.name}: ${driverWords(errorMessage(error))}`;
      throw new StateletError(kind, message, { cause: error });
    }
  }
}
