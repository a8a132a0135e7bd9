import type { PullCredentials } from '../../policies/images/image-credentials.ts';
import { asOneMessage } from '../../policies/formats/go-text.ts';
import { takeToken, type TokenBucket } from '../../policies/formats/token-bucket.ts';
import { withDeadline } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { AuthConfig, Image, PodSandboxConfig } from '../../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { ImageInUse } from '../node/pod-node.ts';
import { runtimeMessage, type RuntimeService } from '../service/runtime-service.ts';
import { imageInUse } from './present-images.ts';
import { SharedQueue } from './shared-queue.ts';

export interface ImagePullerParts {
  readonly runtime: Pick<RuntimeService, 'imageStatus' | 'pullImage'>;
  /** One pull at a time, in the order in which pods ask. */
  readonly serializeImagePulls: boolean;
  /** How many pulls at the same time where they are not serialized; 0 or undefined: no limit. */
  readonly maxParallelImagePulls?: number;
  /** 0: no limit. */
  readonly registryPullQPS: number;
  readonly registryBurst: number;
}

export interface PullRequest {
  readonly name: string;
  /** All that may be tried, in this order. */
  readonly credentials: readonly PullCredentials[];
  readonly sandboxConfig: PodSandboxConfig;
  /** May share a pull of the same image with the same credentials that has begun already. */
  readonly joins: boolean;
}

export interface PulledImage {
  readonly image: ImageInUse;
  readonly sizeBytes: number | undefined;
  /** The time in the queue not included. */
  readonly pullMs: number;
  /** The credentials that the registry accepted. Undefined: none were needed. */
  readonly used: PullCredentials | undefined;
}

/** What is the same for all who share a pull. */
interface SharedPull extends Omit<PulledImage, 'used'> {
  /** The place of the credentials that worked, among those that were tried. */
  readonly usedIndex: number;
}

/**
 * How long a pull may take. Neither CRI nor the kubelet has a limit. containerd aborts a pull without progress itself, from 1.7 on.
 * Under other runtimes a registry that hangs would hold up serialized pulls for ever.
 */
const PULL_LIMIT_MS = 60 * 60_000;

/**
 * Pulls images with the matching credentials, within the limits of the node. Pods that wait for the same image share one pull. Pods
 * with the policy `Always` share a pull that begins after the last of them has asked.
 */
export class ImagePuller {
  readonly #context: AgentContext;
  readonly #parts: ImagePullerParts;
  readonly #onPulled: (name: string, image: ImageInUse) => void;
  readonly #queue: SharedQueue<SharedPull>;
  #tokens: TokenBucket | undefined;

  constructor(
    context: AgentContext,
    parts: ImagePullerParts,
    onPulled: (name: string, image: ImageInUse) => void,
  ) {
    this.#context = context;
    this.#parts = parts;
    this.#onPulled = onPulled;
    this.#queue = new SharedQueue(parallelPulls(parts));
  }

  async pull(
    { name, credentials, sandboxConfig, joins }: PullRequest,
    signal: AbortSignal,
  ): Promise<PulledImage> {
    const auths = credentials.map(({ auth }) => auth);
    const request = { key: JSON.stringify([name, auths]), joinsBegun: joins, signal };
    const { usedIndex, ...pulled } = await this.#queue.run(request, (given) =>
      this.#pullNow(name, auths, sandboxConfig, given),
    );
    return { ...pulled, used: credentials[usedIndex] };
  }

  async #pullNow(
    name: string,
    credentials: readonly AuthConfig[],
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<SharedPull> {
    const { clock, measurements } = this.#context;
    this.#takeToken();
    const begunAt = clock.now();
    const { imageRef, usedIndex } = await withDeadline(clock, PULL_LIMIT_MS, signal, (limited) =>
      this.#pullWithAny(name, credentials, sandboxConfig, limited),
    );
    const pullMs = clock.now() - begunAt;
    const found = await this.#statusOf(imageRef, sandboxConfig);
    const image = imageInUse(imageRef, found ?? {});
    measurements?.images.imagePulled(found?.size ?? 0, pullMs);
    this.#onPulled(name, image);
    return { image, sizeBytes: found?.size, pullMs, usedIndex };
  }

  #takeToken(): void {
    const { registryPullQPS: perSecond, registryBurst: burst } = this.#parts;
    if (perSecond === 0) return;
    const tokens = takeToken(this.#tokens, this.#context.clock.now(), { perSecond, burst });
    if (tokens === undefined) throw new StateletError('Unavailable', 'pull QPS exceeded');
    this.#tokens = tokens;
  }

  /** Tries the matching credentials one after another until one works. Without any, the registry is asked anonymously. */
  async #pullWithAny(
    name: string,
    credentials: readonly AuthConfig[],
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<{ imageRef: string; usedIndex: number }> {
    const { runtime } = this.#parts;
    const errors: unknown[] = [];
    const tries = credentials.length === 0 ? [undefined] : credentials;
    for (const [usedIndex, auth] of tries.entries()) {
      try {
        const imageRef = await runtime.pullImage(name, { sandboxConfig, signal, auth });
        return { imageRef, usedIndex };
      } catch (error) {
        if (signal.aborted) throw abortReason(signal);
        errors.push(withKubeletMessage(error));
      }
    }
    if (errors.length === 1) throw errors[0];
    throw new StateletError(errorKind(errors.at(-1)), asOneMessage(errors.map(errorMessage)), {
      cause: errors,
    });
  }

  /** Undefined where the runtime does not answer: the image is there all the same. */
  async #statusOf(imageRef: string, { annotations }: PodSandboxConfig): Promise<Image | undefined> {
    try {
      return await this.#parts.runtime.imageStatus(imageRef, { annotations });
    } catch {
      return undefined;
    }
  }
}

/** The signal's reason; when the time is up, an error that says so. */
function abortReason({ reason }: AbortSignal): unknown {
  if (errorKind(reason) !== 'DeadlineExceeded') return reason;
  const message = `the image was not pulled within ${PULL_LIMIT_MS / 60_000} minutes`;
  return new StateletError('DeadlineExceeded', message, { cause: reason });
}

/** The message of a failed pull as the kubelet shows it. */
function withKubeletMessage(error: unknown): unknown {
  if (!(error instanceof StateletError) || error.kind === 'Unknown') return error;
  return new StateletError(error.kind, runtimeMessage(error), { cause: error.cause });
}

function parallelPulls({ serializeImagePulls, maxParallelImagePulls = 0 }: ImagePullerParts): number {
  if (serializeImagePulls) return 1;
  return maxParallelImagePulls > 0 ? maxParallelImagePulls : Infinity;
}
