import { describe, expect, test } from '@jest/globals';
import {
  defaultImagePullPolicy,
  parseImageReference,
  withDefaultTag,
} from '../../../../src/agent/policies/images/image-reference.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

describe('parseImageReference', () => {
  test.each([
    ['busybox', { domain: 'docker.io', path: 'library/busybox' }],
    ['busybox:1.36', { domain: 'docker.io', path: 'library/busybox', tag: '1.36' }],
    ['team/app', { domain: 'docker.io', path: 'team/app' }],
    ['docker.io/busybox', { domain: 'docker.io', path: 'library/busybox' }],
    ['index.docker.io/team/app:1', { domain: 'docker.io', path: 'team/app', tag: '1' }],
    ['localhost/app', { domain: 'localhost', path: 'app' }],
    ['localhost:5000/app', { domain: 'localhost:5000', path: 'app' }],
    // Without a path behind it, the number is a tag.
    ['localhost:5000', { domain: 'docker.io', path: 'library/localhost', tag: '5000' }],
    ['registry.k8s.io/pause:3.10', { domain: 'registry.k8s.io', path: 'pause', tag: '3.10' }],
    ['[::1]:5000/a/b__c', { domain: '[::1]:5000', path: 'a/b__c' }],
    ['Registry/app', { domain: 'Registry', path: 'app' }],
    [`quay.io/a/b@${DIGEST}`, { domain: 'quay.io', path: 'a/b', digest: DIGEST }],
    [`quay.io/a/b:1@${DIGEST}`, { domain: 'quay.io', path: 'a/b', tag: '1', digest: DIGEST }],
  ])('%s', (image, reference) => {
    expect(parseImageReference(image)).toEqual(reference);
  });

  test.each([
    ['', 'invalid reference format'],
    [' busybox', 'invalid reference format'],
    ['quay.io/', 'invalid reference format'],
    ['a//b', 'invalid reference format'],
    ['busybox:', 'invalid reference format'],
    ['busybox:a b', 'invalid reference format'],
    [`busybox:${'t'.repeat(129)}`, 'invalid reference format'],
    ['busybox@sha256:12', 'invalid reference format'],
    ['-quay.io/app', 'invalid reference format'],
    ['BusyBox', 'invalid reference format: repository name (library/BusyBox) must be lowercase'],
    [
      '0'.repeat(64),
      `invalid repository name (${'0'.repeat(64)}), cannot specify 64-byte hexadecimal strings`,
    ],
    [`quay.io/${'a'.repeat(248)}`, 'repository name must not be more than 255 characters'],
  ])('"%s" is no name of an image', (image, problem) => {
    expect(() => parseImageReference(image)).toThrow(
      expect.objectContaining({
        kind: 'InvalidArgument',
        message: `couldn't parse image name "${image}": ${problem}`,
      }),
    );
  });
});

test.each([
  ['busybox', 'busybox:latest'],
  ['localhost:5000/app', 'localhost:5000/app:latest'],
  ['busybox:1', 'busybox:1'],
  [`busybox@${DIGEST}`, `busybox@${DIGEST}`],
])('the runtime is asked for %s as %s', (image, name) => {
  expect(withDefaultTag(image)).toBe(name);
});

test.each([
  ['busybox', 'Always'],
  ['busybox:latest', 'Always'],
  [`busybox:latest@${DIGEST}`, 'Always'],
  ['localhost:5000/app', 'Always'],
  ['busybox:1', 'IfNotPresent'],
  [`busybox@${DIGEST}`, 'IfNotPresent'],
  ['No Image', 'IfNotPresent'],
])('%s is pulled %s by default', (image, policy) => {
  expect(defaultImagePullPolicy(image)).toBe(policy);
});
