import { describe, expect, test } from '@jest/globals';
import {
  configMapFiles,
  credentialFile,
  fileReaders,
  secretFiles,
} from '../../../src/policies/volumes/object-files.ts';
import type { Pod, PodSpec } from '../../../src/types/kubernetes.ts';

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
