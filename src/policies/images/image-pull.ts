/** What is said of pulling an image: reasons of the waiting state and texts of events, as the kubelet has them. */
import type { Container, EphemeralContainer } from '../../types/kubernetes.ts';
import { goDuration } from '../formats/duration.ts';
import { defaultImagePullPolicy, type ImagePullPolicy } from './image-reference.ts';

/** Why a container waits for its image. */
export type ImageErrorReason =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  /** The runtime says that the registry does not answer. */
  | 'RegistryUnavailable'
  /** The runtime says that the image is not signed as it must be. */
  | 'SignatureValidationFailed';

export function imagePullPolicy({ imagePullPolicy, image }: Container | EphemeralContainer): ImagePullPolicy {
  if (imagePullPolicy === 'Always' || imagePullPolicy === 'Never') return imagePullPolicy;
  return imagePullPolicy ? 'IfNotPresent' : defaultImagePullPolicy(image ?? '');
}

/** Under which key the back-off of a pull is kept: that of one pod does not hold another up. */
export function imageBackOffKey(uid: string, image: string): string {
  return `${uid}_${image}`;
}

/** Errors that a runtime tells apart by the first word of their message. */
const TOLD_APART = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
} as const;

/** What a pull that failed with that message makes of the container's waiting state. */
export function pullFailure(
  image: string,
  message: string,
): { readonly reason: ImageErrorReason; readonly message: string } {
  const said = message.replace(/^rpc error: code = \w+ desc = /, '');
  for (const reason of ['RegistryUnavailable', 'SignatureValidationFailed'] as const) {
    if (!said.startsWith(reason)) continue;
    const details = said.slice(reason.length);
    return { reason, message: `image pull failed for ${image} because ${TOLD_APART[reason]}${details}` };
  }
  return { reason: 'ErrImagePull', message };
}

/** Several credentials were tried, and each failed in its own way or in the same. */
export function joinedMessages(messages: readonly string[]): string {
  const [first = '', ...others] = new Set(messages);
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}

/** `waitedMs` is what the pull took with its time in the queue. The size is left out where the runtime did not say. */
export function pulledMessage(
  image: string,
  { pullMs, waitedMs, sizeBytes }: { pullMs: number; waitedMs: number; sizeBytes: number | undefined },
): string {
  const took = `${goDuration(pullMs)} (${goDuration(waitedMs)} including waiting)`;
  const size = sizeBytes === undefined ? '' : ` Image size: ${sizeBytes} bytes.`;
  return `Successfully pulled image "${image}" in ${took}.${size}`;
}
