import { describe, expect, test } from '@jest/globals';
import {
  imageBackOffKey,
  imagePullPolicy,
  joinedMessages,
  pulledMessage,
  pullFailure,
} from '../../../src/policies/images/image-pull.ts';
import { takePullToken, type TokenBucket } from '../../../src/policies/images/image-pull-rate.ts';

test.each([
  ['app:1', 'Always', 'Always'],
  ['app:latest', 'Never', 'Never'],
  ['app:latest', 'IfNotPresent', 'IfNotPresent'],
  ['app:latest', undefined, 'Always'],
  ['app:1', undefined, 'IfNotPresent'],
])('%s with the policy %s is pulled %s', (image, given, policy) => {
  expect(imagePullPolicy({ name: 'main', image, ...(given && { imagePullPolicy: given }) })).toBe(policy);
});

test('the back-off of a pull is kept by pod and image', () => {
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
])('the runtime says "%s": %s', (said, reason, message) => {
  expect(pullFailure('app:1', said)).toEqual({ reason, message });
});

test('several failures are one message, each of them once', () => {
  expect(joinedMessages(['denied'])).toBe('denied');
  expect(joinedMessages(['denied', 'denied'])).toBe('denied');
  expect(joinedMessages(['denied', 'not found', 'denied'])).toBe('[denied, not found]');
});

test("the kubelet's words for a pull that succeeded", () => {
  expect(pulledMessage('app:1', { pullMs: 1234, waitedMs: 61_500, sizeBytes: 789 })).toBe(
    'Successfully pulled image "app:1" in 1.234s (1m1.5s including waiting). Image size: 789 bytes.',
  );
  expect(pulledMessage('app:1', { pullMs: 405, waitedMs: 405, sizeBytes: undefined })).toBe(
    'Successfully pulled image "app:1" in 405ms (405ms including waiting).',
  );
});

describe('takePullToken', () => {
  const RATE = { qps: 2, burst: 3 };
  /** Whether pulls at these times (ms) may be made. */
  const pulls = (times: readonly number[], rate = RATE) => {
    let bucket: TokenBucket | undefined;
    return times.map((now) => {
      const next = takePullToken(bucket, now, rate);
      bucket = next ?? bucket;
      return next !== undefined;
    });
  };

  test('as many at once as the burst, then none', () => {
    expect(pulls([0, 0, 0, 0])).toEqual([true, true, true, false]);
  });

  test('then one for each part of a second that the rate says', () => {
    expect(pulls([0, 0, 0, 499, 500, 500, 1000])).toEqual([true, true, true, false, true, false, true]);
  });

  test('what is not used is kept, up to the burst', () => {
    expect(pulls([0, 0, 0, 60_000, 60_000, 60_000, 60_000]).slice(3)).toEqual([true, true, true, false]);
  });

  test('a clock that goes back gives nothing and takes nothing', () => {
    expect(pulls([1000, 1000, 0, 0])).toEqual([true, true, true, false]);
  });

  test('a rate of 0 is no limit', () => {
    expect(pulls([0, 0, 0], { qps: 0, burst: 1 })).toEqual([true, true, true]);
  });
});
