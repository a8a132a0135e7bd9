/**
 * Pulls of images: the policy of a container, the limit on pulls, whether a pod has to show credentials for an image that is present, and the
 * kubelet's texts.
 */
import { errorMessage } from '../../../types/errors.ts';
import type { Container, EphemeralContainer } from '../../../types/kubernetes.ts';
import type { VerificationPolicy } from '../../../types/node-settings.ts';
import { goDuration } from '../formats/duration.ts';
import { defaultImagePullPolicy, type ImagePullPolicy, parseImageReference } from './image-reference.ts';

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

/** `waitedMs` includes the time in the queue. The size is left out if the runtime does not report it. */
export function pulledMessage(
  image: string,
  { pullMs, waitedMs, sizeBytes }: { pullMs: number; waitedMs: number; sizeBytes: number | undefined },
): string {
  const took = `${goDuration(pullMs)} (${goDuration(waitedMs)} including waiting)`;
  const size = sizeBytes === undefined ? '' : ` Image size: ${sizeBytes} bytes.`;
  return `Successfully pulled image "${image}" in ${took}.${size}`;
}

export const VERIFICATION_POLICIES: readonly VerificationPolicy[] = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
];

export interface VerificationSettings {
  readonly policy: VerificationPolicy;
  /** Names of images without tag and digest, or their beginnings with `/*` at the end. */
  readonly allowlist: readonly string[];
}

/** `wasPulled`: by this node. An image that was there before is called preloaded. */
export function needsVerification(
  { policy, allowlist }: VerificationSettings,
  image: string,
  wasPulled: boolean,
): boolean {
  if (policy === 'NeverVerify') return false;
  if (policy === 'AlwaysVerify') return true;
  if (policy === 'NeverVerifyPreloadedImages') return wasPulled;
  const name = nameWithoutTag(image);
  return !allowlist.some((pattern) =>
    pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === nameWithoutTag(pattern),
  );
}

/** `docker.io/library/busybox` for `busybox:1`. Throws as `parseImageReference` does. */
export function nameWithoutTag(image: string): string {
  const { domain, path } = parseImageReference(image);
  return `${domain}/${path}`;
}

/** The image as runtimes list it: `docker.io/library/busybox:latest` for `busybox`. Throws as `parseImageReference` does. */
export function fullName(image: string): string {
  const { tag = 'latest', digest } = parseImageReference(image);
  return digest === undefined ? `${nameWithoutTag(image)}:${tag}` : `${nameWithoutTag(image)}@${digest}`;
}

/** What is wrong with an entry of the list, in the kubelet's words. */
export function allowlistProblem(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isPrefix = pattern.endsWith('/*');
  const bare = isPrefix ? pattern.slice(0, -1) : pattern;
  if (bare === '') return `the supplied pattern is too short: ${pattern}`;
  if (bare.includes('*')) {
    return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  }
  if (isPrefix) return bare.length === 1 ? 'at least registry hostname is required' : undefined;
  return nameProblem(pattern);
}

function nameProblem(pattern: string): string | undefined {
  try {
    const { tag, digest } = parseImageReference(pattern);
    if (tag === undefined && digest === undefined) return undefined;
    return `neither tag nor digest is accepted in an image reference: ${pattern}`;
  } catch (error) {
    return `failed to parse as an image name: ${errorMessage(error)}`;
  }
}
