import type { ImageError } from '../../../../src/agent/runtime/node/pod-node.ts';
/** An image manager under a virtual clock, on a fake runtime that a test controls. */
import { CRASH_LOOP_BACK_OFF } from '../../../../src/agent/policies/pod-actions/back-off.ts';
import { ImageManager, type ImageManagerParts } from '../../../../src/agent/runtime/images/image-manager.ts';
import type {
  ImageStatusOptions,
  PullImageOptions,
} from '../../../../src/agent/runtime/service/runtime-service.ts';
import type { AuthConfig, Image, PodSandboxConfig } from '../../../../src/types/cri.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Measurements } from '../../../../src/types/measurements.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';

interface Pull {
  readonly image: string;
  readonly auth?: AuthConfig;
  readonly isAborted: () => boolean;
  succeed(): void;
  fail(message: string): void;
}

export function podOf(uid: string): Pod {
  const annotations = { for: uid };
  return { metadata: { name: uid, namespace: 'default', uid, annotations }, spec: { containers: [] } };
}

export function sandboxOf({ metadata: { name, namespace, uid, annotations = {} } }: Pod): PodSandboxConfig {
  return {
    metadata: { name, namespace, uid, attempt: 0 },
    logDirectory: `/logs/${uid}`,
    labels: {},
    annotations,
  };
}

export function imageBed(parts: Partial<ImageManagerParts> = {}, measurements?: Measurements) {
  const clock = new VirtualClock();
  const present = new Map<string, Image>();
  const asked: string[] = [];
  /** The annotations of each status call and each pull. */
  const annotations: unknown[] = [];
  const pulls: Pull[] = [];
  const events: string[] = [];
  /** The annotations of each event. */
  const containers: (string | undefined)[] = [];
  const runtime = {
    imageStatus: (image: string, options: ImageStatusOptions = {}): Promise<Image | undefined> => {
      asked.push(image);
      annotations.push(options.annotations);
      return Promise.resolve(
        [...present.values()].find(({ id, repoTags }) => [id, ...repoTags].includes(image)),
      );
    },
    pullImage: (image: string, { auth, sandboxConfig, signal }: PullImageOptions = {}): Promise<string> => {
      annotations.push(sandboxConfig?.annotations);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const canceled = () => reject(new StateletError('Canceled', 'canceled'));
      signal?.addEventListener('abort', canceled, { once: true });
      pulls.push({
        image,
        ...(auth && { auth }),
        isAborted: () => signal?.aborted ?? false,
        succeed: () => {
          add(image);
          resolve(`id of ${image}`);
        },
        fail: (message) => reject(new StateletError('Internal', message)),
      });
      return promise;
    },
  };
  const add = (name: string, more: Partial<Image> = {}) =>
    present.set(name, { id: `id of ${name}`, repoTags: [name], size: 789, ...more });
  const context = testContext({
    clock,
    measurements,
    recorder: recorderOf({
      event: (pod, type, reason, message, about) => {
        events.push(`${pod.uid}: ${type} ${reason} ${message}`);
        containers.push(about?.container);
      },
    }),
  });
  const manager = new ImageManager(context, {
    runtime,
    keyring: { lookup: () => Promise.resolve([]) },
    backOff: CRASH_LOOP_BACK_OFF,
    serializeImagePulls: true,
    registryPullQPS: 0,
    registryBurst: 10,
    ...parts,
  });
  const ensure = (uid: string, container: Partial<Container>, signal = new AbortController().signal) => {
    const pod = podOf(uid);
    return manager.ensureImage(pod, { name: 'main', image: 'app:1', ...container }, sandboxOf(pod), signal);
  };
  return {
    clock,
    manager,
    runtime,
    present,
    asked,
    annotations,
    pulls,
    events,
    containers,
    add,
    ensure,
  };
}

export type ImageBed = ReturnType<typeof imageBed>;

/** The reason and message that the waiting state of the container would have. */
export const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason as ImageError,
  );
  return { reason: error?.reason, message: error?.message, retryAt: error?.retryAt };
};
