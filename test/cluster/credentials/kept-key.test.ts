import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { KeptKey, requestNameOf } from '../../../src/cluster/credentials/kept-key.ts';
import { CLIENT_PURPOSE, clientTemplate } from '../../../src/policies/cluster/certificates.ts';

let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statelet-key-'));
  folder = join(root, 'pki');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('a key is kept until it is dropped', async () => {
  const key = await new KeptKey(folder).get();
  expect(statSync(join(folder, 'kubelet-client.key.tmp')).mode & 0o777).toBe(0o600);
  expect(await new KeptKey(folder).get()).toBe(key);
  await new KeptKey(folder).drop();
  expect(readdirSync(folder)).toEqual([]);
  expect(await new KeptKey(folder).get()).not.toBe(key);
});

test('a file that holds no key is replaced', async () => {
  const kept = new KeptKey(folder);
  await kept.get();
  writeFileSync(join(folder, 'kubelet-client.key.tmp'), 'half a k');
  expect(await kept.get()).toContain('EC PRIVATE KEY');
});

test("the name of a request is the kubelet's", () => {
  // A key that a kubelet of 1.36.2 made for this test, and the name that it gave to its request.
  const key = [
    '-----BEGIN EC PRIVATE KEY-----',
    'MHcCAQEEIPMcGz4TJ0ycldxSHYt1XtCVAMHmUf9dpkQlyqFvVeyNoAoGCCqGSM49',
    'AwEHoUQDQgAE8PUvxk86FAF1xp9pYtXtPOzLy4cFhClvJULyhCU+wyeZuxXFWu/k',
    'GB0gLz/iFJMYg7GrCm/Fa7oIuOQYu5b0rQ==',
    '-----END EC PRIVATE KEY-----',
  ].join('\n');
  const name = 'node-csr-20dohz0OqjEcF_QdsGUhFz8BH0G1Cpi7Hk8VeoNWz_Q';
  expect(requestNameOf(key, clientTemplate('node-9'), CLIENT_PURPOSE)).toBe(name);
});
