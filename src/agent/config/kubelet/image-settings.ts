/** Rows of the node's settings about images: how they are pulled, who may use them, and how long they are kept. */
import { invalid } from '../../../types/errors.ts';
import type { NodeSettings, VerificationPolicy } from '../../../types/node-settings.ts';
import { goDuration } from '../../policies/formats/duration.ts';
import { allowlistProblem, VERIFICATION_POLICIES } from '../../policies/images/image-pull.ts';
import {
  atLeast,
  between,
  burst,
  duration,
  flagOrNot,
  type GivenSettings,
  type Kind,
  list,
  number,
  type Setting,
  text,
} from '../setting.ts';

type ImageSettings = Pick<
  NodeSettings,
  | 'serializeImagePulls'
  | 'maxParallelImagePulls'
  | 'registryPullQPS'
  | 'registryBurst'
  | 'imageCredentialProviderConfig'
  | 'imageCredentialProviderBinDir'
  | 'imagePullCredentialsVerificationPolicy'
  | 'preloadedImagesVerificationAllowlist'
  | 'imageMinimumGCAgeMs'
  | 'imageMaximumGCAgeMs'
  | 'imageGCHighThresholdPercent'
  | 'imageGCLowThresholdPercent'
>;

const verificationPolicy = text as Kind<VerificationPolicy>;

export const IMAGE_SETTINGS: { readonly [Name in keyof ImageSettings]: Setting<ImageSettings[Name]> } = {
  serializeImagePulls: {
    flag: '--serialize-image-pulls [BOOL]',
    field: 'serializeImagePulls',
    default: true,
    kind: flagOrNot,
    description: 'whether images are pulled one at a time',
  },
  maxParallelImagePulls: {
    field: 'maxParallelImagePulls',
    default: 0,
    kind: number,
    problem: atLeast(0),
    description: 'how many images are pulled at a time, if pulls are not serialized; 0: no limit',
  },
  registryPullQPS: {
    flag: '--registry-qps <N>',
    field: 'registryPullQPS',
    default: 5,
    kind: number,
    problem: atLeast(0),
    description: 'how many images are pulled a second; 0: no limit',
  },
  registryBurst: {
    flag: '--registry-burst <N>',
    field: 'registryBurst',
    default: 10,
    kind: burst,
    problem: atLeast(1),
    description: 'how many images are pulled in a short burst',
  },
  imageCredentialProviderConfig: {
    flag: '--image-credential-provider-config <PATH>',
    default: '',
    kind: text,
    description:
      'file that names credential provider plugins, or a folder of such files (.json, .yaml, .yml)',
  },
  imageCredentialProviderBinDir: {
    flag: '--image-credential-provider-bin-dir <DIR>',
    default: '',
    kind: text,
    description: 'where the programs of credential provider plugins are',
  },
  imagePullCredentialsVerificationPolicy: {
    field: 'imagePullCredentialsVerificationPolicy',
    default: 'NeverVerifyPreloadedImages',
    kind: verificationPolicy,
    description: 'which pods have to show credentials for an image that is present',
    problem: (value) =>
      VERIFICATION_POLICIES.includes(value) ? undefined : `one of ${VERIFICATION_POLICIES.join(', ')}`,
  },
  preloadedImagesVerificationAllowlist: {
    field: 'preloadedImagesVerificationAllowlist',
    default: [],
    kind: list,
    description: 'images that need no credentials with the policy NeverVerifyAllowlistedImages',
    problem: (value) => {
      const problem = value.map(allowlistProblem).find((found) => found !== undefined);
      return problem && `names of images without tag, or REGISTRY/PATH/*: ${problem}`;
    },
  },
  imageMinimumGCAgeMs: {
    flag: '--minimum-image-ttl-duration <DURATION>',
    field: 'imageMinimumGCAge',
    kind: duration,
    default: 120_000,
    description: 'how long an unused image is kept at least',
    problem: atLeast(0),
  },
  imageMaximumGCAgeMs: {
    field: 'imageMaximumGCAge',
    default: 0,
    kind: duration,
    problem: atLeast(0),
    description: 'how long an unused image is kept at most; 0: no limit',
  },
  imageGCHighThresholdPercent: {
    flag: '--image-gc-high-threshold <PERCENT>',
    field: 'imageGCHighThresholdPercent',
    kind: number,
    default: 85,
    description: 'disk usage above which unused images are removed',
    problem: between(0, 100),
  },
  imageGCLowThresholdPercent: {
    flag: '--image-gc-low-threshold <PERCENT>',
    field: 'imageGCLowThresholdPercent',
    kind: number,
    default: 80,
    description: 'disk usage at which the removal of unused images stops',
    problem: between(0, 100),
  },
};

/** Throws `InvalidArgument` for settings that do not go together. */
export function checkImageSettings(settings: ImageSettings, fileName: string): void {
  checkThresholds(settings);
  checkAges(settings, fileName);
  checkAllowlist(settings, fileName);
}

/** As with the kubelet, `maxParallelImagePulls` alone is enough for parallel pulls. */
export function isSerialized(
  { serializeImagePulls, maxParallelImagePulls: parallel }: ImageSettings,
  { flags, file, fileName }: GivenSettings,
): boolean {
  if ((flags.serializeImagePulls ?? file.serializeImagePulls) === undefined) return parallel < 2;
  if (!serializeImagePulls || parallel < 2) return serializeImagePulls;
  const rule = 'cannot be larger than 1 unless serializeImagePulls (--serialize-image-pulls) is false';
  throw invalid(`${fileName}: maxParallelImagePulls: ${rule} (got ${parallel})`);
}

function checkAges(
  { imageMaximumGCAgeMs: most, imageMinimumGCAgeMs: least }: ImageSettings,
  fileName: string,
): void {
  if (most === 0 || most > least) return;
  const rule = `must be greater than imageMinimumGCAge (--minimum-image-ttl-duration), ${goDuration(least)}`;
  throw invalid(`${fileName}: imageMaximumGCAge: ${rule} (got ${goDuration(most)})`);
}

function checkAllowlist(settings: ImageSettings, fileName: string): void {
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist } = settings;
  if (preloadedImagesVerificationAllowlist.length === 0 || policy === 'NeverVerifyAllowlistedImages') return;
  const rule = 'imagePullCredentialsVerificationPolicy must be NeverVerifyAllowlistedImages with it';
  const problem = `preloadedImagesVerificationAllowlist: ${rule} (got ${policy})`;
  throw invalid(`${fileName}: ${problem}`);
}

function checkThresholds({
  imageGCHighThresholdPercent: high,
  imageGCLowThresholdPercent: low,
}: ImageSettings) {
  if (low < high) return;
  throw invalid(
    `imageGCLowThresholdPercent (--image-gc-low-threshold): must be below imageGCHighThresholdPercent, ${high} (got ${low})`,
  );
}
