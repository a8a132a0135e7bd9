import { describe, expect, test } from '@jest/globals';
import {
  allowlistProblem,
  fullName,
  imageBackOffKey,
  imagePullPolicy,
  nameWithoutTag,
  needsVerification,
  pulledMessage,
  pullFailure,
  VERIFICATION_POLICIES,
} from '../../../../src/agent/policies/images/image-pull.ts';

test.each([
  ['app:1', 'Always', 'Always'],
  ['app:latest', 'Never', 'Never'],
  ['app:latest', 'IfNotPresent', 'IfNotPresent'],
  ['app:latest', undefined, 'Always'],
  ['app:1', undefined, 'IfNotPresent'],
])('%s with the policy %s is pulled %s', (image, given, policy) => {
  expect(imagePullPolicy({ name: 'main', image, ...(given && { imagePullPolicy: given }) })).toBe(policy);
});

test("the key of a pull's back-off has the pod and the image", () => {
  expect(imageBackOffKey('uid-1', 'app:1')).toBe('uid-1_app:1');
});

test.each([
  ['no such image', 'ErrImagePull', 'no such image'],
  [
    'RegistryUnavailable',
    'RegistryUnavailable',
    'image pull failed for app:1 because the registry is unavailable',
  ],
  [
    'RegistryUnavailable: no route to host',
    'RegistryUnavailable',
    'image pull failed for app:1 because the registry is unavailable: no route to host',
  ],
  [
    'rpc error: code = Unknown desc = RegistryUnavailable: no route to host',
    'RegistryUnavailable',
    'image pull failed for app:1 because the registry is unavailable: no route to host',
  ],
  [
    'SignatureValidationFailed: no key',
    'SignatureValidationFailed',
    'image pull failed for app:1 because the signature validation failed: no key',
  ],
])('the runtime reports "%s": %s', (said, reason, message) => {
  expect(pullFailure('app:1', said)).toEqual({ reason, message });
});

test("the kubelet's words for a pull that succeeded", () => {
  expect(pulledMessage('app:1', { pullMs: 1234, waitedMs: 61_500, sizeBytes: 789 })).toBe(
    'Successfully pulled image "app:1" in 1.234s (1m1.5s including waiting). Image size: 789 bytes.',
  );
  expect(pulledMessage('app:1', { pullMs: 405, waitedMs: 405, sizeBytes: undefined })).toBe(
    'Successfully pulled image "app:1" in 405ms (405ms including waiting).',
  );
});

describe('credentials have to be shown', () => {
  const allowlist = ['quay.io/team/*', 'busybox'];
  const needed = (image: string, wasPulled: boolean) =>
    VERIFICATION_POLICIES.filter((policy) => needsVerification({ policy, allowlist }, image, wasPulled));

  test.each([
    ['an image that this node has pulled', 'gcr.io/app:1', true, [1, 2, 3]],
    ['a preloaded image', 'gcr.io/app:1', false, [2, 3]],
    ['a preloaded image of the list', 'quay.io/team/app@sha256:' + 'a'.repeat(64), false, [3]],
    ['an image of the list that this node has pulled', 'docker.io/library/busybox:1', true, [1, 3]],
    ['an image beside the list', 'quay.io/team', false, [2, 3]],
  ])('for %s', (_what, image, wasPulled, policies) => {
    expect(needed(image, wasPulled)).toEqual(policies.map((index) => VERIFICATION_POLICIES[index]));
  });
});

test.each([
  [' busybox', 'leading/trailing spaces are not allowed:  busybox'],
  ['', 'the supplied pattern is too short: '],
  ['a*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed: a*"],
  ['*/*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed: */*"],
  ['/*', 'at least registry hostname is required'],
  [
    'docker.io/library/a:1',
    'neither tag nor digest is accepted in an image reference: docker.io/library/a:1',
  ],
  ['docker.io/A', expect.stringMatching(/^failed to parse as an image name: .*must be lowercase$/)],
  ['busybox', undefined],
  ['quay.io/*', undefined],
  ['quay.io:5000/team/app', undefined],
])('the kubelet says of %j in the list: %s', (pattern, problem) => {
  expect(allowlistProblem(pattern)).toEqual(problem);
});

test('names of images are completed as runtimes list them', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  expect(['busybox', 'quay.io/a:1', `quay.io/a:1@${digest}`].map(fullName)).toEqual([
    'docker.io/library/busybox:latest',
    'quay.io/a:1',
    `quay.io/a@${digest}`,
  ]);
  expect(nameWithoutTag('team/app:1')).toBe('docker.io/team/app');
});
