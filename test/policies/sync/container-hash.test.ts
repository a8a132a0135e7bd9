import { expect, test } from '@jest/globals';
import { containerHash } from '../../../src/policies/sync/container-hash.ts';

test('the hash of a recorded container never changes: adoption after an upgrade depends on it', () => {
  expect(containerHash({ name: 'web', image: 'nginx:1.27' })).toBe('9db413c7');
  expect(containerHash({ name: 'wéb' })).toBe('3ccb16ef');
});

test('another name or another image is another container', () => {
  const hashes = [
    { name: 'web', image: 'a' },
    { name: 'web', image: 'b' },
    { name: 'db', image: 'a' },
    { name: 'web' },
  ];
  expect(new Set(hashes.map(containerHash)).size).toBe(hashes.length);
});

test('what cannot change in place, or changes without a restart, does not matter', () => {
  const web = { name: 'web', image: 'a' };
  const resized = { ...web, resources: { limits: { cpu: '2' } }, env: [{ name: 'A', value: 'b' }] };
  expect(containerHash(resized)).toBe(containerHash(web));
});
