import { expect, test } from '@jest/globals';
import { containerHash } from '../../../src/policies/sync/container-hash.ts';

test('the hash of a container stays the same in all versions: adoption after an upgrade depends on it', () => {
  expect(containerHash({ name: 'web', image: 'nginx:1.27' })).toBe('9db413c7');
  expect(containerHash({ name: 'wéb' })).toBe('3ccb16ef');
});

test('another name or another image gives another hash', () => {
  const hashes = [
    { name: 'web', image: 'a' },
    { name: 'web', image: 'b' },
    { name: 'db', image: 'a' },
    { name: 'web' },
  ];
  expect(new Set(hashes.map(containerHash)).size).toBe(hashes.length);
});

test('fields whose change does not restart the container do not count', () => {
  const web = { name: 'web', image: 'a' };
  const resized = { ...web, resources: { limits: { cpu: '2' } }, env: [{ name: 'A', value: 'b' }] };
  expect(containerHash(resized)).toBe(containerHash(web));
});
