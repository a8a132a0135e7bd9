import {
  mkdtempSync,
  readdirSync,
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
import { certificatePair } from '../../../src/cluster/credentials/certificate-pair.ts';
import { CertificateStore } from '../../../src/cluster/credentials/certificate-store.ts';
import { TestAuthority } from '../../support/certificate-authority.ts';

const authority = new TestAuthority();
const NOW = new Date(2026, 0, 31, 9, 8, 7).getTime();
let root: string;
let folder: string;
let store: CertificateStore;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statelet-store-'));
  folder = join(root, 'pki');
  store = new CertificateStore(folder, 'kubelet-client');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('the store of a certificate', () => {
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

  test('names the file that does not hold', async () => {
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
