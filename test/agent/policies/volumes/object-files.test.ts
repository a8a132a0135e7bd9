import { describe, expect, test } from '@jest/globals';
import {
  configMapFiles,
  credentialFile,
  fileReaders,
  secretFiles,
  selectedBundles,
  trustAnchors,
} from '../../../../src/agent/policies/volumes/object-files.ts';
import type { ClusterTrustBundle, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';

const configMap = { data: { a: 'text', both: 'text' }, binaryData: { both: 'AP8=' } };

describe('configMapFiles', () => {
  test('are one for each key; binary data counts more than text', () => {
    expect(configMapFiles(configMap, {}, 0o644)).toEqual([
      { path: 'a', content: 'text', mode: 0o644 },
      { path: 'both', content: Uint8Array.of(0, 255), mode: 0o644 },
    ]);
  });

  test('are those of the items where there are items, with their modes', () => {
    const items = [
      { key: 'a', path: 'dir/x', mode: 0o600 },
      { key: 'a', path: 'y' },
    ];
    expect(configMapFiles(configMap, { items }, 0o644)).toEqual([
      { path: 'dir/x', content: 'text', mode: 0o600 },
      { path: 'y', content: 'text', mode: 0o644 },
    ]);
  });

  test('need all their keys, unless the source is optional', () => {
    const items = [{ key: 'none', path: 'x' }];
    expect(() => configMapFiles(configMap, { items }, 0o644)).toThrow(
      'configmap references non-existent config key: none',
    );
    expect(configMapFiles(configMap, { items, optional: true }, 0o644)).toEqual([]);
  });
});

test('the files of a Secret are its decoded data', () => {
  const secret = { data: { password: 'w6k=' } };
  expect(secretFiles(secret, {}, 0o400)).toEqual([
    { path: 'password', content: Uint8Array.of(0xc3, 0xa9), mode: 0o400 },
  ]);
  expect(() => secretFiles(secret, { items: [{ key: 'k', path: 'x' }] }, 0o400)).toThrow(
    'references non-existent secret key: k',
  );
});

test.each<[string, Partial<PodSpec>, object]>([
  ['all, where the pod names nobody', {}, { mode: 0o644 }],
  ['the group of the volumes', { securityContext: { fsGroup: 5 } }, { mode: 0o600 }],
  ['the user of all containers', { securityContext: { runAsUser: 7 } }, { mode: 0o600, owner: 7 }],
  [
    'the user of all containers, also while an ephemeral one of another user looks at them',
    {
      securityContext: { runAsUser: 7 },
      ephemeralContainers: [{ name: 'debug', securityContext: { runAsUser: 0 } }],
    },
    { mode: 0o600, owner: 7 },
  ],
  [
    'all, where containers have different users',
    {
      securityContext: { runAsUser: 7 },
      initContainers: [{ name: 'init', securityContext: { runAsUser: 8 } }],
    },
    { mode: 0o644 },
  ],
])('a token is readable for %s', (_, spec, wanted) => {
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'ns', uid: 'u-1' },
    spec: { containers: [{ name: 'main' }], ...spec },
  };
  const file = credentialFile('token', 'secret', fileReaders(pod), 0o644);
  expect(file).toEqual({ path: 'token', content: 'secret', ...wanted });
});

test('a key that many items name is decoded once, and no other key is', () => {
  const asked: string[] = [];
  const texts: Readonly<Record<string, string>> = { large: 'AAAA', other: 'not base64 at all!' };
  const data = new Proxy(texts, {
    get: (target, key) => {
      asked.push(String(key));
      return target[String(key)];
    },
  });
  const items = Array.from({ length: 1_000 }, (_, index) => ({ key: 'large', path: `f${index}` }));
  const files = secretFiles({ data }, { items }, 0o400);
  expect(new Set(files.map(({ content }) => content)).size).toBe(1);
  expect(asked).toEqual(['large']);
});

const pem = (body: string, type = 'CERTIFICATE') =>
  `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`;

const bundle = (
  name: string,
  trustBundle: string,
  signerName?: string,
  labels?: Record<string, string>,
): ClusterTrustBundle => ({
  metadata: { name, ...(labels && { labels }) },
  spec: { trustBundle, ...(signerName !== undefined && { signerName }) },
});

const LONG = 'QUJD'.repeat(40);

test('certificates of several bundles are shown once each, whatever is written around them', () => {
  const one = bundle('one', `subject: one\n${pem('AAAA')}# and\r\n${pem('BBBB').replaceAll('\n', '\r\n')}`);
  const two = bundle('two', `${pem('BBBB', 'X509 CERTIFICATE')}${pem('AA\nAA')}no certificate`);
  expect(trustAnchors([one, two])).toBe(pem('AAAA') + pem('BBBB'));
  expect(trustAnchors([two, one])).toBe(pem('AAAA') + pem('BBBB'));
});

test('lines have 64 characters', () => {
  const lines = trustAnchors([bundle('long', pem(LONG))]).split('\n');
  expect(lines.slice(1, 4).map((line) => line.length)).toEqual([64, 64, 32]);
  expect(lines.slice(1, 4).join('')).toBe(LONG);
});

test('what is no PEM is left out, and nothing is nothing', () => {
  expect(trustAnchors([bundle('bad', `${pem('A=A')}${pem('')}-----BEGIN CERTIFICATE-----\nAAAA`)])).toBe('');
  expect(trustAnchors([])).toBe('');
});

test('bundles are selected by name, or by signer and labels', () => {
  const all = [
    bundle('plain', ''),
    bundle('a', '', 'example.com/s', { tier: 'front' }),
    bundle('b', '', 'example.com/s', { tier: 'back' }),
    bundle('c', '', 'example.com/other', { tier: 'front' }),
  ];
  const names = (selection: Omit<Parameters<typeof selectedBundles>[1], 'path'>) =>
    selectedBundles(all, { path: 'ca.pem', ...selection }).map(({ metadata }) => metadata?.name);
  const signerName = 'example.com/s';
  const matchExpressions = (operator: string, values?: string[]) => ({
    matchExpressions: [{ key: 'tier', operator, ...(values && { values }) }],
  });
  expect(names({ name: 'a' })).toEqual(['a']);
  expect(names({ name: 'none' })).toEqual([]);
  expect(names({ signerName })).toEqual([]);
  expect(names({ signerName, labelSelector: {} })).toEqual(['a', 'b']);
  expect(names({ signerName, labelSelector: { matchLabels: { tier: 'back' } } })).toEqual(['b']);
  expect(names({ signerName, labelSelector: matchExpressions('In', ['front']) })).toEqual(['a']);
  expect(names({ signerName, labelSelector: matchExpressions('NotIn', ['front']) })).toEqual(['b']);
  expect(names({ signerName, labelSelector: matchExpressions('Exists') })).toEqual(['a', 'b']);
  expect(names({ signerName, labelSelector: matchExpressions('DoesNotExist') })).toEqual([]);
  expect(names({ signerName, labelSelector: matchExpressions('Near') })).toEqual([]);
});
