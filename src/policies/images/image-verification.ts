/** Whether a pod has to show credentials for an image that is present. */
import { errorMessage } from '../../types/errors.ts';
import type { VerificationPolicy } from '../../types/node-settings.ts';
import { parseImageReference } from './image-reference.ts';

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
