/** Who may register eviction plugins: users with passwords and permissions, as Katalyst's AuthConfiguration has them. */
import { StateletError } from '../../../types/errors.ts';
import { isJsonObject } from '../formats/canonical-json.ts';

export interface PluginUsers {
  /** By user name. */
  readonly passwords: ReadonlyMap<string, string>;
  readonly resources: ReadonlyMap<string, readonly string[]>;
}

export interface PluginLogin {
  readonly user: string;
  readonly password: string;
}

/** Katalyst's name of the right to register eviction plugins; with `/NAME` behind it, those of that name alone. */
const EVICTION_PLUGIN = 'eviction_plugin';
const ALL = '*';
const TOKEN = /^basic ([A-Za-z0-9+/]+={0,2})$/iu;
const TOKEN_MAX_LENGTH = 4096;

/** `content`: an AuthConfiguration, or its `spec.config` alone. Throws `InvalidArgument` that names the field. */
export function pluginUsers(content: unknown): PluginUsers {
  const { spec } = object(content, 'the file') as { readonly spec?: unknown };
  const config = spec === undefined ? content : object(spec, 'spec').config;
  const { basicAuthConfig, accessControlConfig } = object(config, 'spec.config');
  const pairs = items(basicAuthConfig, 'basicAuthConfig', 'userPasswordPairs');
  const policies = items(accessControlConfig, 'accessControlConfig', 'accessControlPolicies');
  return {
    passwords: new Map(pairs.map(({ at, item }) => [name(item, at), password(item, at)])),
    resources: new Map(policies.map(({ at, item }) => [name(item, at), resources(item, at)])),
  };
}

/** A token is what stands in an `Authorization` header: `Basic` and the base64 of `USER:PASSWORD`. Undefined for another one. */
export function pluginLogin(token: string): PluginLogin | undefined {
  const encoded = token.length > TOKEN_MAX_LENGTH ? undefined : TOKEN.exec(token)?.[1];
  const text = encoded === undefined ? undefined : decoded(encoded);
  const colon = text?.indexOf(':') ?? -1;
  if (text === undefined || colon < 0) return undefined;
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Why the user may not register the plugin; undefined if it may. */
export function permissionProblem(users: PluginUsers, user: string, plugin: string): string | undefined {
  const allowed = users.resources.get(user);
  if (allowed === undefined) return `user ${user} has no permissions`;
  const wanted = [EVICTION_PLUGIN, `${EVICTION_PLUGIN}/${plugin}`, ALL];
  if (allowed.some((resource) => wanted.includes(resource))) return undefined;
  return `user ${user} has none of the permissions ${wanted.join(', ')}`;
}

type Fields = Readonly<Record<string, unknown>>;

function items(config: unknown, name: string, list: string) {
  const all = config === undefined ? [] : (object(config, name)[list] ?? []);
  if (!Array.isArray(all)) throw wrong(`${name}.${list}`, 'a list');
  return all.map((item: unknown, index) => {
    const at = `${name}.${list}[${index}]`;
    return { at, item: object(item, at) };
  });
}

function name({ username }: Fields, at: string): string {
  if (typeof username === 'string' && username !== '' && !username.includes(':')) return username;
  throw wrong(`${at}.username`, 'a name without a colon');
}

function password({ password: given }: Fields, at: string): string {
  const text = typeof given === 'string' ? decoded(given.trim()) : undefined;
  if (text !== undefined && text !== '') return text;
  throw wrong(`${at}.password`, 'the base64 of a password that is not empty');
}

function resources({ policyRule }: Fields, at: string): readonly string[] {
  const { resources: given } = object(policyRule, `${at}.policyRule`);
  if (Array.isArray(given) && given.every((one) => typeof one === 'string')) return given;
  throw wrong(`${at}.policyRule.resources`, 'a list of texts');
}

function object(value: unknown, at: string): Fields {
  if (isJsonObject(value)) return value;
  throw wrong(at, 'an object');
}

/** Bytes as UTF-8; undefined for what is no base64 of such a text. */
function decoded(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function wrong(at: string, expected: string): StateletError {
  return new StateletError('InvalidArgument', `${at} must be ${expected}`);
}
