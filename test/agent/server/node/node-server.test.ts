import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pairOfFiles } from '../../../../src/agent/server/node/tls-material.ts';
import type { Route } from '../../../../src/agent/server/routes/route.ts';
import { type KeyPair, TestAuthority } from '../../../support/certificate-authority.ts';
import { freePort } from '../../../support/free-port.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { waitFor } from '../../../support/wait-for.ts';
import {
  NodeServerBed,
  ADMIN,
  clientCA,
  SERVER_NAMES,
  serverCA,
  TestReviews,
  withToken,
} from '../../../support/node-server-bed.ts';

let bed: NodeServerBed;
beforeEach(() => {
  bed = new NodeServerBed();
});
afterEach(() => bed.close());

describe('in a cluster', () => {
  test('a client certificate names user and groups, and the API server is asked for their rights', async () => {
    const reviews = new TestReviews();
    const { ask } = await bed.open({ reviews });
    expect(await ask('/pods', ADMIN)).toMatchObject({ status: 200 });
    expect(reviews.asked).toEqual([
      {
        user: 'admin',
        groups: ['system:masters', 'system:authenticated'],
        verb: 'get',
        subresource: 'pods',
      },
    ]);
    await ask('/pods', ADMIN);
    expect(reviews.asked).toHaveLength(1);
  });

  test('the right to the whole server suffices where the path has a right of its own', async () => {
    const reviews = new TestReviews(({ subresource }) => subresource === 'proxy');
    const { ask } = await bed.open({ reviews });
    expect(await ask('/healthz', ADMIN)).toMatchObject({ status: 200 });
    expect(reviews.asked.map(({ subresource }) => subresource)).toEqual(['healthz', 'proxy']);
    expect(await ask('/metrics', ADMIN)).toMatchObject({
      status: 403,
      body: 'Forbidden (user=admin, verb=get, resource=nodes, subresource(s)=[metrics])\n',
    });
  });

  test('a bearer token is reviewed once, and removed from the request', async () => {
    const reviews = new TestReviews();
    const { ask } = await bed.open({ reviews });
    for (const attempt of ['first', 'second']) {
      const { status, body } = await ask('/pods', withToken('good'));
      expect([attempt, status]).toEqual([attempt, 200]);
      expect(body).not.toContain('good');
    }
    expect(reviews.tokens).toEqual(['good']);
    expect(reviews.asked[0]).toMatchObject({
      user: 'robot',
      groups: ['system:masters', 'system:authenticated'],
    });
  });

  test('no request without credentials, or with wrong ones, is accepted, whatever else is in it', async () => {
    const reviews = new TestReviews(() => true);
    const { ask } = await bed.open({ reviews, file: anonymous() });
    const refused = { status: 401, body: 'Unauthorized', headers: { 'content-length': '12' } };
    expect(await ask('/pods', withToken('bad'))).toMatchObject(refused);
    expect(await ask('/pods', withToken('x'.repeat(70_000)))).toMatchObject(refused);
    expect(reviews.tokens).toEqual(['bad']);
    const stranger = new TestAuthority('evil-ca').keyPair({
      commonName: 'admin',
      organization: 'system:masters',
    });
    expect(await ask('/pods', stranger)).toMatchObject(refused);
    const old = clientCA.keyPair({ commonName: 'admin', notAfter: Date.now() - 1000 });
    expect(await ask('/pods', old)).toMatchObject(refused);
    expect(reviews.asked).toEqual([]);
    const strict = await bed.open({ reviews });
    expect(await strict.ask('/pods')).toMatchObject(refused);
    expect(await strict.ask('/healthz')).toMatchObject(refused);
  });

  test('a good token counts beside a client certificate that is not trusted', async () => {
    const { ask } = await bed.open({ reviews: new TestReviews() });
    const stranger = new TestAuthority('evil-ca').keyPair({ commonName: 'admin' });
    expect(await ask('/pods', { ...stranger, ...withToken('good') })).toMatchObject({ status: 200 });
  });

  test('anonymous requests are those of system:anonymous where that is enabled', async () => {
    const reviews = new TestReviews();
    const { ask } = await bed.open({ reviews, file: anonymous() });
    expect(await ask('/healthz')).toMatchObject({
      status: 403,
      body: 'Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[healthz proxy])\n',
      headers: { 'content-length': '92', 'content-type': 'text/plain; charset=utf-8' },
    });
    expect(reviews.asked[0]?.groups).toEqual(['system:unauthenticated']);
  });

  test('no request is accepted while the API server does not answer', async () => {
    const reviews = new TestReviews();
    reviews.isDown = true;
    const { ask, messages } = await bed.open({ reviews });
    expect(await ask('/pods', ADMIN)).toMatchObject({
      status: 500,
      body: 'Authorization error (user=admin, verb=get, resource=nodes, subresource=pods)',
    });
    expect(await ask('/pods', withToken('good'))).toMatchObject({ status: 401 });
    expect(messages).toEqual([expect.stringContaining('Authorization error (user=admin')]);
    reviews.isDown = false;
    expect(await ask('/pods', ADMIN)).toMatchObject({ status: 200 });
  });

  test('without the webhook no token is accepted; with AlwaysAllow a known user may do everything', async () => {
    const reviews = new TestReviews(() => false);
    const { ask } = await bed.open({
      reviews,
      file: { ...anonymous({ webhook: { enabled: false } }), authorization: { mode: 'AlwaysAllow' } },
    });
    expect(await ask('/pods', withToken('good'))).toMatchObject({ status: 200 });
    expect(await ask('/pods', ADMIN)).toMatchObject({ status: 200 });
    expect([reviews.tokens, reviews.asked]).toEqual([[], []]);
  });
});

const anonymous = (more: object = {}) => bed.authentication({ anonymous: { enabled: true }, ...more });

describe('outside a cluster', () => {
  test('every request is refused, even /healthz', async () => {
    const { ask } = await bed.open();
    expect(await ask('/healthz')).toMatchObject({ status: 401 });
    expect(await ask('/healthz', ADMIN)).toMatchObject({ status: 403 });
    expect(await ask('/pods')).toMatchObject({ status: 401 });
    expect(await ask('/pods', withToken('good'))).toMatchObject({ status: 401 });
    expect(await ask('/pods', ADMIN)).toMatchObject({ status: 403 });
    for (const target of ['/healthz/../pods', '/healthz%2f..%2fpods', '//pods', '/%2e%2e/pods', '/x/../pods'])
      expect([307, 404, 401]).toContain((await ask(target)).status);
  });

  test('with AlwaysAllow a client certificate is enough', async () => {
    const { ask } = await bed.open({ file: { authorization: { mode: 'AlwaysAllow' } } });
    expect(await ask('/pods', ADMIN)).toMatchObject({ status: 200 });
    expect(await ask('/pods')).toMatchObject({ status: 401 });
  });
});

describe('a path', () => {
  /** Read off a kubelet 1.36.2. */
  test.each([
    ['//pods', 307, '<a href="/pods">Temporary Redirect</a>.\n\n', '/pods'],
    ['/../pods', 307, '<a href="/pods">Temporary Redirect</a>.\n\n', '/pods'],
    ['/x/../healthz', 307, '<a href="/healthz">Temporary Redirect</a>.\n\n', '/healthz'],
    ['/pods/..?x=1&y', 307, '<a href="/?x=1&amp;y">Temporary Redirect</a>.\n\n', '/?x=1&y'],
    ['/a/./', 307, '<a href="/a/">Temporary Redirect</a>.\n\n', '/a/'],
    ['/pods/.', 307, '<a href="/pods">Temporary Redirect</a>.\n\n', '/pods'],
    ['/runningpods', 307, '<a href="/runningpods/">Temporary Redirect</a>.\n\n', '/runningpods/'],
    ['/logs', 307, '<a href="/logs/">Temporary Redirect</a>.\n\n', '/logs/'],
    ['/exec//%64efault', 307, '<a href="/exec/%2564efault">Temporary Redirect</a>.\n\n', '/exec/%2564efault'],
    ['/exec//a"b!', 307, '<a href="/exec/a%2522b%2521">Temporary Redirect</a>.\n\n', '/exec/a%2522b%2521'],
    ['/nothing', 404, '404 page not found\n', undefined],
    ['/', 404, '404 page not found\n', undefined],
    ['/healthz/', 404, '404 page not found\n', undefined],
    ['/healthz/x', 404, '404 page not found\n', undefined],
    ['/healthz%2Fping', 404, '404 page not found\n', undefined],
    ['/healthz%00', 404, '404 page not found\n', undefined],
    ['/%2e%2e/pods', 404, '404 page not found\n', undefined],
    ['/containerLogs%2Fa%2Fb%2Fc', 404, '404 page not found\n', undefined],
    ['/healthz%zz', 400, '400 Bad Request', undefined],
    ['/pods/x', 401, 'Unauthorized', undefined],
    ['/exec', 401, 'Unauthorized', undefined],
  ])('%s is answered with %d before the sender is known', async (target, status, body, location) => {
    const { ask } = await bed.open({ reviews: new TestReviews() });
    const found = await ask(target);
    expect(found).toMatchObject({ status, body });
    expect(found.headers.location).toBe(location);
  });

  test('only a page has a type: the redirect of a POST has none', async () => {
    const { ask } = await bed.open({ reviews: new TestReviews() });
    const types = async (method: string) => (await ask('//pods', { method })).headers['content-type'];
    expect([await types('GET'), await types('POST')]).toEqual(['text/html; charset=utf-8', undefined]);
  });

  test.each([
    ['/pods/', 200, '"/pods"'],
    ['/%68ealthz', 200, '"/healthz"'],
    ['/containerLogs/a%2Fb/c', 200, '{"namespace":"a","pod":"b","container":"c"}'],
    ['/containerLogs/a/b/c/', 200, '{"namespace":"a","pod":"b","container":"c"}'],
    ['/containerLogs/a/b/c/d', 404, '404: Page Not Found'],
    ['/pods/x', 404, '404: Page Not Found'],
    ['/logs/a/b', 200, '{"*":"a/b"}'],
  ])('%s is answered with %d to an authorized client', async (target, status, body) => {
    const { ask } = await bed.open({ reviews: new TestReviews() });
    const found = await ask(target, ADMIN);
    expect(found.status).toBe(status);
    expect(found.body).toContain(body);
  });

  test('with another method is 405, with the kubelet’s headers', async () => {
    const { ask } = await bed.open({ reviews: new TestReviews() });
    const found = await ask('/pods', { ...ADMIN, method: 'PUT' });
    expect(found).toMatchObject({ status: 405, body: '405: Method Not Allowed', headers: { allow: 'GET' } });
    expect(found.headers.connection).toBeUndefined();
    expect(await ask('//pods', { method: 'POST' })).toMatchObject({ status: 307, body: '' });
  });
});

describe('the certificate', () => {
  test('is loaded as soon as its files have changed, and the old one stays while they do not fit together', async () => {
    const { tls, messages } = await bed.open();
    const serial = async () => (await tls()).getPeerCertificate().serialNumber;
    const first = await serial();
    const next = serverCA.keyPair(SERVER_NAMES);
    bed.write('tls.crt', next.cert);
    await waitFor(async () => ((await serial()) === first && messages.length > 0) || undefined, {
      what: 'the warning',
    });
    expect(messages).toEqual([expect.stringContaining('stays in use')]);
    expect(messages.join()).not.toContain('PRIVATE');
    bed.write('tls.key', next.key);
    await waitFor(async () => (await serial()) !== first, { what: 'the new certificate' });
  });

  test('that does not exist makes handshakes fail, until there is one', async () => {
    const pairs: KeyPair[] = [];
    const { tls } = await bed.open({ certificate: () => Promise.resolve(pairs[0]) });
    await expect(tls()).rejects.toThrow(/alert handshake failure/u);
    pairs.push(serverCA.keyPair(SERVER_NAMES));
    await waitFor(
      () =>
        tls().then(
          () => true,
          () => undefined,
        ),
      { what: 'a handshake' },
    );
  });

  test('that is invalid when the server is opened is an error with the reason', async () => {
    const none = pairOfFiles(bed.path('none.crt'), bed.path('tls.key'));
    await expect(bed.open({ certificate: none })).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringContaining('none.crt'),
    });
    const authentication = { x509: { clientCAFile: bed.write('empty.crt', '') } };
    await expect(bed.open({ file: { authentication } })).rejects.toThrow(
      /empty\.crt holds no certificate in PEM/u,
    );
  });

  test('of a client is checked against the present authorities', async () => {
    const { ask, messages } = await bed.open({ reviews: new TestReviews(() => true) });
    const other = new TestAuthority('other-ca');
    const someone = other.keyPair({ commonName: 'someone' });
    expect(await ask('/pods', someone)).toMatchObject({ status: 401 });
    bed.write('client-ca.crt', other.cert);
    await waitFor(async () => (await ask('/pods', someone)).status === 200, { what: 'the new client CA' });
    expect(await ask('/pods', ADMIN)).toMatchObject({ status: 401 });
    bed.write('client-ca.crt', 'garbage');
    await waitFor(
      async () => {
        expect((await ask('/pods', someone)).status).toBe(200);
        return messages.length > 0;
      },
      { what: 'the warning' },
    );
  });
});

describe('TLS', () => {
  test('speaks HTTP/1.1 over TLS 1.2 at least, without sessions that could be resumed', async () => {
    const { tls } = await bed.open();
    const socket = await tls({ ALPNProtocols: ['h2', 'http/1.1'] });
    expect([socket.alpnProtocol, socket.getProtocol()]).toEqual(['http/1.1', 'TLSv1.3']);
    const old = await tls({ maxVersion: 'TLSv1.2' });
    expect([old.getProtocol(), old.getTLSTicket()]).toEqual(['TLSv1.2', undefined]);
    await expect(
      tls({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    ).rejects.toThrow();
  });

  test('has the version, suites and curves of the settings', async () => {
    const { tls } = await bed.open({
      file: { tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'], tlsCurvePreferences: [24] },
    });
    const socket = await tls({ maxVersion: 'TLSv1.2' });
    expect(socket.getCipher().standardName).toBe('TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384');
    expect(socket.getEphemeralKeyInfo()).toMatchObject({ name: 'secp384r1' });
    await expect(tls({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' })).rejects.toThrow();
    const newest = await bed.open({ file: { tlsMinVersion: 'VersionTLS13' } });
    await expect(newest.tls({ maxVersion: 'TLSv1.2' })).rejects.toThrow();
  });
});

describe('handlers', () => {
  test('for debugging can be switched off', async () => {
    const { ask } = await bed.open({ reviews: new TestReviews(), file: { enableDebuggingHandlers: false } });
    const disabled = { status: 405, body: 'Debug endpoints are disabled.\n' };
    for (const target of ['/containerLogs/a/b/c', '/runningpods/', '/exec/a/b/c', '/logs/', '/debug/pprof/'])
      expect(await ask(target, ADMIN)).toMatchObject(disabled);
    expect(await ask('/exec', ADMIN)).toMatchObject({ status: 307, headers: { location: '/exec/' } });
    for (const target of ['/configz', '/checkpoint/a/b/c', '/debug/flags/v'])
      expect(await ask(target)).toMatchObject({ status: 404, body: '404 page not found\n' });
    for (const target of ['/pods', '/healthz', '/metrics'])
      expect(await ask(target, ADMIN)).toMatchObject({ status: 200 });
  });

  test.each([
    ['enableSystemLogHandler', '/logs/', 'logs endpoint is disabled.\n'],
    ['enableProfilingHandler', '/debug/pprof/heap', 'profiling endpoint is disabled.\n'],
    ['enableDebugFlagsHandler', '/debug/flags/v', 'flags endpoint is disabled.\n'],
  ])('can be switched off one by one: %s', async (field, path, body) => {
    const { ask } = await bed.open({ reviews: new TestReviews(), file: { [field]: false } });
    expect(await ask(path, ADMIN)).toMatchObject({ status: 405, body });
    expect(await ask('/containerLogs/a/b/c', ADMIN)).toMatchObject({ status: 200 });
  });

  test('of the read-only port are open to all, without those for debugging', async () => {
    const readOnlyPort = await freePort();
    const { messages } = await bed.open({ port: undefined, file: { readOnlyPort } });
    const get = async (target: string) => {
      const response = await fetch(`http://127.0.0.1:${readOnlyPort}${target}`, { redirect: 'manual' });
      return [response.status, await response.text()];
    };
    expect((await get('/pods'))[0]).toBe(200);
    expect((await get('/metrics'))[0]).toBe(200);
    expect(await get('/containerLogs/a/b/c')).toEqual([405, 'Debug endpoints are disabled.\n']);
    expect(await get('/configz')).toEqual([404, '404 page not found\n']);
    expect(messages).toEqual([expect.stringContaining('readOnlyPort is set')]);
  });
});

describe('the server', () => {
  test('names address and flag when the port cannot be bound', async () => {
    const { port } = await bed.open();
    await expect(bed.open({ port })).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(`127\\.0\\.0\\.1:${port}: the port is in use.*--port`),
    });
  });

  test('closes also connections that another protocol has taken over', async () => {
    const upgrades: Route = {
      path: '/pods',
      handle: () => undefined,
      upgrade: (_, socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    };
    const { server, tls } = await bed.open({ routes: [upgrades], reviews: new TestReviews() });
    const socket = await tls(ADMIN);
    socket.write('GET /pods HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: any\r\n\r\n');
    await once(socket, 'data');
    const ended = once(socket, 'close');
    await server.close();
    await ended;
  });
});

test('each request is measured until its answer has ended, also one that is refused', async () => {
  const measurements = new RecordedMeasurements();
  const { ask } = await bed.open({ reviews: new TestReviews() }, measurements);
  expect(await ask('/pods?limit=1', ADMIN)).toMatchObject({ status: 200 });
  expect(await ask('/secret', withToken('bad'))).toMatchObject({ status: 404 });
  await waitFor(() => measurements.told.length === 4, { what: 'the ends of both requests' });
  expect(measurements.told.toSorted()).toEqual([
    'GET /pods begins',
    'GET /pods ends',
    'GET /secret begins',
    'GET /secret ends',
  ]);
});
