import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { loadKubeconfig } from '../../../../src/agent/cluster/credentials/load-kubeconfig.ts';
import { type KeyPair, TestAuthority } from '../../../support/certificate-authority.ts';

const SERVER = 'https://10.0.0.1:6443';
const authority = new TestAuthority();
let pair: KeyPair;
let other: KeyPair;
let root: string;
let folder: string;
let count = 0;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'statelet-kubeconfig-'));
  pair = authority.keyPair({ commonName: 'system:node:node-1' });
  other = authority.keyPair();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));
beforeEach(() => {
  folder = join(root, String(count++));
  mkdirSync(folder);
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** A kubeconfig with these fields, and files beside it. */
function write(cluster: object, user: object, files: Readonly<Record<string, string>> = {}): string {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return writeText(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
      clusters: [{ name: 'c', cluster: { server: SERVER, ...cluster } }],
      users: [{ name: 'u', user }],
    }),
  );
}

function writeText(text: string): string {
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, text);
  return path;
}

function program(script: string, name = 'plugin'): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const exec = (more: object = {}) => ({
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './plugin',
    interactiveMode: 'Never',
    ...more,
  },
});
const printed = (status: object) =>
  `cat <<'END'
${JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })}
END`;

describe('a kubeconfig', () => {
  test('with everything in it', async () => {
    const path = write(
      {
        server: `${SERVER}/`,
        'certificate-authority-data': base64(authority.cert),
        'tls-server-name': 'kubernetes',
        'proxy-url': 'socks5://10.0.0.2:1080',
      },
      { 'client-certificate-data': base64(pair.cert), 'client-key-data': base64(pair.key) },
    );
    expect(await loadKubeconfig(path)).toEqual({
      details: {
        server: SERVER,
        ca: authority.cert,
        ...pair,
        tlsServerName: 'kubernetes',
        proxyURL: 'socks5://10.0.0.2:1080',
        headers: {},
      },
      certificateOrigin: 'inline',
      files: [path],
      isRenewable: false,
    });
  });

  test('that names files, relative to itself', async () => {
    const path = write(
      { 'certificate-authority': 'ca.crt' },
      { 'client-certificate': 'node.pem', 'client-key': 'node.pem' },
      { 'ca.crt': authority.cert, 'node.pem': pair.cert + pair.key },
    );
    const { details, files, caFile } = await loadKubeconfig(path);
    const both = pair.cert + pair.key;
    expect(details).toEqual({ server: SERVER, ca: authority.cert, cert: both, key: both, headers: {} });
    expect(files).toEqual([path, join(folder, 'ca.crt'), join(folder, 'node.pem')]);
    expect(caFile).toBe(join(folder, 'ca.crt'));
  });

  test('in YAML', async () => {
    const path = writeText(`
apiVersion: v1
kind: Config
clusters:
- {name: c, cluster: {server: ${SERVER}, insecure-skip-tls-verify: true}}
contexts:
- {name: here, context: {cluster: c, user: u}}
current-context: here
preferences: {}
users:
- name: u
  user: {token: secret}
`);
    expect((await loadKubeconfig(path)).details).toEqual({
      server: SERVER,
      insecureSkipTLSVerify: true,
      headers: { Authorization: 'Bearer secret' },
    });
  });

  test('whose data wins over its file', async () => {
    const path = write(
      { 'certificate-authority-data': base64(authority.cert), 'certificate-authority': 'missing' },
      {},
    );
    expect((await loadKubeconfig(path)).details.ca).toBe(authority.cert);
  });

  test('with a server without a scheme', async () => {
    const secure = write({ server: '10.0.0.1:6443', 'insecure-skip-tls-verify': true }, {});
    expect((await loadKubeconfig(secure)).details.server).toBe('https://10.0.0.1:6443');
    const plain = write({ server: '127.0.0.1:8080' }, {});
    expect((await loadKubeconfig(plain)).details.server).toBe('http://127.0.0.1:8080');
  });

  test('with a file of a token, which wins over a token', async () => {
    const path = write({}, { token: 'first', tokenFile: 'token' }, { token: 'second\n' });
    const { details, files } = await loadKubeconfig(path);
    expect(details.headers).toEqual({ Authorization: 'Bearer second' });
    expect(files).toContain(join(folder, 'token'));
  });

  test('with a password', async () => {
    const { details } = await loadKubeconfig(write({}, { username: 'me', password: 'word' }));
    expect(details.headers).toEqual({ Authorization: `Basic ${base64('me:word')}` });
  });

  test('that impersonates', async () => {
    const { details } = await loadKubeconfig(
      write(
        {},
        {
          token: 'secret',
          as: 'system:node:node-1',
          'as-uid': 'u-1',
          'as-groups': ['system:nodes', 'others'],
          'as-user-extra': { 'Example.com/Reason': ['one', 'two'] },
        },
      ),
    );
    expect(details.headers).toEqual({
      Authorization: 'Bearer secret',
      'Impersonate-User': 'system:node:node-1',
      'Impersonate-Uid': 'u-1',
      'Impersonate-Group': ['system:nodes', 'others'],
      'Impersonate-Extra-example.com%2Freason': ['one', 'two'],
    });
  });
});

describe('a program that prints credentials', () => {
  test('is run where the kubeconfig stands, and its token used until it expires', async () => {
    program(printed({ token: 'from-program', expirationTimestamp: '2026-11-22T13:00:00Z' }));
    const { details, expiresAtMs, isRenewable } = await loadKubeconfig(write({}, exec()));
    expect(details.headers).toEqual({ Authorization: 'Bearer from-program' });
    expect(expiresAtMs).toBe(Date.UTC(2026, 10, 22, 13));
    expect(isRenewable).toBe(true);
  });

  test('may print a certificate', async () => {
    program(printed({ clientCertificateData: pair.cert, clientKeyData: pair.key }));
    const { details, expiresAtMs } = await loadKubeconfig(write({}, exec()));
    expect(details).toMatchObject(pair);
    expect(expiresAtMs).toBeUndefined();
  });

  test('gets its arguments, its environment, and the cluster where it asks for that', async () => {
    program(
      `printf '%s\\n' "$1" "$MINE" "$KUBERNETES_EXEC_INFO" > '${folder}/seen'\n${printed({ token: 't' })}`,
    );
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }];
    const more = { args: ['one'], env: [{ name: 'MINE', value: 'x' }], provideClusterInfo: true };
    await loadKubeconfig(
      write({ 'certificate-authority-data': base64(authority.cert), extensions }, exec(more)),
    );
    const [argument, variable, info] = readFileSync(join(folder, 'seen'), 'utf8').split('\n');
    expect([argument, variable]).toEqual(['one', 'x']);
    expect(JSON.parse(info ?? '')).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: {
        interactive: false,
        cluster: {
          server: SERVER,
          'certificate-authority-data': base64(authority.cert),
          config: { audience: 'a' },
        },
      },
    });
  });

  test.each([
    ['fails', 'echo "please log in" >&2; exit 3', 'ended with 3: please log in'],
    ['prints no JSON', 'echo "secret-token"', 'printed no ExecCredential in JSON'],
    [
      'prints another version',
      printed({ token: 't' }).replace('/v1', '/v1alpha1'),
      'not of client.authentication',
    ],
    ['prints nothing of use', printed({}), 'printed neither a token nor a certificate'],
    ['prints half a certificate', printed({ clientKeyData: 'k' }), 'printed only one of'],
  ])('that %s is an error, which does not show what it printed', async (_what, script, problem) => {
    const path = write({}, exec());
    program(script);
    const failure = loadKubeconfig(path);
    await expect(failure).rejects.toThrow(problem);
    await expect(failure).rejects.toThrow(
      `kubeconfig ${path}: users[u].user.exec.command ${folder}/plugin: `,
    );
    await expect(failure).rejects.not.toThrow('secret-token');
    await expect(failure).rejects.toMatchObject({ kind: 'Unavailable' });
  });

  test('that is missing is an error with the hint of the kubeconfig', async () => {
    const path = write({}, exec({ command: 'no-such-plugin', installHint: 'Install it from example.com' }));
    await expect(loadKubeconfig(path)).rejects.toThrow(
      /no-such-plugin: .*ENOENT\. Install it from example\.com/,
    );
  });
});

describe('the error for a wrong kubeconfig has its file and field:', () => {
  const user = 'users[u].user';
  test.each<[string, object, object, string]>([
    ['no server', { server: '' }, {}, 'clusters[c].cluster.server is missing'],
    [
      'a server that is no URL',
      { server: 'ftp://x' },
      {},
      'clusters[c].cluster.server must be a URL such as',
    ],
    [
      'a password in the URL',
      { server: 'https://a:b@c' },
      {},
      'clusters[c].cluster.server must not hold a password',
    ],
    ['a proxy that is no URL', { 'proxy-url': 'x' }, {}, 'clusters[c].cluster.proxy-url must be a URL'],
    [
      'an authority that is not to be checked',
      { 'insecure-skip-tls-verify': true, 'certificate-authority': 'ca' },
      {},
      'clusters[c].cluster.insecure-skip-tls-verify must not be true together with clusters[c].cluster.certificate-authority',
    ],
    ['a missing file', { 'certificate-authority': 'ca' }, {}, '/ca does not exist'],
    [
      'no base64',
      {},
      { 'client-certificate-data': '-----', 'client-key-data': 'x' },
      `${user}.client-certificate-data must be base64`,
    ],
    ['no certificate', { 'certificate-authority-data': base64('x') }, {}, 'must hold a certificate in PEM'],
    ['a certificate without its key', {}, { 'client-certificate': 'x' }, `${user}.client-key is missing`],
    ['a key without its certificate', {}, { 'client-key': 'x' }, `${user}.client-certificate is missing`],
    ['a number as token', {}, { token: 1 }, `${user}.token must be a text: put it in quotation marks`],
    [
      'a token of two lines',
      {},
      { token: 'a\nb' },
      'the token or password has a character that is not allowed',
    ],
    [
      'two ways to log in',
      {},
      { token: 'a', username: 'b' },
      `${user} must have only one of: a token, a password`,
    ],
    [
      'a provider of credentials, which the kubelet does not know either',
      {},
      { 'auth-provider': { name: 'oidc' } },
      `${user}.auth-provider is not supported, as in the kubelet: use exec`,
    ],
    ['groups without a user', {}, { 'as-groups': ['a'] }, `${user}.as is missing`],
    [
      'an unknown kind of program',
      {},
      exec({ apiVersion: 'v1' }),
      `${user}.exec.apiVersion must be client.authentication`,
    ],
    [
      'a program that asks people',
      {},
      exec({ interactiveMode: 'Always' }),
      `${user}.exec.interactiveMode must not be Always`,
    ],
    ['an empty file of a token', {}, { tokenFile: 'kubeconfig.token' }, 'kubeconfig.token: is empty'],
  ])('%s', async (_what, cluster, userFields, problem) => {
    const path = write(cluster, userFields, { 'kubeconfig.token': '\n' });
    const failure = loadKubeconfig(path);
    await expect(failure).rejects.toThrow(problem);
    await expect(failure).rejects.toThrow(`kubeconfig ${path}: `);
    await expect(failure).rejects.toMatchObject({ kind: 'InvalidArgument' });
  });

  test('a key of another certificate', async () => {
    const path = write(
      {},
      { 'client-certificate': 'cert', 'client-key-data': base64(other.key) },
      { cert: pair.cert },
    );
    await expect(loadKubeconfig(path)).rejects.toThrow(
      `${user}.client-key-data is not the key of the certificate in ${user}.client-certificate: ${folder}/cert`,
    );
  });

  test.each<[string, string, string]>([
    ['an empty file', '', 'is empty'],
    ['no object', 'hello', 'the kubeconfig must be an object'],
    ['no YAML', 'a: b\nusers: [secret', 'is no valid YAML at line 2'],
    ['another kind', '{kind: Pod}', 'kind must be Config, not Pod'],
    [
      'no context',
      '{contexts: [{name: a}, {name: b}]}',
      'current-context is missing: it must name one of the contexts (a, b)',
    ],
    [
      'an unknown context',
      '{current-context: x}',
      'current-context names x, which is not among the contexts (there are none)',
    ],
    [
      'an unknown cluster',
      '{current-context: x, contexts: [{name: x, context: {cluster: y}}]}',
      'contexts[x].context.cluster names y, which is not among the clusters',
    ],
    ['clusters that are no list', '{current-context: x, contexts: {}}', 'contexts must be a list'],
  ])('%s', async (_what, text, problem) => {
    const failure = loadKubeconfig(writeText(text));
    await expect(failure).rejects.toThrow(problem);
    await expect(failure).rejects.not.toThrow('secret');
  });

  test('a file that does not exist, a folder, a file that is too large', async () => {
    await expect(loadKubeconfig(join(folder, 'none'))).rejects.toThrow(`${folder}/none: does not exist`);
    await expect(loadKubeconfig(folder)).rejects.toThrow(`kubeconfig ${folder}: is not a file but a folder`);
    await expect(loadKubeconfig(writeText('#'.repeat(1024 ** 2 + 1)))).rejects.toThrow(
      'is larger than 1 MiB',
    );
  });
});
