import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { resolveConfig, type RunFlags } from '../../../src/agent/config/config.ts';
import { thisHost } from '../../../src/agent/config/root-folder.ts';
import { loadConfiguration } from '../../../src/agent/config/load-configuration.ts';
import {
  ALL_SERVER_SETTINGS,
  opensPorts,
  resolveServerSettings,
  securePort,
} from '../../../src/agent/config/load-server-settings.ts';
import { parseSetting } from '../../../src/agent/config/setting.ts';

const resolve = (flags: Record<string, unknown> = {}, file: Record<string, unknown> = {}) =>
  resolveServerSettings({ flags, file, fileName: 'kubelet.yaml' });
const setting = (flag: string) => ALL_SERVER_SETTINGS.find((row) => row.flag?.startsWith(`${flag} `))!;

test("without flags and file everything is the default of the kubelet's file, and the port depends on the cluster", () => {
  expect(resolve()).toEqual({
    enableServer: true,
    address: '0.0.0.0',
    port: undefined,
    readOnlyPort: 0,
    tlsCertFile: '',
    tlsPrivateKeyFile: '',
    tlsMinVersion: '',
    tlsCipherSuites: [],
    tlsCurvePreferences: [],
    clientCAFile: '',
    tokenWebhook: true,
    tokenCacheTTLMs: 120_000,
    anonymousAuth: false,
    authorizationMode: 'Webhook',
    authorizedTTLMs: 300_000,
    unauthorizedTTLMs: 30_000,
    enableDebuggingHandlers: true,
    streamingConnectionIdleTimeoutMs: 14_400_000,
    enableSystemLogHandler: true,
    enableSystemLogQuery: false,
    enableProfilingHandler: true,
    enableDebugFlagsHandler: true,
  });
});

test('fields in objects of the file are read, and a flag overrides them', () => {
  const file = {
    authentication: {
      x509: { clientCAFile: '/ca' },
      webhook: { cacheTTL: '1m' },
      anonymous: { enabled: true },
    },
    authorization: { mode: 'AlwaysAllow', webhook: { cacheUnauthorizedTTL: '0s' } },
  };
  expect(resolve({ anonymousAuth: false }, file)).toMatchObject({
    clientCAFile: '/ca',
    tokenCacheTTLMs: 60_000,
    anonymousAuth: false,
    authorizationMode: 'AlwaysAllow',
    unauthorizedTTLMs: 30_000,
  });
});

test('relative paths of the file are relative to its folder', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-settings-'));
  const file = join(dir, 'kubelet.yaml');
  writeFileSync(
    file,
    `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
tlsCertFile: a.crt
tlsPrivateKeyFile: /b.key
authentication: {x509: {clientCAFile: ca/c.crt}}
`,
  );
  const { configuration, warnings } = await loadConfiguration(file);
  expect(resolve({}, { ...configuration })).toMatchObject({
    tlsCertFile: join(dir, 'a.crt'),
    tlsPrivateKeyFile: '/b.key',
    clientCAFile: join(dir, 'ca/c.crt'),
  });
  expect(warnings).toEqual([]);
  rmSync(dir, { recursive: true });
});

describe('the port', () => {
  test('is a number, or auto for any free one; 0 in the file is the default', () => {
    expect(parseSetting(setting('--port'), 'auto')).toBe(0);
    expect(parseSetting(setting('--port'), '10450')).toBe(10_450);
    expect(() => parseSetting(setting('--port'), 'any')).toThrow('It must be a port, or "auto".');
    expect(resolve({}, { port: 0 }).port).toBeUndefined();
    expect(resolve({}, { port: 10_450 }).port).toBe(10_450);
    expect(() => resolve({ port: 70_000 })).toThrow('--port: must be from 0 to 65535 (got 70000)');
  });
});

describe('a value that is not valid is refused by flag or field', () => {
  test.each([
    [{ tlsMinVersion: 'TLS1.2' }, {}, /^--tls-min-version: must be one of VersionTLS10, .*\(got TLS1\.2\)$/u],
    [{}, { tlsCipherSuites: ['AES128'] }, /^kubelet\.yaml: tlsCipherSuites: must be .*AES128 is unknown/u],
    [
      { tlsCipherSuites: ['TLS_RSA_WITH_RC4_128_SHA'] },
      {},
      /^--tls-cipher-suites: .*RC4_128_SHA is broken, and no longer offered/u,
    ],
    [
      {},
      { tlsCurvePreferences: [29, 1] },
      /^kubelet\.yaml: tlsCurvePreferences: .*29 \(X25519\).*1 is unknown/u,
    ],
    [{ authorizationMode: 'RBAC' }, {}, /^--authorization-mode: must be Webhook or AlwaysAllow/u],
    [
      { tlsCertFile: '/a' },
      {},
      /^tlsCertFile: tlsPrivateKeyFile \(--tls-private-key-file\) must be given too$/u,
    ],
    [
      { tlsPrivateKeyFile: '/a' },
      {},
      /^tlsPrivateKeyFile: tlsCertFile \(--tls-cert-file\) must be given too$/u,
    ],
  ])('%j %j', (flags, file, message) => {
    expect(() => resolve(flags, file)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(message) }),
    );
  });
});

const configOf = (flags: RunFlags, file: object = {}) => resolveConfig(flags, file, thisHost());

test('without a cluster no port is opened unless one is asked for', () => {
  const config = configOf({});
  expect([securePort(config), opensPorts(config)]).toEqual([undefined, false]);
  const asked = configOf({}, { port: 10_999 });
  expect([securePort(asked), opensPorts(asked)]).toEqual([10_999, true]);
  const readOnly = configOf({}, { readOnlyPort: 10_255 });
  expect([securePort(readOnly), opensPorts(readOnly)]).toEqual([undefined, true]);
});

test("a node of a cluster opens the kubelet's port, unless the server is off", () => {
  const config = configOf({ kubeconfig: '/none' });
  expect([securePort(config), opensPorts(config)]).toEqual([10_250, true]);
  expect(opensPorts(configOf({ kubeconfig: '/none' }, { enableServer: false }))).toBe(false);
});
