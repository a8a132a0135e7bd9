import { expect, test } from '@jest/globals';
import { credentialsText } from '../../../src/policies/images/image-credentials.ts';
import {
  badSecretMessage,
  missingSecretsMessage,
  pullSecretNames,
  readPullSecret,
} from '../../../src/policies/images/pull-secrets.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const secret = (type: string, key: string, content: unknown) => ({
  type,
  data: { [key]: base64(typeof content === 'string' ? content : JSON.stringify(content)) },
});
const entry = { 'quay.io': { username: 'me', password: 'pässwörd' } };

test.each([
  [secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', { auths: entry })],
  [secret('kubernetes.io/dockercfg', '.dockercfg', entry)],
])('a Secret has credentials: %#', (given) => {
  const { credentials, problems } = readPullSecret(given);
  expect(problems).toEqual([]);
  expect(credentials.map(({ hostPattern, auth }) => [hostPattern, auth])).toEqual([
    ['quay.io', entry['quay.io']],
  ]);
});

test.each([
  [secret('Opaque', '.dockerconfigjson', { auths: entry })],
  [secret('kubernetes.io/dockerconfigjson', '.dockercfg', entry)],
  [secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', '')],
  [secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', {})],
  [{ type: 'kubernetes.io/dockercfg' }],
  [{}],
])('a Secret has none, and is no problem: %#', (given) => {
  expect(readPullSecret(given)).toEqual({ credentials: [], problems: [] });
});

test.each([
  ['{secret', '.dockerconfigjson: is not valid JSON'],
  ['["secret"]', '.dockerconfigjson: must be an object'],
  ['{"auths":"secret"}', '.dockerconfigjson: auths: must be an object'],
  [
    '{"auths":{"quay.io":{"auth":"secret!"}}}',
    '.dockerconfigjson: auths["quay.io"].auth: must be base64 of USER:PASSWORD',
  ],
])('a malformed Secret has a problem that does not quote it: %s', (text, problem) => {
  const given = secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', text);
  expect(readPullSecret(given)).toEqual({ credentials: [], problems: [problem] });
});

test('credential helpers are a problem only where there are no credentials beside them', () => {
  const read = (content: object) =>
    readPullSecret(secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', content)).problems;
  expect(read({ auths: entry, credsStore: 'desktop' })).toEqual([]);
  expect(read({ auths: { 'quay.io': {} }, credsStore: 'desktop' })).toEqual([
    '.dockerconfigjson: credsStore: credential helpers are not run; put the credentials into auths',
  ]);
});

test('names that are empty are left out', () => {
  expect(pullSecretNames([{ name: 'a' }, { name: '' }, {}, { name: 'b' }])).toEqual(['a', 'b']);
  expect(pullSecretNames(undefined)).toEqual([]);
});

test('the events', () => {
  expect(missingSecretsMessage(['a', 'b'])).toBe(
    'Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed.',
  );
  expect(badSecretMessage('a', ['x', 'y'])).toBe(
    'Unable to use image pull secret a: x; y; attempting to pull the image may not succeed.',
  );
});

test('the text that is hashed is the one that Go writes', () => {
  const auth = { username: 'puller', password: 'se<c>ret' };
  expect(credentialsText({ auth, email: 'x@y' })).toBe(
    String.raw`{"username":"puller","password":"se\u003cc\u003eret","email":"x@y"}`,
  );
  expect(credentialsText({ auth: { username: 'me', password: '' } })).toBe('{"username":"me"}');
});
