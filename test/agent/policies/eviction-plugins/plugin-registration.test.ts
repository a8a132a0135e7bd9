import { describe, expect, test } from '@jest/globals';
import {
  evictionOfferProblem,
  judgeOffer,
  type PluginOffer,
  refusalText,
  registrationBackOffMs,
} from '../../../../src/agent/policies/eviction-plugins/plugin-registration.ts';

const SOCKET = '/plugins_registry/rss.sock';
const OFFER: PluginOffer = {
  type: 'EvictionPlugin',
  name: 'rss',
  endpoint: '',
  supportedVersions: ['v1alpha1'],
};
const BUILT_IN = new Set(['built-in-rss']);
const HANDLERS = new Map([
  ['EvictionPlugin', { problemOf: (offer: PluginOffer) => evictionOfferProblem(offer, BUILT_IN) }],
]);
const judge = (offer: Partial<PluginOffer>) => judgeOffer({ ...OFFER, ...offer }, SOCKET, HANDLERS);
const problemOf = (offer: Partial<PluginOffer>) => {
  const verdict = judge(offer);
  return verdict.kind === 'refused' ? verdict.problem : undefined;
};

describe('a plugin that is accepted', () => {
  test('serves at its own socket if it names no endpoint', () => {
    expect(judge({})).toEqual({ kind: 'accepted', name: 'rss', endpoint: SOCKET });
  });

  test.each([
    ['/run/other.sock', '/run/other.sock'],
    ['unix:///run/other.sock', '/run/other.sock'],
    ['unix:/run/other.sock', '/run/other.sock'],
  ])('with the endpoint %s serves at %s', (endpoint, path) => {
    expect(judge({ endpoint })).toEqual({ kind: 'accepted', name: 'rss', endpoint: path });
  });

  test('may support other versions too', () => {
    expect(judge({ supportedVersions: ['v2', 'v1alpha1'] }).kind).toBe('accepted');
  });

  test.each(['a', 'rss-overuse_2.v1', 'katalyst.kubewharf.io/rss', 'x'.repeat(253)])(
    'may be named %s',
    (name) => {
      expect(judge({ name }).kind).toBe('accepted');
    },
  );
});

describe('a plugin is refused', () => {
  test('if it has another type, in the words of the kubelet', () => {
    const problem = `no handler registered for plugin type: CSIPlugin at socket ${SOCKET}`;
    expect(judge({ type: 'CSIPlugin' })).toEqual({ kind: 'refused', name: 'rss', problem });
    expect(refusalText(problem)).toBe(`RegisterPlugin error -- ${problem}`);
  });

  test('if it has no name, or one that cannot be distinguished from other text', () => {
    expect(problemOf({ name: '' })).toBe('plugin validation failed with err: it has no name');
    for (const name of ['-rss', '*', 'rss ', 'a\nb', 'ä', '/rss'])
      expect(problemOf({ name })).toContain(`must consist of letters, digits, '-', '_', '.' and '/'`);
    expect(problemOf({ name: 'x'.repeat(254) })).toContain('more than 253 characters');
  });

  test('if a built-in plugin has its name', () => {
    expect(problemOf({ name: 'built-in-rss' })).toBe(
      'plugin validation failed with err: "built-in-rss" is the name of a built-in plugin',
    );
  });

  test('if it supports no version that is supported here, and both are named', () => {
    expect(problemOf({ supportedVersions: ['v1', 'v2'] })).toBe(
      'plugin validation failed with err: supported here: v1alpha1; supported by the plugin: v1, v2',
    );
    expect(problemOf({ supportedVersions: [] })).toContain('supported by the plugin: none');
    expect(problemOf({ supportedVersions: Array.from({ length: 11 }, (_, i) => `x${i}`) })).toMatch(
      /, x9, …$/,
    );
  });

  test.each(['rss.sock', '@abstract', 'tcp://127.0.0.1:80', 'unix:rss.sock'])(
    'for the endpoint %s',
    (endpoint) => {
      expect(problemOf({ endpoint })).toContain('is not the absolute path of a socket');
    },
  );

  test('and the error shows its answer cut, and without control characters', () => {
    const problem = problemOf({ type: `a\n\u0000${'b'.repeat(1000)}` });
    expect(problem).toMatch(/^no handler registered for plugin type: a \\u0000b{92}… at socket/);
    expect(judge({ type: 'x', name: 'c'.repeat(1000) }).name).toHaveLength(101);
  });
});

test('the wait before the next try doubles from half a second to two minutes', () => {
  expect([1, 2, 3, 8, 9, 1000].map(registrationBackOffMs)).toEqual([
    500, 1000, 2000, 64_000, 122_000, 122_000,
  ]);
});
