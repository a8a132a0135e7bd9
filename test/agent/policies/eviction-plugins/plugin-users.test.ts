import { describe, expect, test } from '@jest/globals';
import {
  permissionProblem,
  pluginLogin,
  pluginUsers,
} from '../../../../src/agent/policies/eviction-plugins/plugin-users.ts';
import { usersConfig } from '../../../support/plugin-users.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

test('users are those of an AuthConfiguration, or of its configuration alone', () => {
  const config = usersConfig({ rss: ['s3:cret', ['eviction_plugin']] });
  for (const content of [config, { kind: 'AuthConfiguration', spec: { config } }]) {
    const users = pluginUsers(content);
    expect([users.passwords.get('rss'), users.resources.get('rss')]).toEqual([
      's3:cret',
      ['eviction_plugin'],
    ]);
  }
  expect(pluginUsers({}).passwords.size).toBe(0);
});

test.each([
  [[], 'the file must be an object'],
  [{ basicAuthConfig: 1 }, 'basicAuthConfig must be an object'],
  [{ basicAuthConfig: { userPasswordPairs: {} } }, 'basicAuthConfig.userPasswordPairs must be a list'],
  [
    { basicAuthConfig: { userPasswordPairs: [{ username: 'a:b', password: 'eA==' }] } },
    'basicAuthConfig.userPasswordPairs[0].username must be a name without a colon',
  ],
  [
    { basicAuthConfig: { userPasswordPairs: [{ username: 'a', password: 'no base64!' }] } },
    'basicAuthConfig.userPasswordPairs[0].password must be the base64 of a password that is not empty',
  ],
  [
    { accessControlConfig: { accessControlPolicies: [{ username: 'a', policyRule: { resources: 'all' } }] } },
    'accessControlConfig.accessControlPolicies[0].policyRule.resources must be a list of texts',
  ],
])('%j is refused by its field', (content, message) => {
  expect(() => pluginUsers(content)).toThrow(message);
});

test('a token is that of basic authentication', () => {
  expect(pluginLogin(`Basic ${base64('rss:s3:cret')}`)).toEqual({ user: 'rss', password: 's3:cret' });
  expect(pluginLogin(`bAsIc ${base64('rss:')}`)).toEqual({ user: 'rss', password: '' });
  for (const token of [
    '',
    'Basic',
    `Bearer ${base64('rss:x')}`,
    `Basic ${base64('rss')}`,
    'Basic /w==',
    `Basic ${base64(`rss:${'x'.repeat(5000)}`)}`,
  ])
    expect(pluginLogin(token)).toBeUndefined();
});

describe('a user may register', () => {
  test.each([
    [['eviction_plugin'], undefined],
    [['*'], undefined],
    [['eviction_plugin/rss'], undefined],
    [['eviction_plugin/other', 'http_endpoint'], 'user u has none of the permissions'],
    [[], 'user u has none of the permissions eviction_plugin, eviction_plugin/rss, *'],
  ])('with %j: %s', (resources, problem) => {
    const found = permissionProblem(pluginUsers(usersConfig({ u: ['x', resources] })), 'u', 'rss');
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });

  test('not without a policy', () => {
    expect(permissionProblem(pluginUsers({}), 'u', 'rss')).toBe('user u has no permissions');
  });
});
