/** How connections are opened: through proxies, and with which certificates. */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { hostOf, portOf, proxyOf } from '../../../../src/agent/cluster/client/dial.ts';
import {
  type ApiClientsOptions,
  openApiClients,
} from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ConnectionDetails } from '../../../../src/agent/cluster/service/api-server.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { HttpBed, loopbackCertificates } from '../../../support/api/http-bed.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { connectProxy, socksProxy } from '../../../support/api/proxies.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';

const NODE = { resource: 'nodes', name: 'n' } as const;

let certificates: ReturnType<typeof loopbackCertificates>;
let bed: HttpBed;
/** What the server saw of the latest client. */
let client = '';
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  certificates = loopbackCertificates();
  bed = await new HttpBed({ protocol: 'h2', files: certificates.files }, (request, answer) => {
    client = clientOf(request.socket);
    answer.end('{}');
  }).open();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(async () => {
  await bed.close();
  certificates.remove();
});

/** The name that a client asks for, and that of its certificate, if it has one. */
function clientOf(socket: Socket): string {
  if (!(socket instanceof TLSSocket)) return '';
  const { subject } = socket.getPeerCertificate() as { subject?: { CN: string } };
  return [socket.servername, subject?.CN].filter(Boolean).join(' ');
}

/** Asks the server for its node. */
async function ask(
  more: Partial<ConnectionDetails> = {},
  { env = {}, ...limits }: Partial<ApiClientsOptions> = {},
): Promise<unknown> {
  const details = { server: bed.url, ca: certificates.ca, headers: {}, ...more };
  const options = { userAgent: 'statelet/test', env, ...limits };
  const clients = openApiClients(new FixedCredentials(details), new ObservedConnection(), options);
  ends.push(clients.close);
  return clients.main.get(NODE);
}

const target = () => bed.url.slice('https://'.length);

describe('through a proxy', () => {
  test.each([
    ['proxy-url', (host: string) => ask({ proxyURL: `http://${host}` })],
    [
      'HTTPS_PROXY',
      (host: string) =>
        ask(
          { server: bed.url.replace('127.0.0.1', 'api.test'), tlsServerName: 'localhost' },
          { env: { HTTPS_PROXY: host } },
        ),
    ],
  ])('of HTTP, by %s', async (_, through) => {
    const proxy = await connectProxy();
    ends.push(proxy.close);
    expect(await through(proxy.host)).toEqual({});
    expect(proxy.targets).toEqual([expect.stringContaining(`:${target().split(':')[1] ?? ''}`)]);
  });

  test('that requires a name and a password', async () => {
    const proxy = await connectProxy();
    ends.push(proxy.close);
    await ask({ proxyURL: `http://some%40body:sec%3Aret@${proxy.host}` });
    const basic = Buffer.from('some@body:sec:ret').toString('base64');
    expect(proxy.targets).toEqual([`${target()} Basic ${basic}`]);
  });

  test('that refuses: the error names the proxy, and not the password', async () => {
    const proxy = await connectProxy({ answer: '407 Proxy Authentication Required' });
    ends.push(proxy.close);
    await expect(ask({ proxyURL: `http://somebody:secret@${proxy.host}` })).rejects.toThrow(
      `GET /api/v1/nodes/n: proxy http://${proxy.host}: it answered 407 Proxy Authentication Required`,
    );
  });

  test('of SOCKS, which resolves the name of the server', async () => {
    const proxy = await socksProxy();
    ends.push(proxy.close);
    const server = bed.url.replace('127.0.0.1', 'localhost');
    await ask({ server, proxyURL: `socks5://${proxy.host}` });
    expect(proxy.targets).toEqual([target().replace('127.0.0.1', 'localhost')]);
  });

  test('whose address is wrong: the error shows a valid one', async () => {
    await expect(ask({ proxyURL: 'ftp://somebody:secret@proxy' })).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: expect.stringMatching(/it should begin with http:\/\/, https:\/\/ or socks5:\/\/$/),
    });
  });
});

describe('TLS', () => {
  test('sends the name of the server, or the one that the kubeconfig wants', async () => {
    const server = bed.url.replace('127.0.0.1', 'localhost');
    await ask({ server });
    expect(client).toBe('localhost');
    await ask({ tlsServerName: 'localhost' });
    expect(client).toBe('localhost');
  });

  test('a certificate for another name is not accepted, but for the name that the kubeconfig wants', async () => {
    await expect(ask({ tlsServerName: 'api.test' })).rejects.toThrow(
      /TLS with 127\.0\.0\.1:\d+: the server's certificate is for DNS:localhost, IP Address:127\.0\.0\.1, and not for api\.test: .* should be /,
    );
    await expect(ask({ tlsServerName: 'api.test', insecureSkipTLSVerify: true })).resolves.toEqual({});
  });

  test('shows the certificate of the client', async () => {
    const { cert, key } = certificates.authority.issue({
      name: 'client',
      commonName: 'system:node:n',
      usage: 'client auth',
    });
    await ask({ cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') });
    expect(client).toBe('system:node:n');
  });

  test('trusts the certificate of the server itself, as Go does', async () => {
    await expect(ask({ ca: readFileSync(certificates.files.cert, 'utf8') })).resolves.toEqual({});
  });

  test('a certificate of an authority that the kubeconfig does not name: the error says how to fix it', async () => {
    const { cert } = certificates.authority.issue({
      name: 'stranger',
      commonName: 'stranger',
      usage: 'server auth',
    });
    await expect(ask({ ca: readFileSync(cert, 'utf8') })).rejects.toThrow(
      /TLS with 127\.0\.0\.1:\d+: .*: certificate-authority of the kubeconfig should be the one that signed the server's certificate$/,
    );
  });

  test('a server without TLS: the error says so', async () => {
    const plain = await new HttpBed({ protocol: 'http' }, (_, answer) => answer.end('{}')).open();
    ends.push(() => plain.close());
    await expect(ask({ server: plain.url.replace('http:', 'https:') })).rejects.toThrow(
      /TLS with 127\.0\.0\.1:\d+: the server does not speak TLS: [^\n]*$/,
    );
  });

  test('an expired certificate: the error says that it has expired by the clock of this machine, which may be wrong', async () => {
    const files = certificates.authority.issue({
      name: 'expired',
      commonName: 'server',
      usage: 'server auth',
      alternativeNames: 'IP:127.0.0.1',
      days: 0,
    });
    const expired = await new HttpBed({ protocol: 'h2', files }, (_, answer) => answer.end('{}')).open();
    ends.push(() => expired.close());
    await expect(ask({ server: expired.url })).rejects.toThrow(
      /TLS with 127\.0\.0\.1:\d+: the server's certificate has expired, by the clock of this machine: .* should be /,
    );
  });

  test('a key that is not valid is an error', async () => {
    await expect(ask({ cert: 'x', key: 'y' })).rejects.toMatchObject({ kind: 'Unavailable' });
  });
});

describe('a server', () => {
  test('that accepts the connection and sends nothing is aborted', async () => {
    const silent = await new TcpProxy(target()).open({ silent: true });
    ends.push(() => silent.close());
    await expect(ask({ server: `https://${silent.host}` }, { connectTimeoutMs: 100 })).rejects.toMatchObject({
      kind: 'DeadlineExceeded',
      message: `GET /api/v1/nodes/n: no connection to https://${silent.host} in 0.1 s`,
    });
  });

  test('whose address is wrong: the error shows a valid one', async () => {
    await expect(ask({ server: 'api.test:6443' })).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: expect.stringContaining('is "api.test:6443": it should be https://HOST:PORT'),
    });
  });
});

const SERVER = new URL('https://api.example.com:6443');

const ADDRESS = new URL('https://10.1.2.3');

const PROXY = 'http://proxy:3128';

const of = (server: URL, env: Record<string, string>, configured?: string) =>
  proxyOf(server, configured, env);

describe('the proxy to the API server', () => {
  test('is that of the kubeconfig, whatever the environment says', () => {
    const env = { HTTPS_PROXY: PROXY, NO_PROXY: '*' };
    expect(of(SERVER, env, 'socks5://other:1080')).toBe('socks5://other:1080');
    expect(of(SERVER, { HTTPS_PROXY: PROXY }, '')).toBe(PROXY);
  });

  test('is else that of the environment for the protocol of the server', () => {
    expect(of(SERVER, { HTTPS_PROXY: PROXY })).toBe(PROXY);
    expect(of(SERVER, { https_proxy: PROXY })).toBe(PROXY);
    expect(of(SERVER, { HTTP_PROXY: PROXY })).toBeUndefined();
    expect(of(new URL('http://api:8080'), { HTTP_PROXY: PROXY })).toBe(PROXY);
    expect(of(SERVER, { HTTPS_PROXY: '', https_proxy: PROXY })).toBe(PROXY);
    expect(of(SERVER, {})).toBeUndefined();
  });

  test('may be given without its protocol', () => {
    expect(of(SERVER, { HTTPS_PROXY: 'proxy:3128' })).toBe(PROXY);
  });

  test.each(['https://localhost:6443', 'https://127.0.0.1:6443', 'https://127.1.2.3', 'https://[::1]:6443'])(
    'of the environment is not used for %s',
    (server) => expect(of(new URL(server), { HTTPS_PROXY: PROXY })).toBeUndefined(),
  );

  test.each([
    ['*', true],
    ['api.example.com', true],
    ['API.Example.com', true],
    ['example.com', true],
    ['.example.com', true],
    ['*.example.com', true],
    ['.api.example.com', false],
    ['ample.com', false],
    ['api.example.com:6443', true],
    ['api.example.com:443', false],
    ['other, example.com', true],
    ['10.0.0.0/8', false],
    ['', false],
  ])('NO_PROXY "%s" excludes a name: %s', (noProxy, excluded) => {
    const proxy = of(SERVER, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy });
    expect(proxy).toBe(excluded ? undefined : PROXY);
  });

  test.each([
    ['10.1.2.3', true],
    ['10.1.2.3:443', true],
    ['10.1.2.3:6443', false],
    ['10.0.0.0/8', true],
    ['10.1.2.0/24', true],
    ['10.2.0.0/16', false],
    ['10.0.0.0/33', false],
    ['10.0.0.0/x', false],
    ['fd00::/8', false],
    ['2.3', false],
  ])('NO_PROXY "%s" excludes an address: %s', (noProxy, excluded) => {
    const proxy = of(ADDRESS, { HTTPS_PROXY: PROXY, no_proxy: noProxy });
    expect(proxy).toBe(excluded ? undefined : PROXY);
  });

  test.each([
    ['fd00::/8', true],
    ['[fd00::7]:6443', true],
    ['fd00::7', true],
    ['fe80::/10', false],
  ])('NO_PROXY "%s" excludes an address of IPv6: %s', (noProxy, excluded) => {
    const proxy = of(new URL('https://[fd00::7]:6443'), { HTTPS_PROXY: PROXY, no_proxy: noProxy });
    expect(proxy).toBe(excluded ? undefined : PROXY);
  });
});

test('host and port of a server', () => {
  expect([hostOf(SERVER), portOf(SERVER)]).toEqual(['api.example.com', 6443]);
  expect([hostOf(ADDRESS), portOf(ADDRESS)]).toEqual(['10.1.2.3', 443]);
  expect([hostOf(new URL('http://[::1]')), portOf(new URL('http://[::1]'))]).toEqual(['::1', 80]);
});
