import { type Dial, dialSocket, type GrpcLink } from '../../../../system/grpc/grpc-client.ts';
import type { Method } from '../../../../system/grpc/method.ts';
import { withDeadline } from '../../../../system/timer.ts';
import { driverWords } from '../../../policies/formats/terminal-text.ts';
import type { CsiCapability } from '../../../policies/volumes/csi-source.ts';
import { volumeFigures } from '../../../policies/volumes/csi-figures.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import { errorKind, errorMessage, StateletError } from '../../../../types/errors.ts';
import {
  type CsiNodeInfo,
  type ExpandRequest,
  NODE_EXPAND,
  NODE_GET_CAPABILITIES,
  NODE_GET_INFO,
  NODE_GET_STATS,
  NODE_PUBLISH,
  NODE_STAGE,
  NODE_UNPUBLISH,
  NODE_UNSTAGE,
  type PublishRequest,
  type StageRequest,
} from './csi-messages.ts';

/** The kubelet's limit for each call. */
const CALL_LIMIT_MS = 120_000;

interface CsiSocket {
  readonly name: string;
  readonly endpoint: string;
  /** The highest version of CSI that it supports. */
  readonly version: string;
  /** Default: the sockets of drivers. */
  readonly dial?: Dial | undefined;
}

type Context = Pick<AgentContext, 'clock' | 'measurements'>;

/** A CSI driver of this node, which is asked over gRPC on its socket. Errors name the driver and the call, and have gRPC's code as kind. */
export class CsiDriver {
  readonly name: string;
  readonly endpoint: string;
  /** The highest version of CSI that it supports. */
  readonly version: string;
  readonly #context: Context;
  readonly #client: GrpcLink;
  /** It cannot change while the driver runs. */
  #capabilities: Promise<ReadonlySet<CsiCapability>> | undefined;

  constructor(context: Context, { name, endpoint, version, dial = dialSocket }: CsiSocket) {
    this.#context = context;
    this.name = name;
    this.endpoint = endpoint;
    this.version = version;
    this.#client = dial(`CSI driver ${name}`, endpoint);
  }

  info(signal: AbortSignal): Promise<CsiNodeInfo> {
    return this.#call(NODE_GET_INFO, {}, signal);
  }

  capabilities(): Promise<ReadonlySet<CsiCapability>> {
    this.#capabilities ??= this.#ask().catch((error: unknown) => {
      this.#capabilities = undefined;
      throw error;
    });
    return this.#capabilities;
  }

  async stage(request: StageRequest, signal: AbortSignal): Promise<void> {
    await this.#call(NODE_STAGE, request, signal);
  }

  async unstage(volumeId: string, stagingPath: string, signal: AbortSignal): Promise<void> {
    await this.#call(NODE_UNSTAGE, { volumeId, stagingPath }, signal);
  }

  async publish(request: PublishRequest): Promise<void> {
    await this.#call(NODE_PUBLISH, request);
  }

  async unpublish(volumeId: string, targetPath: string): Promise<void> {
    await this.#call(NODE_UNPUBLISH, { volumeId, targetPath });
  }

  async expand(request: ExpandRequest): Promise<void> {
    await this.#call(NODE_EXPAND, request);
  }

  /** Undefined where the driver has no figures of volumes. */
  async stats(volumeId: string, path: string): Promise<ReturnType<typeof volumeFigures>> {
    if (!(await this.capabilities()).has('GET_VOLUME_STATS')) return undefined;
    const { usage } = await this.#call(NODE_GET_STATS, { volumeId, path });
    return volumeFigures(usage);
  }

  /** Calls under way reject. */
  close(): void {
    this.#client.close();
  }

  async #ask(): Promise<ReadonlySet<CsiCapability>> {
    const { capabilities } = await this.#call(NODE_GET_CAPABILITIES, {});
    return new Set(capabilities.flatMap(({ rpc }) => rpc?.type ?? []));
  }

  async #call<Q, A>(method: Method<Q, A>, request: Q, signal?: AbortSignal): Promise<A> {
    const { clock, measurements } = this.#context;
    const end = measurements?.csi.operation(this.name, method.path);
    try {
      const answer = await withDeadline(clock, CALL_LIMIT_MS, signal, (limit) =>
        this.#client.call(method, request, limit),
      );
      end?.('OK');
      return answer;
    } catch (error) {
      end?.(errorKind(error));
      const message = driverWords(errorMessage(error));
      throw new StateletError(errorKind(error), message, { cause: error });
    }
  }
}
