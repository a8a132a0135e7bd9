import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type OpenedCredentials,
  openCredentials,
} from '../../../../src/agent/cluster/credentials/open-credentials.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { type KeyPair, TestAuthority } from '../../../support/certificate-authority.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

const authority = new TestAuthority();
const NODE = { commonName: 'system:node:node-1', organization: 'system:nodes' };
const base64 = (text: string) => Buffer.from(text).toString('base64');

let folder: string;
let certDir: string;
let warnings: unknown[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-open-'));
  certDir = join(folder, 'pki');
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function kubeconfig(name: string, user: object, cluster: object = {}): string {
  const path = join(folder, name);
  writeFileSync(
    path,
    JSON.stringify({
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      clusters: [{ name: 'x', cluster: { server: `https://${name}:6443`, ...cluster } }],
      users: [{ name: 'x', user }],
    }),
  );
  return path;
}

const inline = ({ cert, key }: KeyPair) => ({
  'client-certificate-data': base64(cert),
  'client-key-data': base64(key),
});

function open({ bootstrap = false, rotates = true } = {}): Promise<OpenedCredentials> {
  return openCredentials({
    settings: {
      kubeconfig: join(folder, 'kubeconfig'),
      bootstrapKubeconfig: bootstrap ? join(folder, 'bootstrap') : '',
      rotateCertificates: rotates,
    },
    certDir,
    nodeName: 'node-1',
    clock: systemClock,
    logger: { ...silentLogger, warn: (fields) => warnings.push((fields as { problem: unknown }).problem) },
  });
}

const serverOf = async ({ server }: OpenedCredentials) => (await server.current()).server;

describe('a node without a bootstrap kubeconfig', () => {
  test('has the credentials of its kubeconfig, whatever they are', async () => {
    kubeconfig('kubeconfig', { token: 'a' });
    const opened = await open({ rotates: false });
    expect(opened.client).toBeUndefined();
    expect(await opened.server.current()).toMatchObject({ headers: { Authorization: 'Bearer a' } });
  });

  test.each([
    ['no credentials', {}, 1],
    ['a token', { token: 'a' }, 0],
    ['a password', { username: 'a', password: 'b' }, 0],
    ['a certificate', inline(authority.keyPair(NODE)), 0],
  ])('is warned of a user without credentials: one with %s', async (_, user, count) => {
    kubeconfig('kubeconfig', user);
    await open({ rotates: false });
    expect(warnings).toEqual(
      Array(count).fill(expect.stringMatching(/^its user has no credentials, and is/)),
    );
  });

  test('does not start without a kubeconfig that holds', async () => {
    await expect(open()).rejects.toThrow(`kubeconfig ${folder}/kubeconfig: does not exist`);
    writeFileSync(join(folder, 'kubeconfig'), 'hello');
    await expect(open()).rejects.toThrow(`kubeconfig ${folder}/kubeconfig: the kubeconfig must be an object`);
  });

  test('starts with a certificate of another user that has expired, and logs it', async () => {
    const pair = authority.keyPair({ commonName: 'admin', notAfter: Date.UTC(2026, 0, 1), notBefore: 0 });
    kubeconfig('kubeconfig', inline(pair));
    await open({ rotates: false });
    expect(warnings).toEqual([
      'it expired at 2026-01-01T00:00:00Z, by the clock of this machine',
      'it is for the user admin: what a node may do, the API server allows system:node:node-1',
    ]);
  });

  test('stores a certificate that stands in the kubeconfig, and renews it at once, the first time', async () => {
    const pair = authority.keyPair({ commonName: 'admin' });
    kubeconfig('kubeconfig', inline(pair));
    expect((await open()).client).toMatchObject({ mustRenew: true, pair, rotates: true });
    expect(existsSync(join(certDir, 'kubelet-client-current.pem'))).toBe(true);
    expect((await open()).client).toMatchObject({ mustRenew: false, pair });
  });

  test('renews a certificate that a file holds only when it is time', async () => {
    const pair = authority.keyPair(NODE);
    writeFileSync(join(folder, 'node.pem'), pair.cert + pair.key);
    kubeconfig('kubeconfig', { 'client-certificate': 'node.pem', 'client-key': 'node.pem' });
    expect((await open()).client).toMatchObject({ mustRenew: false, pair });
    expect(existsSync(certDir)).toBe(false);
  });

  test('does not use a stored certificate that is not valid', async () => {
    const pair = authority.keyPair(NODE);
    kubeconfig('kubeconfig', inline(pair));
    mkdirSync(certDir);
    writeFileSync(join(certDir, 'kubelet-client-current.pem'), 'half');
    expect((await open()).client).toMatchObject({ mustRenew: true, pair });
    expect(warnings).toEqual([`${certDir}/kubelet-client-current.pem: holds no certificate in PEM`]);
  });
});

describe('a node with a bootstrap kubeconfig', () => {
  test('is warned that the user of that one has no credentials', async () => {
    kubeconfig('bootstrap', {});
    await open({ bootstrap: true });
    expect(warnings).toEqual([expect.stringMatching(/^its user has no credentials, and is/)]);
  });

  beforeEach(() => {
    kubeconfig('bootstrap', { token: 'b' });
  });

  test('does not use it if its kubeconfig has a valid certificate', async () => {
    kubeconfig('kubeconfig', inline(authority.keyPair(NODE)));
    expect(await serverOf(await open({ bootstrap: true }))).toBe('https://kubeconfig:6443');
  });

  test.each<[string, () => void]>([
    ['is missing', () => undefined],
    ['does not hold', () => writeFileSync(join(folder, 'kubeconfig'), '{')],
    ['has only a token', () => void kubeconfig('kubeconfig', { token: 'a' })],
    [
      'has an expired certificate',
      () =>
        void kubeconfig('kubeconfig', inline(authority.keyPair({ ...NODE, notAfter: Date.now() - 1_000 }))),
    ],
    [
      'names a certificate that is missing',
      () => void kubeconfig('kubeconfig', { 'client-certificate': 'none', 'client-key': 'none' }),
    ],
  ])('uses it if its kubeconfig %s', async (_what, prepare) => {
    prepare();
    const opened = await open({ bootstrap: true });
    expect(await serverOf(opened)).toBe('https://bootstrap:6443');
    expect(opened.client).toMatchObject({ pair: undefined, keptKey: undefined });
    expect(await opened.client?.first.current()).toMatchObject({ headers: { Authorization: 'Bearer b' } });
  });

  test('writes the kubeconfig at once where it rotates certificates', async () => {
    writeFileSync(join(folder, 'ca.crt'), authority.cert);
    kubeconfig('bootstrap', { token: 'b' }, { 'certificate-authority': 'ca.crt' });
    await open({ bootstrap: true });
    const path = join(folder, 'kubeconfig');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const pem = join(certDir, 'kubelet-client-current.pem');
    expect(readFileSync(path, 'utf8')).toBe(`apiVersion: v1
clusters:
- cluster:
    certificate-authority: ${folder}/ca.crt
    server: https://bootstrap:6443
  name: default-cluster
contexts:
- context:
    cluster: default-cluster
    namespace: default
    user: default-auth
  name: default-context
current-context: default-context
kind: Config
users:
- name: default-auth
  user:
    client-certificate: ${pem}
    client-key: ${pem}
`);
  });

  test('writes the kubeconfig with its first certificate where it does not rotate them', async () => {
    const opened = await open({ bootstrap: true, rotates: false });
    expect(existsSync(join(folder, 'kubeconfig'))).toBe(false);
    const { cert, key } = authority.keyPair(NODE);
    const pair = await opened.client!.store.update(cert, key, Date.now());
    await opened.client!.onIssued(pair);
    const next = await open({ bootstrap: true, rotates: false });
    expect(await next.server.current()).toMatchObject({ server: 'https://bootstrap:6443', cert: cert + key });
  });

  test('fails with the reason if that one is wrong', async () => {
    kubeconfig('bootstrap', { token: 1 });
    const problem = `kubeconfig ${folder}/bootstrap: users[x].user.token must be a text`;
    await expect(open({ bootstrap: true })).rejects.toThrow(problem);
  });
});
