import { describe, expect, test } from '@jest/globals';
import {
  allowlistProblem,
  fullName,
  nameWithoutTag,
  needsVerification,
  VERIFICATION_POLICIES,
} from '../../../src/policies/images/image-verification.ts';

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
