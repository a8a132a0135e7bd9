/** What a credential provider plugin is asked, and what its answer means. */
import { isJsonObject } from '../formats/canonical-json.ts';
import { parseDuration } from '../formats/duration.ts';
import { placeOf, type RegistryCredentials } from './image-credentials.ts';

/** To how many images the answer applies. */
export type CacheKeyType = 'Image' | 'Registry' | 'Global';

export interface PluginAnswer {
  readonly cacheKeyType: CacheKeyType;
  /** Undefined: as long as the configuration of the plugin says. */
  readonly cacheMs: number | undefined;
  readonly credentials: readonly RegistryCredentials[];
}

export interface PluginQuestion {
  /** Without tag and digest. */
  readonly image: string;
  readonly serviceAccountToken?: string;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

export function pluginRequest(apiVersion: string, question: PluginQuestion): string {
  const { image, serviceAccountToken, serviceAccountAnnotations = {} } = question;
  const hasAnnotations = Object.keys(serviceAccountAnnotations).length > 0;
  return `${JSON.stringify({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image,
    serviceAccountToken,
    ...(hasAnnotations && { serviceAccountAnnotations }),
  })}\n`;
}

const ANSWER_FIELDS: Fields = {
  kind: 'string',
  apiVersion: 'string',
  metadata: 'any',
  cacheKeyType: 'string',
  cacheDuration: 'string',
  auth: { '*': { username: 'string', password: 'string' } },
};
const UNREADABLE = 'error decoding credential provider plugin response from stdout';

/** The answer, or why it cannot be used. The reason holds nothing of the credentials. */
export function readPluginAnswer(stdout: string, apiVersion: string): PluginAnswer | string {
  let content: unknown;
  try {
    content = withoutNullMembers(JSON.parse(stdout));
  } catch {
    // The parser's message quotes the text.
    return `${UNREADABLE}: it is not valid JSON`;
  }
  if (!isJsonObject(content)) return `${UNREADABLE}: it is not an object`;
  const given = typeof content.apiVersion === 'string' ? content.apiVersion : '';
  if (given !== apiVersion) {
    return `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:${given}`;
  }
  if (content.kind !== 'CredentialProviderResponse')
    return `${UNREADABLE}: its kind is not CredentialProviderResponse`;
  const problem = fieldProblem(content, ANSWER_FIELDS);
  if (problem !== undefined) return `${UNREADABLE}: ${problem}`;
  return answerOf(content);
}

function answerOf(content: Readonly<Record<string, unknown>>): PluginAnswer | string {
  const { cacheKeyType, cacheDuration, auth } = content;
  if (!isCacheKeyType(cacheKeyType)) {
    const given = typeof cacheKeyType === 'string' ? cacheKeyType : '';
    return `credential provider plugin did not return a valid cacheKeyType: "${given}"`;
  }
  const cacheMs = typeof cacheDuration === 'string' ? parseDuration(cacheDuration) : undefined;
  if (typeof cacheDuration === 'string' && cacheMs === undefined) {
    return `${UNREADABLE}: cacheDuration is no duration`;
  }
  const entries = Object.entries((auth ?? {}) as Readonly<Record<string, Login>>);
  const credentials = entries.map(([place, login]) => ({
    ...placeOf(place),
    auth: { username: login.username ?? '', password: login.password ?? '' },
  }));
  return { cacheKeyType, cacheMs, credentials };
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

function isCacheKeyType(value: unknown): value is CacheKeyType {
  return value === 'Image' || value === 'Registry' || value === 'Global';
}

/** For whom an answer is kept. `account`: a text that stands for the service account; empty without one. */
export function cacheKey(type: CacheKeyType, image: string, account: string): string {
  const scope = { Image: image, Registry: image.split('/', 1)[0] ?? '', Global: 'global' }[type];
  return JSON.stringify([scope, account]);
}

/** Where an answer for the image may be, in the order in which the kubelet looks. */
export function cacheKeys(image: string, account: string): readonly string[] {
  return (['Image', 'Registry', 'Global'] as const).map((type) => cacheKey(type, image, account));
}

/** Text of a plugin's stderr for the log: short, and without the token that the plugin was given. */
export function shownStderr(stderr: string, token: string | undefined): string {
  const clean = token === undefined ? stderr : stderr.replaceAll(token, '(token)');
  const text = clean.trim();
  return text.length > STDERR_SHOWN_MAX ? `${text.slice(0, STDERR_SHOWN_MAX)}…` : text;
}

const STDERR_SHOWN_MAX = 500;

type Kind = 'string' | 'boolean' | 'any' | Fields | readonly [Kind] | { readonly '*': Kind };

/** The type of each field; with the name `*` of all. In brackets: a list of that type. */
export interface Fields {
  readonly [name: string]: Kind;
}

/** What is wrong with the first field that is unknown or of another type. */
export function fieldProblem(value: unknown, kind: Kind, path = ''): string | undefined {
  if (kind === 'any' || value === undefined) return undefined;
  if (typeof kind === 'string') {
    const article = kind === 'string' ? 'a text' : 'true or false';
    return typeof value === kind ? undefined : `${path}: must be ${article}`;
  }
  if (isList(kind)) {
    if (!Array.isArray(value)) return `${path}: must be a list`;
    return firstOf(value.map((item, index) => () => fieldProblem(item, kind[0], `${path}[${index}]`)));
  }
  if (!isJsonObject(value)) return `${path || 'the content'}: must be an object`;
  return firstOf(
    Object.entries(value).map(([name, member]) => () => {
      const inner = path === '' ? name : `${path}.${name}`;
      const known = (kind as Fields)['*'] ?? (Object.hasOwn(kind, name) ? (kind as Fields)[name] : undefined);
      if (known === undefined) return `strict decoding error: unknown field "${inner}"`;
      return fieldProblem(member, known, inner);
    }),
  );
}

function isList(kind: Kind): kind is readonly [Kind] {
  return Array.isArray(kind);
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const problem = check();
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The value without members that are `null`, which count as not given. */
export function withoutNullMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullMembers);
  if (!isJsonObject(value)) return value;
  const given = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(given.map(([name, member]) => [name, withoutNullMembers(member)]));
}
