import {
  type BackOffEntry,
  type BackOffOptions,
  keepBackOffEntry,
  nextBackOffEntry,
} from '../../policies/sync/crash-loop-backoff.ts';
import {
  imageBackOffKey,
  type ImageErrorReason,
  imagePullPolicy,
  pulledMessage,
  pullFailure,
} from '../../policies/images/image-pull.ts';
import { withDefaultTag } from '../../policies/images/image-reference.ts';
import type { Clock } from '../../types/clock.ts';
import type { PodSandboxConfig } from '../../types/cri.ts';
import { errorKind, errorMessage } from '../../types/errors.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import type { ImageInUse } from '../node/pod-node.ts';
import { runtimeMessage } from '../service/runtime-message.ts';
import { ImageError } from './image-error.ts';
import { ImagePuller, type ImagePullerOptions } from './image-puller.ts';
import { PresentImages } from './present-images.ts';
import { unlessAborted } from '../../system/unless-aborted.ts';

/** How long the status shows why a pull failed, before it shows the back-off. */
const FAILURE_SHOWN_MS = 1_000;

export interface ImageManagerOptions extends Omit<ImagePullerOptions, 'onPulled'> {
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  /** The kubelet's: 10 s, doubling to 300 s. */
  readonly backOff: BackOffOptions;
}

/** The container that events are about. */
interface Target {
  readonly pod: Pod;
  readonly container: string;
}

interface Request extends Target {
  /** As in the pod's spec. */
  readonly image: string;
  /** With its default tag. */
  readonly name: string;
  readonly sandboxConfig: PodSandboxConfig;
}

interface PullBackOff {
  readonly entry: BackOffEntry;
  /** How the last pull failed. */
  readonly failure: string;
}

/** Makes sure that containers have their images, and reports it by the kubelet's events. */
export class ImageManager {
  readonly #options: ImageManagerOptions;
  readonly #present: PresentImages;
  readonly #puller: ImagePuller;
  readonly #backOffs = new Map<string, PullBackOff>();

  constructor(options: ImageManagerOptions) {
    this.#options = options;
    this.#present = new PresentImages(options.runtime, options.clock);
    this.#puller = new ImagePuller({
      ...options,
      onPulled: (name, image) => this.#present.found(name, image),
    });
  }

  /**
   * The runtime's id of the image, and the user that the image names. Rejects with an ImageError, after its events; rejects with the
   * signal's reason when that aborts. A pull is aborted once no pod waits for it.
   */
  async ensureImage(
    pod: Pod,
    container: Container | EphemeralContainer,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<ImageInUse> {
    try {
      return await this.#ensure(pod, container, sandboxConfig, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ImageError) {
        const target = { pod, container: container.name };
        this.#event(target, 'Warning', 'Failed', `Error: ${error.reason}`);
      }
      throw error;
    }
  }

  /** The runtime does not have the image any more. `image`: its name, or the runtime's id of it. */
  forget(image: string): void {
    this.#present.forget(image);
  }

  collectGarbage(): void {
    const now = this.#options.clock.now();
    for (const [key, { entry }] of this.#backOffs) {
      if (keepBackOffEntry(entry, now, this.#options.backOff) === undefined) this.#backOffs.delete(key);
    }
    this.#present.collectGarbage();
  }

  async #ensure(
    pod: Pod,
    container: Container | EphemeralContainer,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<ImageInUse> {
    const { image = '' } = container;
    const target = { pod, container: container.name };
    const request = { ...target, image, name: this.#nameOf(target, image), sandboxConfig };
    const policy = imagePullPolicy(container);
    if (policy === 'Always') return this.#pull(request, false, signal);

    const present = await this.#find(request, signal);
    if (present !== undefined) {
      const message = `Container image "${image}" already present on machine and can be accessed by the pod`;
      this.#event(target, 'Normal', 'Pulled', message);
      return present;
    }
    if (policy === 'IfNotPresent') return this.#pull(request, true, signal);
    const message = `Container image "${image}" is not present with pull policy of Never`;
    this.#event(target, 'Warning', 'ErrImageNeverPull', message);
    throw new ImageError('ErrImageNeverPull', message, { kind: 'NotFound' });
  }

  #nameOf(target: Target, image: string): string {
    try {
      return withDefaultTag(image);
    } catch (error) {
      throw this.#inspectFailure(
        target,
        'InvalidImageName',
        `Failed to apply default image tag "${image}"`,
        error,
      );
    }
  }

  async #find(request: Request, signal: AbortSignal): Promise<ImageInUse | undefined> {
    try {
      return await unlessAborted(this.#present.find(request.name, request.sandboxConfig.annotations), signal);
    } catch (error) {
      signal.throwIfAborted();
      const what = `Failed to inspect image "${request.image}"`;
      throw this.#inspectFailure(request, 'ImageInspectError', what, error);
    }
  }

  #inspectFailure(target: Target, reason: ImageErrorReason, what: string, cause: unknown): ImageError {
    const message = `${what}: ${runtimeMessage(cause)}`;
    this.#event(target, 'Warning', 'InspectFailed', message);
    return new ImageError(reason, message, { kind: errorKind(cause), cause });
  }

  /** `joins`: may share a pull of the same image that has begun already. */
  async #pull(request: Request, joins: boolean, signal: AbortSignal): Promise<ImageInUse> {
    const { pod, image, name, sandboxConfig } = request;
    this.#checkBackOff(request);
    this.#event(request, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const { clock } = this.#options;
    const askedAt = clock.now();
    try {
      const pulled = await this.#puller.pull({ pod, name, sandboxConfig, joins }, signal);
      const waitedMs = clock.now() - askedAt;
      // This pod waited only for a part of a pull that had begun before.
      const times = { pullMs: Math.min(pulled.pullMs, waitedMs), waitedMs };
      const text = pulledMessage(image, { ...times, sizeBytes: pulled.sizeBytes });
      this.#event(request, 'Normal', 'Pulled', text);
      return pulled.image;
    } catch (error) {
      signal.throwIfAborted();
      throw this.#pullFailed(request, error);
    }
  }

  #checkBackOff(request: Request): void {
    const { pod, image } = request;
    const backOff = this.#backOffs.get(imageBackOffKey(pod.metadata.uid, image));
    if (backOff === undefined) return;
    const retryAt = backOff.entry.lastUpdate + backOff.entry.backOffMs;
    if (this.#options.clock.now() >= retryAt) return;
    const message = `Back-off pulling image "${image}"`;
    this.#event(request, 'Normal', 'BackOff', message);
    throw new ImageError('ImagePullBackOff', `${message}: ${backOff.failure}`, {
      kind: 'Unavailable',
      retryAt,
    });
  }

  #pullFailed(request: Request, cause: unknown): ImageError {
    const { pod, image, name } = request;
    this.#event(request, 'Warning', 'Failed', `Failed to pull image "${image}": ${errorMessage(cause)}`);
    const { reason, message } = pullFailure(name, errorMessage(cause));
    const key = imageBackOffKey(pod.metadata.uid, image);
    const now = this.#options.clock.now();
    const entry = nextBackOffEntry(
      this.#backOffs.get(key)?.entry,
      { now, finishedAt: now },
      this.#options.backOff,
    );
    this.#backOffs.set(key, { entry, failure: `${reason}: ${message}` });
    return new ImageError(reason, message, {
      kind: errorKind(cause),
      cause,
      retryAt: now + FAILURE_SHOWN_MS,
    });
  }

  #event({ pod, container }: Target, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.recorder.event(pod.metadata, type, reason, message, { container });
  }
}
