/** The messages are those of the kubelet 1.36.2 for the same files. */
import { describe, expect, test } from '@jest/globals';
import {
  decodingProblem,
  providerProblems,
  repeatedName,
} from '../../../../src/agent/policies/images/credential-provider-config.ts';

const PLUGIN = 'credentialprovider.kubelet.k8s.io';
const GOOD = { name: 'a', apiVersion: `${PLUGIN}/v1`, matchImages: ['x'], defaultCacheDuration: '0s' };
const TOKEN = {
  serviceAccountTokenAudience: 'a',
  requireServiceAccount: true,
  cacheType: 'ServiceAccount',
} as const;
const config = (providers: unknown, version = 'v1') => ({
  apiVersion: `kubelet.config.k8s.io/${version}`,
  kind: 'CredentialProviderConfig',
  providers,
});

describe('a file', () => {
  test.each(['v1', 'v1beta1', 'v1alpha1'])('of version %s is read', (version) => {
    expect(
      decodingProblem(config([{ ...GOOD, args: ['-x'], env: [{ name: 'A', value: 'b' }] }], version)),
    ).toBe(undefined);
  });

  test('may have tokenAttributes in version v1 only', () => {
    expect(decodingProblem(config([{ ...GOOD, tokenAttributes: TOKEN }]))).toBeUndefined();
    expect(decodingProblem(config([{ ...GOOD, tokenAttributes: TOKEN }], 'v1beta1'))).toBe(
      'strict decoding error: unknown field "providers[0].tokenAttributes"',
    );
  });

  test.each([
    [undefined, `Object 'Kind' is missing`],
    [
      { ...config([]), kind: 'Other' },
      /^no kind "Other" is registered for version "kubelet.config.k8s.io\/v1";/,
    ],
    [
      config([], 'v9'),
      /^no kind "CredentialProviderConfig" is registered for version "kubelet.config.k8s.io\/v9";/,
    ],
    [config([{ name: 'a', foo: 1 }]), 'strict decoding error: unknown field "providers[0].foo"'],
    [config([{ name: 7 }]), 'providers[0].name: must be a text'],
    [config([{ matchImages: 'x' }]), 'providers[0].matchImages: must be a list'],
    [config([{ env: [{ name: 'A', value: 1 }] }]), 'providers[0].env[0].value: must be a text'],
    [config(['a']), 'providers[0]: must be an object'],
    [config([{ ...GOOD, defaultCacheDuration: 'soon' }]), 'time: invalid duration "soon"'],
    [
      config([{ ...GOOD, tokenAttributes: { ...TOKEN, requireServiceAccount: 'yes' } }]),
      'providers[0].tokenAttributes.requireServiceAccount: must be true or false',
    ],
  ])('is refused: %#', (content, problem) => {
    expect(decodingProblem(content)).toMatch(problem);
  });
});

describe('plugins', () => {
  test('that are complete have no problems', () => {
    expect(providerProblems([GOOD, { ...GOOD, name: 'b', tokenAttributes: TOKEN }])).toEqual([]);
  });

  test.each([
    ['a/b c', ["cannot contain '/'", 'cannot contain spaces']],
    ['.', ["cannot be '.'"]],
    ['..', ["cannot be '..'"]],
  ])('must not be called %j', (name, texts) => {
    const message = (text: string) => `providers.name: Invalid value: "${name}": provider name ${text}`;
    expect(providerProblems([{ ...GOOD, name }])).toEqual(texts.map(message));
  });

  test('need all required fields', () => {
    expect(providerProblems([])).toEqual([
      'providers: Required value: at least 1 item in plugins is required',
    ]);
    expect(providerProblems([{ name: 'a', tokenAttributes: {} as typeof TOKEN }])).toEqual([
      'providers.apiVersion: Required value',
      'providers.matchImages: Required value: at least 1 item in matchImages is required',
      'providers.defaultCacheDuration: Required value',
      'providers.tokenAttributes.serviceAccountTokenAudience: Required value',
      'providers.tokenAttributes.requireServiceAccount: Required value',
      `providers.tokenAttributes: Forbidden: tokenAttributes is only supported for ${PLUGIN}/v1 API version`,
      'providers.tokenAttributes.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token',
    ]);
  });

  test('must have values that hold', () => {
    const images = ['*.x:{', 'a b.c', 'x/%zz', '*.x:5000/y'];
    const wrong = { ...GOOD, apiVersion: 'x', matchImages: images, defaultCacheDuration: '-1s' };
    const invalid = 'match image is invalid: parse';
    expect(providerProblems([wrong])).toEqual([
      `providers.apiVersion: Unsupported value: "x": supported values: "${PLUGIN}/v1", "${PLUGIN}/v1alpha1", "${PLUGIN}/v1beta1"`,
      `providers.matchImages: Invalid value: "*.x:{": ${invalid} "https://*.x:{": invalid port ":{" after host`,
      `providers.matchImages: Invalid value: "a b.c": ${invalid} "https://a b.c": invalid character " " in host name`,
      `providers.matchImages: Invalid value: "x/%zz": ${invalid} "https://x/%zz": invalid URL escape "%zz"`,
      'providers.defaultCacheDuration: Invalid value: "-1s": must be greater than or equal to 0',
    ]);
  });

  test('must ask for annotations that can be', () => {
    const tokenAttributes = {
      ...TOKEN,
      requireServiceAccount: false,
      cacheType: 'Foo' as 'Token',
      requiredServiceAccountAnnotationKeys: ['a b', 'x', 'x'],
      optionalServiceAccountAnnotationKeys: ['x'],
    };
    const path = 'providers.tokenAttributes';
    expect(providerProblems([{ ...GOOD, tokenAttributes }])).toEqual([
      `${path}.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set`,
      expect.stringMatching(
        /requiredServiceAccountAnnotationKeys: Invalid value: "a b": name part must consist of/,
      ),
      `${path}.requiredServiceAccountAnnotationKeys: Duplicate value: "x"`,
      `${path}: Invalid value: ["x"]: annotation keys cannot be both required and optional`,
      `${path}.cacheType: Unsupported value: "Foo": supported values: "ServiceAccount", "Token"`,
    ]);
  });

  test('must have names of their own', () => {
    expect(repeatedName([{ name: 'a' }, { name: 'b' }, { name: 'a' }])).toBe('a');
    expect(repeatedName([{ name: 'a' }, { name: 'b' }])).toBeUndefined();
  });
});
