/** The files that name credential provider plugins, checked as the kubelet checks them and with its messages. */
import { textOf } from '../formats/json-values.ts';
import { isJsonObject } from '../formats/canonical-json.ts';
import { parseDuration } from '../formats/duration.ts';
import { goQuote } from '../formats/go-text.ts';
import { qualifiedNameProblems } from '../formats/qualified-name.ts';
import { type Fields, fieldProblem } from './credential-provider-answer.ts';

export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  readonly requireServiceAccount: boolean;
  readonly cacheType: 'ServiceAccount' | 'Token';
  readonly requiredServiceAccountAnnotationKeys?: readonly string[];
  readonly optionalServiceAccountAnnotationKeys?: readonly string[];
}

/** What the configuration of plugins says. */
export interface CredentialProviderConfig {
  readonly providers: readonly CredentialProvider[];
  /** Of the files' contents, as the kubelet computes it. */
  readonly hash: string;
}

/** A plugin: a program that is asked for the credentials of the images that it knows. */
export interface CredentialProvider {
  /** Of its program. */
  readonly name: string;
  /** Globs of registries, with paths or without. */
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration: string;
  /** Of what is written to the plugin and of what it answers. */
  readonly apiVersion: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly tokenAttributes?: TokenAttributes;
}

const CONFIG_KIND = 'CredentialProviderConfig';
const CONFIG_GROUP = 'kubelet.config.k8s.io';
const CONFIG_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${CONFIG_GROUP}/${version}`);
const PLUGIN_GROUP = 'credentialprovider.kubelet.k8s.io';
const PLUGIN_V1 = `${PLUGIN_GROUP}/v1`;
const PLUGIN_VERSIONS = [PLUGIN_V1, `${PLUGIN_GROUP}/v1alpha1`, `${PLUGIN_GROUP}/v1beta1`];
const CACHE_TYPES = ['ServiceAccount', 'Token'];

const TOKEN_FIELDS: Fields = {
  serviceAccountTokenAudience: 'string',
  requireServiceAccount: 'boolean',
  cacheType: 'string',
  requiredServiceAccountAnnotationKeys: ['string'],
  optionalServiceAccountAnnotationKeys: ['string'],
};
const PROVIDER_FIELDS: Fields = {
  name: 'string',
  matchImages: ['string'],
  defaultCacheDuration: 'string',
  apiVersion: 'string',
  args: ['string'],
  env: [{ name: 'string', value: 'string' }],
};

/** Why the content of a file is no such configuration. Undefined: it can be checked further. */
export function decodingProblem(content: unknown): string | undefined {
  if (!isJsonObject(content) || content.kind === undefined) return `Object 'Kind' is missing`;
  const { kind, apiVersion } = content;
  if (kind !== CONFIG_KIND || !CONFIG_VERSIONS.includes(apiVersion as string)) {
    const named = `no kind ${goQuote(textOf(kind))} is registered for version ${goQuote(textOf(apiVersion))}`;
    return `${named}; the kind must be ${CONFIG_KIND}, and the apiVersion ${CONFIG_VERSIONS.join(', ')}`;
  }
  const hasTokens = apiVersion === CONFIG_VERSIONS[0];
  const provider = { ...PROVIDER_FIELDS, ...(hasTokens && { tokenAttributes: TOKEN_FIELDS }) };
  const fields = { kind: 'string', apiVersion: 'string', metadata: 'any', providers: [provider] } as const;
  return fieldProblem(content, fields) ?? durationProblem(providersOf(content));
}

function durationProblem(providers: readonly Partial<CredentialProvider>[]): string | undefined {
  const bad = providers.find(
    ({ defaultCacheDuration: given }) => given !== undefined && parseDuration(given) === undefined,
  );
  return bad && `time: invalid duration ${goQuote(bad.defaultCacheDuration ?? '')}`;
}

/** The plugins of a file that `decodingProblem` has no objection to. */
export function providersOf(content: unknown): readonly Partial<CredentialProvider>[] {
  const providers = isJsonObject(content) ? content.providers : undefined;
  return (providers ?? []) as readonly Partial<CredentialProvider>[];
}

/** A name that stands twice in the files. */
export function repeatedName(providers: readonly Partial<CredentialProvider>[]): string | undefined {
  const names = providers.map(({ name = '' }) => name);
  return names.find((name, index) => names.indexOf(name) !== index);
}

/** All that is wrong with the plugins of all files. */
export function providerProblems(providers: readonly Partial<CredentialProvider>[]): readonly string[] {
  if (providers.length === 0) return ['providers: Required value: at least 1 item in plugins is required'];
  return providers.flatMap((provider) => [
    ...nameProblems(provider),
    ...versionProblems(provider),
    ...imageProblems(provider),
    ...cacheProblems(provider),
    ...(provider.tokenAttributes ? tokenProblems(provider.tokenAttributes, provider.apiVersion) : []),
  ]);
}

function* nameProblems({ name = '' }: Partial<CredentialProvider>): Iterable<string> {
  const invalid = (why: string) =>
    `providers.name: Invalid value: ${goQuote(name)}: provider name cannot ${why}`;
  if (name === '') yield 'providers.name: Required value';
  if (name.includes('/')) yield invalid(`contain '/'`);
  if (name.includes(' ')) yield invalid('contain spaces');
  if (name === '.' || name === '..') yield invalid(`be '${name}'`);
}

function* versionProblems({ apiVersion = '' }: Partial<CredentialProvider>): Iterable<string> {
  if (apiVersion === '') yield 'providers.apiVersion: Required value';
  else if (!PLUGIN_VERSIONS.includes(apiVersion)) {
    yield unsupported('providers.apiVersion', apiVersion, PLUGIN_VERSIONS);
  }
}

function* imageProblems({ matchImages = [] }: Partial<CredentialProvider>): Iterable<string> {
  const path = 'providers.matchImages';
  if (matchImages.length === 0) yield `${path}: Required value: at least 1 item in matchImages is required`;
  for (const image of matchImages) {
    const problem = urlProblem(image);
    const parsed = `parse ${goQuote(`https://${image}`)}`;
    if (problem)
      yield `${path}: Invalid value: ${goQuote(image)}: match image is invalid: ${parsed}: ${problem}`;
  }
}

/** What Go finds wrong with `https://` before the text. */
function urlProblem(image: string): string | undefined {
  const [host = ''] = image.split(/[/?#]/u, 1);
  const [port] = /:[^:\]]*$/u.exec(host) ?? [];
  if (port !== undefined && !/^:\d*$/u.test(port)) return `invalid port ${goQuote(port)} after host`;
  const [badCharacter] = /[\s<>"\\^`{|}]/u.exec(host) ?? [];
  if (badCharacter !== undefined) return `invalid character ${goQuote(badCharacter)} in host name`;
  const [escape] = /%(?![\da-f]{2}).{0,2}/iu.exec(image) ?? [];
  return escape === undefined ? undefined : `invalid URL escape ${goQuote(escape)}`;
}

function* cacheProblems({ defaultCacheDuration: given }: Partial<CredentialProvider>): Iterable<string> {
  const path = 'providers.defaultCacheDuration';
  if (given === undefined) yield `${path}: Required value`;
  else if ((parseDuration(given) ?? 0) < 0) {
    yield `${path}: Invalid value: ${goQuote(given)}: must be greater than or equal to 0`;
  }
}

function* tokenProblems(given: Partial<TokenAttributes>, apiVersion = ''): Iterable<string> {
  const path = 'providers.tokenAttributes';
  const { requireServiceAccount, cacheType = '' } = given;
  const required = given.requiredServiceAccountAnnotationKeys ?? [];
  const optional = given.optionalServiceAccountAnnotationKeys ?? [];
  if (!given.serviceAccountTokenAudience) yield `${path}.serviceAccountTokenAudience: Required value`;
  if (requireServiceAccount === undefined) yield `${path}.requireServiceAccount: Required value`;
  if (apiVersion !== PLUGIN_V1) {
    yield `${path}: Forbidden: tokenAttributes is only supported for ${PLUGIN_V1} API version`;
  }
  if (requireServiceAccount === false && required.length > 0) {
    yield `${path}.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set`;
  }
  yield* keyProblems(`${path}.requiredServiceAccountAnnotationKeys`, required);
  yield* keyProblems(`${path}.optionalServiceAccountAnnotationKeys`, optional);
  const both = [...new Set(required)].filter((key) => optional.includes(key)).sort();
  if (both.length > 0) {
    yield `${path}: Invalid value: ${JSON.stringify(both)}: annotation keys cannot be both required and optional`;
  }
  if (cacheType === '') {
    yield `${path}.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ${CACHE_TYPES.join(', ')}`;
  } else if (!CACHE_TYPES.includes(cacheType)) {
    yield unsupported(`${path}.cacheType`, cacheType, CACHE_TYPES);
  }
}

function* keyProblems(path: string, keys: readonly string[]): Iterable<string> {
  for (const [index, key] of keys.entries()) {
    for (const problem of qualifiedNameProblems(key.toLowerCase())) {
      yield `${path}: Invalid value: ${goQuote(key)}: ${problem}`;
    }
    if (keys.indexOf(key) < index) yield `${path}: Duplicate value: ${goQuote(key)}`;
  }
}

function unsupported(path: string, value: string, supported: readonly string[]): string {
  const values = supported.map(goQuote).join(', ');
  return `${path}: Unsupported value: ${goQuote(value)}: supported values: ${values}`;
}
