import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { certificatePair } from '../../../src/cluster/credentials/certificate-pair.ts';
import { makeSelfSigned } from '../../../src/cluster/credentials/self-signed-store.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-self-signed-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const folder = () => join(dir, 'pki');
const read = (name: string) => readFileSync(join(folder(), name), 'utf8');
const make = (now = Date.now()) => makeSelfSigned({ certDir: folder(), hostName: 'node-a', now });

test('a certificate for the name of the node is made, with a key that only its owner may read', async () => {
  await make();
  const { facts } = certificatePair(read('kubelet.crt'), read('kubelet.key'));
  expect(facts).toMatchObject({ dnsNames: ['node-a'], commonName: expect.stringMatching(/^node-a@\d+$/u) });
  expect(statSync(join(folder(), 'kubelet.key')).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder(), 'kubelet.crt')).mode & 0o777).toBe(0o644);
  const certificate = new X509Certificate(read('kubelet.crt'));
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkHost('node-a')).toBe('node-a');
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
});

test('one that is there is kept while it is valid', async () => {
  await make();
  const first = read('kubelet.crt');
  await make();
  expect(read('kubelet.crt')).toBe(first);
  await make(Date.now() + 366 * 24 * 3_600_000);
  const second = read('kubelet.crt');
  expect(second).not.toBe(first);
  writeFileSync(join(folder(), 'kubelet.key'), 'garbage');
  await make();
  expect(read('kubelet.crt')).not.toBe(second);
});

test('a folder that cannot be written is an error with its name', async () => {
  writeFileSync(join(dir, 'pki'), '');
  await expect(make()).rejects.toMatchObject({
    kind: 'FailedPrecondition',
    message: expect.stringContaining(folder()),
  });
});
