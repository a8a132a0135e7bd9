/** The pull policy of a container, and the kubelet's texts about pulls: reasons of the waiting state, and events. */
import type { Container, EphemeralContainer } from '../../types/kubernetes.ts';
import { goDuration } from '../formats/duration.ts';
import { defaultImagePullPolicy, type ImagePullPolicy } from './image-reference.ts';

/** Why a container waits for its image. */
const IMAGE_REASONS = [
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  /** The runtime reports that the registry does not answer. */
  'RegistryUnavailable',
  /** The runtime reports that the signature of the image is not valid. */
  'SignatureValidationFailed',
] as const;
export type ImageErrorReason = (typeof IMAGE_REASONS)[number];

/** Whether a container with this reason waits for its image. */
export function isImageReason(reason: string): reason is ImageErrorReason {
  return (IMAGE_REASONS as readonly string[]).includes(reason);
}

export function imagePullPolicy({ imagePullPolicy, image }: Container | EphemeralContainer): ImagePullPolicy {
  if (imagePullPolicy === 'Always' || imagePullPolicy === 'Never') return imagePullPolicy;
  return imagePullPolicy ? 'IfNotPresent' : defaultImagePullPolicy(image ?? '');
}

/** The key of a pull's back-off entry. It has the pod's UID, so that the failures of one pod do not delay another. */
export function imageBackOffKey(uid: string, image: string): string {
  return `${uid}_${image}`;
}

/** Errors that are recognised by the first word of the runtime's message. */
const KNOWN_ERRORS = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
} as const;

/** Reason and message of the waiting state after a pull that failed with this message of the runtime. */
export function pullFailure(
  image: string,
  message: string,
): { readonly reason: ImageErrorReason; readonly message: string } {
  const text = message.replace(/^rpc error: code = \w+ desc = /, '');
  for (const reason of ['RegistryUnavailable', 'SignatureValidationFailed'] as const) {
    if (!text.startsWith(reason)) continue;
    const details = text.slice(reason.length);
    return { reason, message: `image pull failed for ${image} because ${KNOWN_ERRORS[reason]}${details}` };
  }
  return { reason: 'ErrImagePull', message };
}

/** The messages of all tries of a pull with different credentials, each text once. */
export function joinedMessages(messages: readonly string[]): string {
  const [first = '', ...others] = new Set(messages);
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}

/** `waitedMs` includes the time in the queue. The size is left out if the runtime does not report it. */
export function pulledMessage(
  image: string,
  { pullMs, waitedMs, sizeBytes }: { pullMs: number; waitedMs: number; sizeBytes: number | undefined },
): string {
  const took = `${goDuration(pullMs)} (${goDuration(waitedMs)} including waiting)`;
  const size = sizeBytes === undefined ? '' : ` Image size: ${sizeBytes} bytes.`;
  return `Successfully pulled image "${image}" in ${took}.${size}`;
}
