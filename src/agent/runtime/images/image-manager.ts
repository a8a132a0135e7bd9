import {
  type BackOffEntry,
  type BackOffOptions,
  keepBackOffEntry,
  nextBackOffEntry,
} from '../../policies/pod-actions/back-off.ts';
import {
  imageBackOffKey,
  type ImageErrorReason,
  imagePullPolicy,
  pulledMessage,
  pullFailure,
} from '../../policies/images/image-pull.ts';
import type { PullCredentials } from '../../policies/images/image-credentials.ts';
import { withDefaultTag } from '../../policies/images/image-reference.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { PodSandboxConfig } from '../../../types/cri.ts';
import { errorKind, errorMessage } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import { ImageError, type ImageInUse, type PodSubsystem } from '../node/pod-node.ts';
import { runtimeMessage } from '../service/runtime-service.ts';
import { ImagePuller, type ImagePullerParts, type PulledImage } from './image-puller.ts';
import type { ImageRecords } from './image-records.ts';
import { podCredentials, type CredentialSources } from './keyring.ts';
import { PresentImages } from './present-images.ts';
import { once, unlessAborted } from '../../../system/promises.ts';

/** How long the status shows why a pull failed, before it shows the back-off. */
const FAILURE_SHOWN_MS = 1_000;

export interface ImageManagerParts extends ImagePullerParts, CredentialSources {
  /** The kubelet's: 10 s, doubling to 300 s. */
  readonly backOff: BackOffOptions;
  /** Without them, every pod may use an image that is present. */
  readonly records?: ImageRecords;
}

/** What became known of an image before it is used; undefined while it is not. */
interface Findings {
  isPresent?: boolean;
  isPullRequired?: boolean;
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
  /** They are looked up once, and not before they are needed. */
  readonly credentials: () => Promise<readonly PullCredentials[]>;
}

interface PullBackOff {
  readonly entry: BackOffEntry;
  /** How the last pull failed. */
  readonly failure: string;
}

/** Makes sure that containers have their images, and reports it by the kubelet's events. */
export class ImageManager {
  readonly #context: AgentContext;
  readonly #parts: ImageManagerParts;
  readonly #present: PresentImages;
  readonly #puller: ImagePuller;
  readonly #backOffs = new Map<string, PullBackOff>();

  constructor(context: AgentContext, parts: ImageManagerParts) {
    this.#context = context;
    this.#parts = parts;
    this.#present = new PresentImages(parts.runtime, context.clock);
    this.#puller = new ImagePuller(context, parts, (name, image) => this.#present.found(name, image));
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
    const findings: Findings = {};
    try {
      return await this.#ensure(pod, container, sandboxConfig, signal, findings);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ImageError) {
        const target = { pod, container: container.name };
        this.#event(target, 'Warning', 'Failed', `Error: ${error.reason}`);
      }
      throw error;
    } finally {
      const { isPresent, isPullRequired } = findings;
      const { measurements } = this.#context;
      measurements?.images.imageEnsured(imagePullPolicy(container), isPresent, isPullRequired);
    }
  }

  /** The runtime does not have the image any more. `image`: its name, or the runtime's id of it. */
  forget(image: string): void {
    this.#present.forget(image);
  }

  collectGarbage(): void {
    const now = this.#context.clock.now();
    for (const [key, { entry }] of this.#backOffs) {
      if (keepBackOffEntry(entry, now, this.#parts.backOff) === undefined) this.#backOffs.delete(key);
    }
    this.#present.collectGarbage();
  }

  async #ensure(
    pod: Pod,
    container: Container | EphemeralContainer,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
    findings: Findings,
  ): Promise<ImageInUse> {
    const { image = '' } = container;
    const target = { pod, container: container.name };
    const name = this.#nameOf(target, image);
    const credentials = once(() => podCredentials(this.#parts, pod, name, signal));
    const request = { ...target, image, name, sandboxConfig, credentials };
    const policy = imagePullPolicy(container);
    if (policy === 'Always') {
      findings.isPullRequired = true;
      return this.#pull(request, false, signal);
    }

    const present = await this.#find(request, signal);
    findings.isPresent = present !== undefined;
    if (present !== undefined && (await this.#mayUse(request, present))) {
      findings.isPullRequired = false;
      const message = `Container image "${image}" already present on machine and can be accessed by the pod`;
      this.#event(target, 'Normal', 'Pulled', message);
      return present;
    }
    if (present !== undefined || policy === 'IfNotPresent') findings.isPullRequired = true;
    if (policy === 'IfNotPresent') return this.#pull(request, true, signal);
    // The same for an image that is present and may not be used: the pod must not learn that it is there.
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

  async #mayUse({ image, credentials }: Request, { imageRef }: ImageInUse): Promise<boolean> {
    const { records } = this.#parts;
    return (await records?.mayUse(image, imageRef, credentials)) ?? true;
  }

  #inspectFailure(target: Target, reason: ImageErrorReason, what: string, cause: unknown): ImageError {
    const message = `${what}: ${runtimeMessage(cause)}`;
    this.#event(target, 'Warning', 'InspectFailed', message);
    return new ImageError(reason, message, { kind: errorKind(cause), cause });
  }

  /** `joins`: may share a pull of the same image that has begun already. */
  async #pull(request: Request, joins: boolean, signal: AbortSignal): Promise<ImageInUse> {
    this.#checkBackOff(request);
    const { image } = request;
    const { records } = this.#parts;
    try {
      await records?.begin(image);
    } catch (cause) {
      const message = `Failed to record image pull intent for container image "${image}": ${errorMessage(cause)}`;
      throw new ImageError('ErrImagePull', message, { kind: errorKind(cause), cause });
    }
    let isNoted = true;
    try {
      const { image: pulled, used } = await this.#pullNow(request, joins, signal);
      isNoted = (await records?.pulled(image, pulled.imageRef, used?.source)) ?? true;
      return pulled;
    } finally {
      if (isNoted) await records?.end(image);
    }
  }

  async #pullNow(request: Request, joins: boolean, signal: AbortSignal): Promise<PulledImage> {
    const { image, name, sandboxConfig } = request;
    this.#event(request, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const { clock, measurements } = this.#context;
    const end = measurements?.images.podPull(request.pod.metadata.uid);
    const askedAt = clock.now();
    try {
      const credentials = await request.credentials();
      const pulled = await this.#puller.pull({ name, credentials, sandboxConfig, joins }, signal);
      const waitedMs = clock.now() - askedAt;
      // This pod waited only for a part of a pull that had begun before.
      const times = { pullMs: Math.min(pulled.pullMs, waitedMs), waitedMs };
      const text = pulledMessage(image, { ...times, sizeBytes: pulled.sizeBytes });
      this.#event(request, 'Normal', 'Pulled', text);
      return pulled;
    } catch (error) {
      signal.throwIfAborted();
      throw this.#pullFailed(request, error);
    } finally {
      end?.();
    }
  }

  #checkBackOff(request: Request): void {
    const { pod, image } = request;
    const backOff = this.#backOffs.get(imageBackOffKey(pod.metadata.uid, image));
    if (backOff === undefined) return;
    const retryAt = backOff.entry.lastUpdate + backOff.entry.backOffMs;
    if (this.#context.clock.now() >= retryAt) return;
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
    const now = this.#context.clock.now();
    const entry = nextBackOffEntry(
      this.#backOffs.get(key)?.entry,
      { now, finishedAt: now },
      this.#parts.backOff,
    );
    this.#backOffs.set(key, { entry, failure: `${reason}: ${message}` });
    return new ImageError(reason, message, {
      kind: errorKind(cause),
      cause,
      retryAt: now + FAILURE_SHOWN_MS,
    });
  }

  #event({ pod, container }: Target, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.recorder.event(pod.metadata, type, reason, message, { container });
  }
}

export function imageSubsystem(images: ImageManager): PodSubsystem {
  return {
    name: 'images',
    forgetImage: (image) => images.forget(image),
    collectGarbage: () => images.collectGarbage(),
  };
}
