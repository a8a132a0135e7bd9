import { matchingCredentials, type RegistryCredentials } from '../../policies/images/image-credentials.ts';
import { joinedMessages } from '../../policies/images/image-pull.ts';
import { takePullToken, type TokenBucket } from '../../policies/images/image-pull-rate.ts';
import { parseImageReference } from '../../policies/images/image-reference.ts';
import type { Clock } from '../../types/clock.ts';
import type { AuthConfig, Image, PodSandboxConfig } from '../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { ImageInUse } from '../node/pod-node.ts';
import { runtimeMessage } from '../service/runtime-message.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { withDeadline } from '../probes/deadline.ts';
import type { Keyring } from './keyring.ts';
import { imageInUse } from './present-images.ts';
import { SharedQueue } from './shared-queue.ts';

export interface ImagePullerOptions {
  readonly runtime: Pick<RuntimeService, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly keyring: Keyring;
  /** What the pod brings along (its imagePullSecrets), tried before what the node has. */
  readonly pullSecrets?: (pod: Pod, signal: AbortSignal) => Promise<readonly RegistryCredentials[]>;
  /** One pull at a time, in the order asked for. */
  readonly serializeImagePulls: boolean;
  /** How many at a time where they are not serialized; 0 or nothing: no limit. */
  readonly maxParallelImagePulls?: number;
  /** 0: no limit. */
  readonly registryPullQPS: number;
  readonly registryBurst: number;
  readonly onPulled: (name: string, image: ImageInUse) => void;
}

export interface PullRequest {
  readonly pod: Pod;
  readonly name: string;
  readonly sandboxConfig: PodSandboxConfig;
  /** A pull of the same image by the same credentials that has begun already will do. */
  readonly joins: boolean;
}

export interface Pulled {
  readonly image: ImageInUse;
  readonly sizeBytes: number | undefined;
  /** Without the time in the queue. */
  readonly pullMs: number;
}

/**
 * How long a pull may take: neither CRI nor the kubelet has a limit. containerd from 1.7 on gives up by itself what does not get
 * on. Under a runtime that does not, a registry that hangs would hold up all other pulls for ever where these are serialized.
 */
const PULL_LIMIT_MS = 60 * 60_000;

/**
 * Pulls images with the credentials that fit, within the limits of the node. Pods that wait for the same image share
 * one pull, also those that want it fresh (`Always`): theirs begins after the last of them asked.
 */
export class ImagePuller {
  readonly #options: ImagePullerOptions;
  readonly #queue: SharedQueue<Pulled>;
  #tokens: TokenBucket | undefined;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
    this.#queue = new SharedQueue(parallelPulls(options));
  }

  async pull({ pod, name, sandboxConfig, joins }: PullRequest, signal: AbortSignal): Promise<Pulled> {
    const credentials = await this.#credentials(pod, name, signal);
    const ask = { key: JSON.stringify([name, credentials]), joinsBegun: joins, signal };
    return this.#queue.run(ask, (given) => this.#pullNow(name, credentials, sandboxConfig, given));
  }

  async #credentials(pod: Pod, name: string, signal: AbortSignal): Promise<readonly AuthConfig[]> {
    const { keyring, pullSecrets } = this.#options;
    const image = parseImageReference(name);
    const secrets = (await pullSecrets?.(pod, signal)) ?? [];
    return [...matchingCredentials(secrets, image), ...(await keyring.lookup(image))];
  }

  async #pullNow(
    name: string,
    credentials: readonly AuthConfig[],
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<Pulled> {
    const { clock, onPulled } = this.#options;
    this.#takeToken();
    const begunAt = clock.now();
    const imageRef = await withDeadline(clock, PULL_LIMIT_MS, signal, (limited) =>
      this.#pullWithAny(name, credentials, sandboxConfig, limited),
    );
    const pullMs = clock.now() - begunAt;
    const found = await this.#look(imageRef, sandboxConfig);
    const image = imageInUse(imageRef, found ?? {});
    onPulled(name, image);
    return { image, sizeBytes: found?.size, pullMs };
  }

  #takeToken(): void {
    const { clock, registryPullQPS: qps, registryBurst: burst } = this.#options;
    const tokens = takePullToken(this.#tokens, clock.now(), { qps, burst });
    if (tokens === undefined) throw new StateletError('Unavailable', 'pull QPS exceeded');
    this.#tokens = tokens;
  }

  /** Each of the credentials that fit until one works; as nobody where there are none. */
  async #pullWithAny(
    name: string,
    credentials: readonly AuthConfig[],
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<string> {
    const { runtime } = this.#options;
    const errors: unknown[] = [];
    for (const auth of credentials.length === 0 ? [undefined] : credentials) {
      try {
        return await runtime.pullImage(name, { sandboxConfig, signal, ...(auth && { auth }) });
      } catch (error) {
        if (signal.aborted) throw givenUp(signal);
        errors.push(asGrpcSaysIt(error));
      }
    }
    if (errors.length === 1) throw errors[0];
    throw new StateletError(errorKind(errors.at(-1)), joinedMessages(errors.map(errorMessage)), {
      cause: errors,
    });
  }

  /** The image is there; what the runtime does not say of it now is left open. */
  async #look(imageRef: string, { annotations }: PodSandboxConfig): Promise<Image | undefined> {
    try {
      return await this.#options.runtime.imageStatus(imageRef, { annotations });
    } catch {
      return undefined;
    }
  }
}

/** The signal's reason, unless the time is up. */
function givenUp({ reason }: AbortSignal): unknown {
  if (errorKind(reason) !== 'DeadlineExceeded') return reason;
  const message = `the image was not pulled within ${PULL_LIMIT_MS / 60_000} minutes`;
  return new StateletError('DeadlineExceeded', message, { cause: reason });
}

/** As the kubelet passes on what a runtime says of a pull: without a code that says nothing. */
function asGrpcSaysIt(error: unknown): unknown {
  if (!(error instanceof StateletError) || error.kind === 'Unknown') return error;
  return new StateletError(error.kind, runtimeMessage(error), { cause: error.cause });
}

function parallelPulls({ serializeImagePulls, maxParallelImagePulls = 0 }: ImagePullerOptions): number {
  if (serializeImagePulls) return 1;
  return maxParallelImagePulls > 0 ? maxParallelImagePulls : Infinity;
}
