/** Which of the credentials in a docker configuration file open the registry of an image. */
import type { AuthConfig } from '../../types/cri.ts';
import type { ImageReference } from './image-reference.ts';

/** Credentials with the place they are for. */
export interface RegistryCredentials {
  readonly hostPattern: string;
  readonly port: string;
  /** Empty, or beginning with a slash: what an image's path there begins with. */
  readonly pathPrefix: string;
  readonly auth: AuthConfig;
}

export interface DockerConfig {
  readonly credentials: readonly RegistryCredentials[];
  /** What of the file cannot be used and why. Says nothing of what is secret. */
  readonly problems: readonly string[];
}

/** `config.json` (also `.dockerconfigjson`) has its entries below `auths`; the older `.dockercfg` is nothing but them. */
export type DockerConfigFormat = 'config.json' | '.dockercfg';

const NO_HELPERS = 'credential helpers are not run; put the credentials into auths';

/** Undefined where the file has no place for credentials, so that another one may be looked for. */
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

/** All that fit, the most specific first: no wildcards before wildcards, then the longer path. */
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

/** A token goes before a password, as with docker; the runtime would look at the user's name first. */
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

/** Scheme and API version in front of a path mean nothing; Docker Hub goes by the name of its index, too. */
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

/** `*` any text, `?` any character, `[a-c]` and `[^a-c]` one of a range: each within one part of a host's name. */
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
