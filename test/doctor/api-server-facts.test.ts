/** Certificates of files and kubeconfigs, and a real HTTPS server in the API server's place. */
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { resolveConfig } from '../../src/agent/config/config.ts';
import { apiServerFacts, certificateReport } from '../../src/doctor/api-server-facts.ts';
import { apiServerFindings, certificateFindings } from '../../src/doctor/policies/certificate-findings.ts';
import { TestAuthority } from '../support/certificate-authority.ts';

const HOUR = 3_600_000;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-certificates-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const authority = new TestAuthority();
const put = (name: string, text: string) => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

async function look(flags: Readonly<Record<string, unknown>>) {
  const report = await certificateReport(resolveConfig({ hostnameOverride: 'node', ...flags }));
  return { report, findings: certificateFindings({ ...report, nowMs: Date.now() }) };
}

describe('the serving certificate', () => {
  async function findings(cert: string, key: string) {
    const files = { tlsCertFile: put('tls.crt', cert), tlsPrivateKeyFile: put('tls.key', key) };
    return (await look({ port: 0, ...files })).findings;
  }

  test('is fine, has expired, or has another key', async () => {
    const good = authority.keyPair({ notAfter: Date.now() + 999 * HOUR });
    const old = authority.keyPair({ notBefore: Date.now() - 2 * HOUR, notAfter: Date.now() - HOUR });
    expect(await findings(good.cert, good.key)).toMatchObject([{ status: 'ok' }]);
    expect(await findings(old.cert, old.key)).toMatchObject([
      { status: 'error', message: expect.stringMatching(/tls\.crt expired at/u) },
    ]);
    expect(await findings(good.cert, old.key)).toMatchObject([
      { status: 'error', message: expect.stringContaining('not that of its certificate') },
    ]);
    expect(await findings('nonsense', good.key)).toMatchObject([
      { status: 'error', message: expect.stringContaining('holds no certificate in PEM') },
    ]);
  });

  test('and the authority of clients may be missing', async () => {
    const { findings } = await look({ port: 0, clientCaFile: join(dir, 'none.crt') });
    expect(findings).toMatchObject([
      { status: 'error', message: `authority of clients ${dir}/none.crt does not exist` },
    ]);
  });

  test('matters only where a port is opened', async () => {
    const { findings } = await look({ tlsCertFile: join(dir, 'none'), tlsPrivateKeyFile: join(dir, 'none') });
    expect(findings).toMatchObject([{ status: 'ok', message: 'none is given' }]);
  });
});

describe('the kubeconfig', () => {
  const kubeconfig = (server: string, ca: string, user: object = {}) =>
    put(
      'kubeconfig',
      JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': btoa(ca) } }],
        users: [{ name: 'u', user }],
      }),
    );
  const user = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
    'client-certificate-data': btoa(cert),
    'client-key-data': btoa(key),
  });

  test('its client certificate has expired', async () => {
    const old = authority.keyPair({ notBefore: Date.now() - 2 * HOUR, notAfter: Date.now() - HOUR });
    const path = kubeconfig('https://127.0.0.1:1', authority.cert, user(old));
    const { findings } = await look({ kubeconfig: path });
    expect(findings).toContainEqual(
      expect.objectContaining({
        status: 'error',
        message: expect.stringMatching(
          /^client certificate .*kubeconfig: users\[u\]\.user\.client-certificate-data expired/u,
        ),
      }),
    );
  });

  test('it is missing, broken, or still to be asked for', async () => {
    const missing = join(dir, 'none');
    expect((await look({ kubeconfig: missing })).findings).toMatchObject([
      { status: 'error', message: `${missing} does not exist` },
    ]);
    const broken = put('broken', 'current-context: [');
    expect((await look({ kubeconfig: broken })).findings).toMatchObject([
      { status: 'error', message: expect.stringContaining('is no valid YAML at line 1') },
    ]);
    const bootstrapKubeconfig = kubeconfig('https://127.0.0.1:1', authority.cert, { token: 'a.b' });
    const { report } = await look({ kubeconfig: missing, bootstrapKubeconfig });
    expect(report.kubeconfig?.path).toBe(bootstrapKubeconfig);
    expect(report.problems).toEqual([]);
  });

  test('no secret of it is shown', async () => {
    const path = kubeconfig('https://127.0.0.1:1', authority.cert, { token: 'very-secret' });
    chmodSync(path, 0o600);
    const { report, findings } = await look({ kubeconfig: path });
    const server = report.kubeconfig && (await apiServerFacts(report.kubeconfig));
    expect(JSON.stringify([findings, server])).not.toContain('very-secret');
  });

  test.each([
    { words: 'answers at the right time', offMs: 0, ca: authority, statuses: ['ok', 'ok'] },
    { words: 'has another time', offMs: -HOUR, ca: authority, statuses: ['ok', 'warning'] },
    {
      words: 'is signed by another authority',
      offMs: 0,
      ca: new TestAuthority(),
      statuses: ['error', 'unknown'],
    },
  ])('its server $words', async ({ offMs, ca, statuses }) => {
    const pair = authority.keyPair({ ipAddresses: ['127.0.0.1'] });
    const server = createServer(pair, (_request, response) => {
      response.sendDate = false;
      response.writeHead(401, { date: new Date(Date.now() + offMs).toUTCString() }).end('{}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as { readonly port: number };
      const { report } = await look({ kubeconfig: kubeconfig(`https://127.0.0.1:${port}`, ca.cert) });
      const facts = report.kubeconfig && (await apiServerFacts(report.kubeconfig));
      const findings = apiServerFindings(facts);
      expect(findings.map(({ status }) => status)).toEqual(statuses);
      if (statuses[0] === 'error')
        expect(findings[0]?.message).toContain('certificate-authority of the kubeconfig');
    } finally {
      server.close();
    }
  });

  test('its server does not answer', async () => {
    const { report } = await look({ kubeconfig: kubeconfig('https://127.0.0.1:1', authority.cert) });
    const facts = report.kubeconfig && (await apiServerFacts(report.kubeconfig));
    expect(apiServerFindings(facts)[0]).toMatchObject({
      status: 'error',
      message: expect.stringContaining('127.0.0.1:1'),
    });
  });
});
