/** The credentials in a docker configuration file that are for the registry of an image. */
import type { AuthConfig } from '../../types/cri.ts';
import type { ImageReference } from './image-reference.ts';

/** Credentials, and the images that they are for. */
export interface RegistryCredentials {
  readonly hostPattern: string;
  readonly port: string;
  /** How the path of an image must begin: empty, or beginning with a slash. */
  readonly pathPrefix: string;
  readonly auth: AuthConfig;
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
  if (!isObject(content)) return undefined;
  const given = format === 'config.json' ? content : { auths: content };
  const helpers = ['credsStore', 'credHelpers'].filter((field) => given[field] !== undefined);
  if (given.auths === undefined && helpers.length === 0) return undefined;
  const entries = isObject(given.auths) ? given.auths : undefined;
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

/** All credentials for the image, the most specific first: without wildcards before with wildcards, then by longer path. */
export function matchingCredentials(
  credentials: readonly RegistryCredentials[],
  image: ImageReference,
): readonly AuthConfig[] {
  return credentials
    .filter((candidate) => fits(candidate, image))
    .sort(
      (a, b) =>
        wildcards(a) - wildcards(b) ||
        b.pathPrefix.length - a.pathPrefix.length ||
        b.hostPattern.length - a.hostPattern.length,
    )
    .map(({ auth }) => auth);
}

interface ReadEntry {
  readonly credentials?: RegistryCredentials;
  readonly problem?: string;
}

function readEntry(place: string, entry: unknown): ReadEntry {
  if (!isObject(entry)) return { problem: `auths["${place}"]: must be an object` };
  const auth = authOf(entry);
  if (auth === 'unreadable') return { problem: `auths["${place}"].auth: must be base64 of USER:PASSWORD` };
  return auth === undefined ? {} : { credentials: { ...placeOf(place), auth } };
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
    : { username: text.slice(0, colon), password: text.slice(colon + 1).replace(/\0+$/u, '') };
}

/** Scheme and API version are ignored; Docker Hub is also called by the name of its index. */
function placeOf(place: string): Omit<RegistryCredentials, 'auth'> {
  const bare = place.replace(/^https?:\/\//u, '');
  const slash = bare.indexOf('/');
  const domain = slash < 0 ? bare : bare.slice(0, slash);
  const path = (slash < 0 ? '' : bare.slice(slash)).replace(/^\/v[12](?=\/|$)/u, '');
  const { host, port } = hostAndPort(domain === 'index.docker.io' ? 'docker.io' : domain);
  return { hostPattern: host, port, pathPrefix: path === '/' ? '' : path };
}

function hostAndPort(domain: string): { host: string; port: string } {
  const [, host = domain, port = ''] = /^(.*):(\d+)$/u.exec(domain) ?? [];
  return { host, port };
}

function fits(
  { hostPattern, port, pathPrefix }: RegistryCredentials,
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

const GLOB = /[*?[]/u;

/** `*` matches any text, `?` any character, `[a-c]` and `[^a-c]` a range, each within one label of a host name. */
function globFits(pattern: string, label: string): boolean {
  if (!GLOB.test(pattern)) return pattern === label;
  const source = pattern.replaceAll(/\[(\^?)([^\]]+)\]|[*?]|./gu, (token, not?: string, range?: string) => {
    if (token === '*') return '.*';
    if (token === '?') return '.';
    if (range !== undefined) return `[${not ?? ''}${range.replaceAll(/[\\[]/gu, String.raw`\$&`)}]`;
    return token.replace(/[\\^$.+?()[\]{}|*/]/u, String.raw`\$&`);
  });
  try {
    return new RegExp(`^${source}$`, 'u').test(label);
  } catch {
    return false;
  }
}

function wildcards({ hostPattern }: RegistryCredentials): number {
  return hostPattern.split('.').filter((part) => GLOB.test(part)).length;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
