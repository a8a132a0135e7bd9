import { describe, expect, test } from '@jest/globals';
import {
  announcesSecret,
  hasSecretValues,
  isCommandField,
  isSecretField,
  mayBeSecret,
  redactText,
  shownURL,
} from '../../../../src/agent/policies/formats/secret-fields.ts';

test.each(
  [
    ['password', 'identityToken', 'registryToken', 'serviceAccountToken', 'apiKey', 'privateKey'],
    [
      'imagePullSecrets',
      'secret',
      'secretRef',
      'stringData',
      'auth',
      'auths',
      'Authorization',
      'envFrom',
      'credentials',
    ],
  ].flat(),
)('%s is a secret field', (name) => {
  expect(isSecretField(name)).toBe(true);
});

test.each(['name', 'image', 'tokenExpirationSeconds', 'author', 'env', 'secretName', 'key'])(
  '%s is no secret field',
  (name) => {
    expect(isSecretField(name)).toBe(false);
  },
);

test('the values of environment variables and HTTP headers are secret, their names are not', () => {
  expect(['env', 'envs', 'httpHeaders', 'labels'].map(hasSecretValues)).toEqual([true, true, true, false]);
});

test('command lines may hold secrets', () => {
  expect(['command', 'args', 'workingDir'].map(isCommandField)).toEqual([true, true, false]);
});

test.each([
  [['spec', 'containers', '0', 'env', '1', 'value'], true],
  [['spec', 'containers', '0', 'livenessProbe', 'exec', 'command', '2'], true],
  [['metadata', 'annotations', 'note'], true],
  [['spec', 'imagePullSecrets', '0', 'name'], true],
  [['spec', 'containers', '0', 'image'], false],
  [['metadata', 'labels', 'app'], false],
])('a value at %j may be secret: %s', (path, want) => {
  expect(mayBeSecret(path)).toBe(want);
});

describe('a text without its secrets', () => {
  test.each([
    ['--db-password=x --user=me', '--db-password=*** --user=me'],
    ['MY_TOKEN_FILE = x', 'MY_TOKEN_FILE = ***'],
    ["curl -H 'Authorization: Bearer abc' host", "curl -H 'Authorization: Bearer ***' host"],
    ['authorization: bearer', 'authorization: ***'],
    ['{"apiKey": "x", "b": "y"}', '{"apiKey": "***", "b": "y"}'],
    ['token=secret=x secret:y', 'token=*** secret:***'],
    ['the token is here', 'the token is here'],
    ['tokentoken=', 'tokentoken='],
    ['get https://me:pw@host/x?token=y', 'get https://***@host/x?token=***'],
  ])('%j is %j', (text, redacted) => {
    expect(redactText(text)).toBe(redacted);
  });

  test.each([
    ['no secret', 'x'],
    ['names without values', 'token'],
    ['names and signs', 'token '],
    ['names and quotes', 'token"'],
  ])('also a word of a megabyte: %s', (_what, part) => {
    const word = part.repeat(1_000_000 / part.length);
    expect(redactText(word)).toBe(word);
    expect(redactText(`${word}-token=x`)).toBe(`${word}-token=***`);
  });

  test('a word that announces a secret is an option with such a name', () => {
    const words = [
      '--password',
      '-token',
      '--my-api_key',
      'password',
      '--password=x',
      '--pass word',
      '--name',
    ];
    expect(words.filter(announcesSecret)).toEqual(['--password', '-token', '--my-api_key']);
    expect(announcesSecret(`--${'token'.repeat(200_000)}!`)).toBe(false);
  });
});

test.each([
  ['https://example.com:8443/pods.yaml', 'https://example.com:8443/pods.yaml'],
  ['https://me:hunter2@example.com/pods.yaml', 'https://example.com/pods.yaml'],
  ['https://me:hunt@er2@example.com', 'https://example.com'],
  ['HTTP://me@example.com/a@b', 'HTTP://example.com/a@b'],
  ['https://example.com/pods?token=hunter2', 'https://example.com/pods?…'],
  ['https://me:hunter2@example.com/pods?token=hunter2#x?y', 'https://example.com/pods?…'],
])('%s is shown as %s', (url, shown) => {
  expect(shownURL(url)).toBe(shown);
});
