import { expect, test } from '@jest/globals';
import {
  imageBackOffKey,
  imagePullPolicy,
  joinedMessages,
  pulledMessage,
  pullFailure,
} from '../../../src/policies/images/image-pull.ts';

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

test('several failures give one message, each text once', () => {
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
