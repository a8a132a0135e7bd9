import { describe, expect, test } from '@jest/globals';
import {
  badSecretMessage,
  credentialsText,
  type DockerConfigFormat,
  matchingCredentials,
  missingSecretsMessage,
  pullSecretNames,
  readDockerConfig,
  readPullSecret,
} from '../../../../src/agent/policies/images/image-credentials.ts';
import { parseImageReference } from '../../../../src/agent/policies/images/image-reference.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** The credentials for the image, in order. Each place in the file has a user with the name of the place. */
function usersFor(image: string, ...places: string[]): readonly (string | undefined)[] {
  const auths = Object.fromEntries(places.map((place) => [place, { username: place, password: 'p' }]));
  const { credentials } = readDockerConfig({ auths }, 'config.json')!;
  return matchingCredentials(credentials, parseImageReference(image)).map(({ auth }) => auth.username);
}

describe('credentials are for a registry', () => {
  test.each([
    ['the host', 'quay.io/a/b', 'quay.io'],
    ['the host with a scheme', 'quay.io/a/b', 'https://quay.io'],
    ['the host with an API version', 'quay.io/a/b', 'https://quay.io/v2/'],
    ['host and port', 'quay.io:5000/a', 'http://quay.io:5000'],
    ['a beginning of the path', 'quay.io/a/b', 'quay.io/a'],
    ['the whole path', 'quay.io/a/b', 'https://quay.io/v1/a/b'],
    ['Docker Hub by its index', 'busybox', 'https://index.docker.io/v1/'],
    ['Docker Hub by its name', 'docker.io/team/app', 'docker.io'],
    ['a path of Docker Hub', 'busybox', 'docker.io/library'],
    ['any text in one label', 'a.quay.io/b', '*.quay.io'],
    ['one character', 'r1.quay.io/b', 'r?.quay.io'],
    ['one of a range', 'r1.quay.io/b', 'r[0-4].quay.io'],
    ['none of a range', 'r1.quay.io/b', 'r[^2-4].quay.io'],
    ['several texts in one label', 'aXbXcXb.quay.io/b'.toLowerCase(), 'a*xb*b.quay.io'],
    ['a bracket that begins no range', 'r1.quay.io/b', '?[1]*.quay.io'],
  ])('by %s', (_by, image, place) => {
    expect(usersFor(image, place)).toEqual([place]);
  });

  test.each([
    ['another host', 'quay.io/a', 'gcr.io'],
    ['a longer name of the host', 'quay.io.example.com/a', 'quay.io'],
    ['another port', 'quay.io:5000/a', 'quay.io:5001'],
    ['a port where the image has none', 'quay.io/a', 'quay.io:443'],
    ['no port where the image has one', 'quay.io:5000/a', 'quay.io'],
    ['another path', 'quay.io/a/b', 'quay.io/b'],
    ['wildcards across labels', 'a.b.quay.io/c', '*.quay.io'],
    ['dots that stand for themselves', 'quayxio/a', 'qu[a]y.io'],
    ['a range that is none', 'r1.quay.io/b', 'r[4-0].quay.io'],
    ['an empty range', 'r1.quay.io/b', 'r[^].quay.io'],
    ['texts in another order', 'abc.quay.io/b', '*c*b*.quay.io'],
    ['Docker Hub for others', 'quay.io/a', 'https://index.docker.io/v1/'],
  ])('not by %s', (_by, image, place) => {
    expect(usersFor(image, place)).toEqual([]);
  });

  test('not by a pattern of very many wildcards, or of very many brackets', () => {
    const image = `${'a'.repeat(60)}.quay.io/b`;
    expect(usersFor(image, `${'a*'.repeat(25)}b.quay.io`)).toEqual([]);
    expect(usersFor(image, `${'['.repeat(1_000_000)}*.quay.io`)).toEqual([]);
    expect(usersFor(image, `${'a*'.repeat(25)}a.quay.io`)).toEqual([`${'a*'.repeat(25)}a.quay.io`]);
  });

  test('the most specific come first: names before wildcards, longer paths before shorter', () => {
    const places = ['*.quay.io', 'a.quay.io', 'a.quay.io/team', '*.quay.io/team/app', 'a.quay.io/other'];
    expect(usersFor('a.quay.io/team/app:1', ...places)).toEqual([
      'a.quay.io/team',
      'a.quay.io',
      '*.quay.io/team/app',
      '*.quay.io',
    ]);
  });
});

describe('an entry of the file', () => {
  const only = (entry: unknown, format: DockerConfigFormat = 'config.json') => {
    const entries = { 'quay.io': entry };
    const config = readDockerConfig(format === 'config.json' ? { auths: entries } : entries, format);
    return { auth: config?.credentials[0]?.auth, problems: config?.problems };
  };

  test.each([
    ['auth', { auth: base64('me:pass:word') }, { username: 'me', password: 'pass:word' }],
    ['auth that is not ASCII', { auth: base64('me:pässwörd') }, { username: 'me', password: 'pässwörd' }],
    ['auth that is padded with zeros', { auth: base64('me:pw\0\0') }, { username: 'me', password: 'pw' }],
    [
      'auth beside a username',
      { auth: base64('me:pw'), username: 'you' },
      { username: 'me', password: 'pw' },
    ],
    ['username and password', { username: 'me', password: 'pw' }, { username: 'me', password: 'pw' }],
    ['a username alone', { username: 'me' }, { username: 'me', password: '' }],
    ['an identity token', { auth: base64('me:'), identitytoken: 'token' }, { identityToken: 'token' }],
    ['a registry token', { registrytoken: 'token' }, { registryToken: 'token' }],
  ])('%s', (_what, entry, auth) => {
    expect(only(entry)).toEqual({ auth, problems: [] });
    expect(only(entry, '.dockercfg')).toEqual({ auth, problems: [] });
  });

  test('without fields has no credentials, and is no problem', () => {
    expect(only({})).toEqual({ auth: undefined, problems: [] });
  });

  test.each([
    [
      'auth that is not base64',
      { auth: 'secret!' },
      'auths["quay.io"].auth: must be base64 of USER:PASSWORD',
    ],
    [
      'auth without a password',
      { auth: base64('secret') },
      'auths["quay.io"].auth: must be base64 of USER:PASSWORD',
    ],
    ['no object', 'secret', 'auths["quay.io"]: must be an object'],
  ])('%s is a problem that names the place, and no secret', (_what, entry, problem) => {
    expect(only(entry)).toEqual({ auth: undefined, problems: [problem] });
  });
});

describe('a file', () => {
  test('that asks for credential helpers has a problem; its other credentials are used', () => {
    const config = readDockerConfig(
      { auths: { 'quay.io': { username: 'me' } }, credsStore: 'pass', credHelpers: { 'gcr.io': 'gcloud' } },
      'config.json',
    );
    expect(config?.credentials.map(({ hostPattern }) => hostPattern)).toEqual(['quay.io']);
    expect(config?.problems).toEqual([
      'credsStore: credential helpers are not run; put the credentials into auths',
      'credHelpers: credential helpers are not run; put the credentials into auths',
    ]);
  });

  test.each([[{}], [{ port: 80 }], [[]], [null], ['text']])('%j has no field for credentials', (content) => {
    expect(readDockerConfig(content, 'config.json')).toBeUndefined();
  });

  test('whose field for credentials is invalid has a problem', () => {
    expect(readDockerConfig({ auths: 'secret' }, 'config.json')).toEqual({
      credentials: [],
      problems: ['auths: must be an object'],
    });
  });

  test('with an empty field for credentials counts as found', () => {
    expect(readDockerConfig({ auths: {} }, 'config.json')).toEqual({ credentials: [], problems: [] });
  });
});

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
