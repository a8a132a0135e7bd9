import { X509Certificate } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { certificatePair } from '../../../../src/agent/cluster/credentials/certificate-pair.ts';
import {
  CertificateStore,
  KeptKey,
  makeSelfSigned,
  requestNameOf,
} from '../../../../src/agent/cluster/credentials/certificate-store.ts';
import { CLIENT_PURPOSE, clientTemplate } from '../../../../src/agent/policies/cluster/certificates.ts';
import { TestAuthority } from '../../../support/certificate-authority.ts';

const authority = new TestAuthority();
const NOW = new Date(2026, 0, 31, 9, 8, 7).getTime();
let root: string;
let folder: string;
let store: CertificateStore;

describe('the store of a certificate', () => {
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'statelet-store-'));
    folder = join(root, 'pki');
    store = new CertificateStore(folder, 'kubelet-client');
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test('has none at first', async () => {
    expect(await store.current()).toBeUndefined();
  });

  test('keeps certificates and key in one file, to which a link points', async () => {
    const { cert, key } = authority.keyPair();
    const stored = await store.update(cert + authority.cert, key, NOW);
    expect(stored.cert).toBe(cert + authority.cert);
    expect(readdirSync(folder).sort()).toEqual([
      'kubelet-client-2026-01-31-09-08-07.pem',
      'kubelet-client-current.pem',
    ]);
    expect(readlinkSync(store.currentPath)).toBe(join(folder, 'kubelet-client-2026-01-31-09-08-07.pem'));
    expect(statSync(store.currentPath).mode & 0o777).toBe(0o600);
    expect(await new CertificateStore(folder, 'kubelet-client').current()).toEqual(stored);
  });

  test('keeps the files of earlier certificates', async () => {
    const [first, second] = [authority.keyPair(), authority.keyPair()];
    await store.update(first.cert, first.key, NOW);
    const { cert } = await store.update(second.cert, second.key, NOW + 1_000);
    expect(readdirSync(folder)).toHaveLength(3);
    expect((await store.current())?.cert).toBe(cert);
  });

  test('stores no key that is not that of the certificate', async () => {
    const { cert } = authority.keyPair();
    const { key } = authority.keyPair();
    await expect(store.update(cert, key, NOW)).rejects.toThrow('a key that is not that of its certificate');
    expect(await store.current()).toBeUndefined();
  });

  test('finishes the update of an agent that was killed before the last step', async () => {
    const { cert, key } = authority.keyPair();
    await store.update(cert, key, NOW);
    renameSync(store.currentPath, join(folder, 'kubelet-client-updated.pem'));
    expect((await store.current())?.cert).toBe(cert);
    expect(readdirSync(folder)).not.toContain('kubelet-client-updated.pem');
  });

  test('replaces a link that an agent left that was killed', async () => {
    const [first, second] = [authority.keyPair(), authority.keyPair()];
    await store.update(first.cert, first.key, NOW);
    symlinkSync('/nowhere', join(folder, 'kubelet-client-updated.pem'));
    await store.update(second.cert, second.key, NOW + 1_000);
    expect((await store.current())?.cert).toBe(second.cert);
  });

  test('names the file that is not valid', async () => {
    const { cert, key } = authority.keyPair();
    await store.update(cert, key, NOW);
    writeFileSync(store.currentPath, cert);
    await expect(store.current()).rejects.toThrow(`${store.currentPath}: holds no private key in PEM`);
  });

  test('names the folder into which it cannot write', async () => {
    writeFileSync(folder, '');
    const { cert, key } = authority.keyPair();
    await expect(store.update(cert, key, NOW)).rejects.toThrow(
      `${folder}: the new certificate cannot be stored`,
    );
  });
});

describe('a certificate with its key', () => {
  test('is known by its subject, its names and its life', () => {
    const { cert, key } = authority.keyPair({
      commonName: 'system:node:node-1',
      organization: 'system:nodes',
      dnsNames: ['node-1'],
      ipAddresses: ['10.0.0.1'],
      notBefore: Date.UTC(2026, 0, 31),
      notAfter: Date.UTC(2027, 0, 31),
    });
    expect(certificatePair(cert, key).facts).toEqual({
      commonName: 'system:node:node-1',
      organizations: ['system:nodes'],
      dnsNames: ['node-1'],
      ipAddresses: ['10.0.0.1'],
      notBefore: Date.UTC(2026, 0, 31),
      notAfter: Date.UTC(2027, 0, 31),
    });
  });
});

describe('the key of a node that asks once', () => {
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
});

describe('the certificate that the node signs itself', () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-self-signed-'));
  });

  afterEach(() => rmSync(dir, { recursive: true }));

  const certDir = () => join(dir, 'pki');

  const read = (name: string) => readFileSync(join(certDir(), name), 'utf8');

  const make = (now = Date.now()) => makeSelfSigned({ certDir: certDir(), hostName: 'node-a', now });

  test('a certificate for the name of the node is made, with a key that only its owner may read', async () => {
    await make();
    const { facts } = certificatePair(read('kubelet.crt'), read('kubelet.key'));
    expect(facts).toMatchObject({ dnsNames: ['node-a'], commonName: expect.stringMatching(/^node-a@\d+$/u) });
    expect(statSync(join(certDir(), 'kubelet.key')).mode & 0o777).toBe(0o600);
    expect(statSync(join(certDir(), 'kubelet.crt')).mode & 0o777).toBe(0o644);
    const certificate = new X509Certificate(read('kubelet.crt'));
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkHost('node-a')).toBe('node-a');
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });

  test('one that exists is kept while it is valid', async () => {
    await make();
    const first = read('kubelet.crt');
    await make();
    expect(read('kubelet.crt')).toBe(first);
    await make(Date.now() + 366 * 24 * 3_600_000);
    const second = read('kubelet.crt');
    expect(second).not.toBe(first);
    writeFileSync(join(certDir(), 'kubelet.key'), 'garbage');
    await make();
    expect(read('kubelet.crt')).not.toBe(second);
  });

  test('a folder that cannot be written is an error with its name', async () => {
    writeFileSync(join(dir, 'pki'), '');
    await expect(make()).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringContaining(certDir()),
    });
  });
});
