/** The credentials in docker configuration files and in pull secrets, and which of them are for the registry of an image. */
import type { AuthConfig } from '../../../types/cri.ts';
import type { Secret } from '../../../types/kubernetes.ts';
import { isJsonObject } from '../formats/canonical-json.ts';
import { goJSON } from '../formats/go-text.ts';
import { globFits, type ImageReference } from './image-reference.ts';
import type { CredentialSource } from './pulled-record.ts';
import { compareTexts } from '../formats/text-order.ts';

/** Credentials for a pull, and whose they are. Without a source, every pod of the node may use them. */
export interface PullCredentials {
  readonly auth: AuthConfig;
  readonly source?: CredentialSource;
}

/** Credentials, and the images that they are for. */
export interface RegistryCredentials extends PullCredentials {
  readonly hostPattern: string;
  readonly port: string;
  /** How the path of an image must begin: empty, or beginning with a slash. */
  readonly pathPrefix: string;
  /** It has no effect on a pull, but the kubelet's hash of the credentials contains it. */
  readonly email?: string;
}

export interface DockerConfig {
  readonly credentials: readonly RegistryCredentials[];
  /** Which parts of the file cannot be used, and why. They hold no secrets. */
  readonly problems: readonly string[];
}

/** `config.json` (also `.dockerconfigjson`) has its entries below `auths`; the older `.dockercfg` holds only the entries. */
export type DockerConfigFormat = 'config.json' | '.dockercfg';

const NO_HELPERS = 'credential helpers are not run; put the credentials into auths';

/** Undefined if the file has no field for credentials: the caller then tries the next file. */
export function readDockerConfig(content: unknown, format: DockerConfigFormat): DockerConfig | undefined {
  if (!isJsonObject(content)) return undefined;
  const given = format === 'config.json' ? content : { auths: content };
  const helpers = ['credsStore', 'credHelpers'].filter((field) => given[field] !== undefined);
  if (given.auths === undefined && helpers.length === 0) return undefined;
  const entries = isJsonObject(given.auths) ? given.auths : undefined;
  const read = Object.entries(entries ?? {}).map(([place, entry]) => readEntry(place, entry));
  return {
    credentials: read.map(({ credentials }) => credentials).filter((found) => found !== undefined),
    problems: [
      ...helpers.map((field) => `${field}: ${NO_HELPERS}`),
      ...(given.auths === undefined || entries ? [] : ['auths: must be an object']),
      ...read.map(({ problem }) => problem).filter((problem) => problem !== undefined),
    ],
  };
}

/**
 * All credentials for the image, in the kubelet's order: by the place that they are for, backwards in the order of the alphabet, so that
 * a longer path comes before a shorter one, and a wildcard last. Equal places keep their order.
 */
export function matchingCredentials<T extends RegistryCredentials>(
  credentials: readonly T[],
  image: ImageReference,
): readonly T[] {
  const fitting = credentials
    .filter((candidate) => fits(candidate, image))
    .sort((a, b) => compareTexts(placeText(b), placeText(a)));
  if (fitting.length > 0 || image.domain !== DOCKER_HUB) return fitting;
  return credentials.filter((candidate) => placeText(candidate) === DOCKER_HUB_INDEX);
}

const DOCKER_HUB = 'docker.io';
/** Docker Hub as clients of docker name it in their files. It counts where nothing is given for Docker Hub's own name. */
const DOCKER_HUB_INDEX = 'index.docker.io';

/** What the kubelet's hash of the credentials is computed from. It is a secret. */
export function credentialsText({ auth, email }: Pick<RegistryCredentials, 'auth' | 'email'>): string {
  const { username, password, identityToken, registryToken } = auth;
  const fields = { username, password, email, identitytoken: identityToken, registrytoken: registryToken };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  return goJSON(Object.fromEntries(given));
}

interface ReadEntry {
  readonly credentials?: RegistryCredentials;
  readonly problem?: string;
}

function readEntry(place: string, entry: unknown): ReadEntry {
  if (!isJsonObject(entry)) return { problem: `auths["${place}"]: must be an object` };
  const auth = authOf(entry);
  if (auth === 'unreadable') return { problem: `auths["${place}"].auth: must be base64 of USER:PASSWORD` };
  if (auth === undefined) return {};
  return { credentials: { ...placeOf(place), auth, ...(isText(entry.email) && { email: entry.email }) } };
}

/** As with docker, a token has priority over a password. A runtime that gets both would use the password. */
function authOf(entry: Readonly<Record<string, unknown>>): AuthConfig | 'unreadable' | undefined {
  const { auth, username, password, identitytoken, registrytoken } = entry;
  if (isText(identitytoken)) return { identityToken: identitytoken };
  if (isText(registrytoken)) return { registryToken: registrytoken };
  if (isText(auth)) return decoded(auth) ?? 'unreadable';
  if (isText(username)) return { username, password: isText(password) ? password : '' };
  return undefined;
}

function decoded(auth: string): AuthConfig | undefined {
  let text: string;
  try {
    const bytes = Uint8Array.from(atob(auth), (byte) => byte.charCodeAt(0));
    text = new TextDecoder().decode(bytes);
  } catch {
    return undefined;
  }
  const colon = text.indexOf(':');
  // Old clients pad the password with zeros.
  return colon < 0
    ? undefined
    : { username: text.slice(0, colon), password: text.slice(colon + 1).replace(/(?<!\0)\0+$/u, '') };
}

/** Scheme and API version are ignored. */
export function placeOf(place: string): Omit<RegistryCredentials, 'auth'> {
  const bare = place.replace(/^https?:\/\//u, '');
  const slash = bare.indexOf('/');
  const domain = slash < 0 ? bare : bare.slice(0, slash);
  const path = (slash < 0 ? '' : bare.slice(slash)).replace(/^\/v[12](?=\/)/u, '');
  const { host, port } = hostAndPort(domain);
  return { hostPattern: host, port, pathPrefix: path === '/' ? '' : path };
}

function placeText({ hostPattern, port, pathPrefix }: RegistryCredentials): string {
  return `${hostPattern}${port === '' ? '' : `:${port}`}${pathPrefix}`;
}

function hostAndPort(domain: string): { host: string; port: string } {
  const [, host = domain, port = ''] = /^(.*):(\d+)$/u.exec(domain) ?? [];
  return { host, port };
}

/** Whether credentials for the place are for the image. */
export function fits(
  { hostPattern, port, pathPrefix }: Omit<RegistryCredentials, 'auth'>,
  { domain, path }: ImageReference,
): boolean {
  const target = hostAndPort(domain);
  if (port !== target.port || !`/${path}`.startsWith(pathPrefix)) return false;
  const patterns = hostPattern.split('.');
  const labels = target.host.split('.');
  return (
    patterns.length === labels.length && patterns.every((pattern, i) => globFits(pattern, labels[i] ?? ''))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The key of each type of Secret that has credentials for registries. */
const TYPES: Readonly<Record<string, { readonly key: string; readonly format: DockerConfigFormat }>> = {
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', format: 'config.json' },
  'kubernetes.io/dockercfg': { key: '.dockercfg', format: '.dockercfg' },
};

const HELPERS = ['credsStore', 'credHelpers'];

const NONE: DockerConfig = { credentials: [], problems: [] };

/** As with the kubelet, a Secret of another type has none. `problems` hold nothing of the content. */
export function readPullSecret({ type, data }: Secret): DockerConfig {
  const known = TYPES[type ?? ''];
  const value = known && data?.[known.key];
  if (known === undefined || value === undefined || value === '') return NONE;
  let content: unknown;
  try {
    const bytes = Uint8Array.from(atob(value), (byte) => byte.charCodeAt(0));
    content = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // The parser's message quotes the content.
    return { credentials: [], problems: [`${known.key}: is not valid JSON`] };
  }
  if (!isJsonObject(content)) return { credentials: [], problems: [`${known.key}: must be an object`] };
  const config = readCredentials(content, known.format);
  return { ...config, problems: config.problems.map((problem) => `${known.key}: ${problem}`) };
}

/** Secrets are often made from a file of docker that also names helpers: a problem only where there are no credentials beside them. */
function readCredentials(content: object, format: DockerConfigFormat): DockerConfig {
  const bare = Object.entries(content).filter(([field]) => !HELPERS.includes(field));
  const config = readDockerConfig(Object.fromEntries(bare), format);
  return config?.credentials.length ? config : (readDockerConfig(content, format) ?? NONE);
}

/** The names of the Secrets. Empty ones, which the API server lets pass, are left out. */
export function pullSecretNames(refs: readonly { readonly name?: string }[] | undefined): readonly string[] {
  return (refs ?? []).flatMap(({ name }) => (name === undefined || name === '' ? [] : [name]));
}

/** The kubelet's event about Secrets that are missing. */
export function missingSecretsMessage(names: readonly string[]): string {
  return `Unable to retrieve some image pull secrets (${names.join(', ')}); attempting to pull the image may not succeed.`;
}

/** Of a Secret whose content cannot be used. The kubelet does not pull at all then, and shows only an error of its parser. */
export function badSecretMessage(name: string, problems: readonly string[]): string {
  return `Unable to use image pull secret ${name}: ${problems.join('; ')}; attempting to pull the image may not succeed.`;
}
