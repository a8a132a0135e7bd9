/**
 * What a kubeconfig says about the current context. What is wrong is an error that names the field; no message shows a value.
 * @kubernetes/client-node is not used: docs/decisions/libraries.md.
 */
import { dirname, isAbsolute, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { type StateletError, invalid } from '../../../types/errors.ts';
import { type ExecEntry, execEntry } from './exec-plugin.ts';
import { type Fields, fieldsOf, flagOf, textOf, textsOf } from './kubeconfig-fields.ts';

/** Bytes that stand in the kubeconfig itself, or in a file that it names. */
export interface Material {
  /** The field, for messages. */
  readonly field: string;
  /** Base64, as in the kubeconfig. */
  readonly data?: string;
  /** Absolute path. */
  readonly file?: string;
}

export interface ClusterEntry {
  readonly server: string;
  readonly ca: Material | undefined;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTLSVerify: boolean;
  readonly proxyURL: string | undefined;
  /** Handed to an exec plugin that asks for it. */
  readonly execConfig: unknown;
}

export interface UserEntry {
  readonly cert: Material | undefined;
  readonly key: Material | undefined;
  readonly token: string | undefined;
  /** Absolute path; wins over `token`. */
  readonly tokenFile: Material | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly exec: ExecEntry | undefined;
  readonly impersonation: Impersonation | undefined;
}

interface Impersonation {
  readonly user: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface KubeconfigEntry {
  readonly cluster: ClusterEntry;
  readonly user: UserEntry;
}

/** Throws `InvalidArgument` with the field that is wrong; the caller names the file. */
export function parseKubeconfig(text: string, path: string): KubeconfigEntry {
  const config = fieldsOf(parsed(text), 'the kubeconfig');
  const kind = textOf(config, 'kind');
  if (kind !== undefined && kind !== 'Config') throw wrong('kind', `must be Config, not ${kind}`);
  const folder = dirname(path);
  const current = textOf(config, 'current-context');
  if (current === undefined) {
    throw wrong(
      'current-context',
      `is missing: it must name one of the contexts (${namesIn(config, 'contexts')})`,
    );
  }
  const context = named(config, 'contexts', 'context', current, 'current-context');
  const clusterName = textOf(context, 'cluster');
  if (clusterName === undefined) throw wrong(`${context.where}.cluster`, 'is missing');
  const userName = textOf(context, 'user');
  const cluster = named(config, 'clusters', 'cluster', clusterName, `${context.where}.cluster`);
  const user =
    userName === undefined
      ? fieldsOf({}, 'user')
      : named(config, 'users', 'user', userName, `${context.where}.user`);
  return { cluster: clusterEntry(cluster, folder), user: userEntry(user, folder) };
}

function wrong(field: string, problem: string): StateletError {
  return invalid(`${field} ${problem}`);
}

/** The messages of the library show parts of the file: only the place is taken from them. */
function parsed(text: string): unknown {
  const lineCounter = new LineCounter();
  const options = { merge: true, prettyErrors: false, logLevel: 'silent', lineCounter } as const;
  const document = parseDocument(text, options);
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw invalid(`is no valid YAML at line ${line}, column ${col} (${error.code})`);
  }
  const value: unknown = document.toJS();
  if (value === null || value === undefined) throw invalid('is empty');
  return value;
}

/** `users[].user` by its name. */
function named(config: Fields, list: string, key: string, name: string, reference: string): Fields {
  const entry = entriesOf(config, list).find((one) => textOf(one, 'name') === name);
  if (entry === undefined) {
    throw wrong(reference, `names ${name}, which is not among the ${list} (${namesIn(config, list)})`);
  }
  return fieldsOf(entry.values[key], `${entry.where}.${key}`);
}

function entriesOf(config: Fields, list: string): readonly Fields[] {
  const entries = config.values[list];
  if (entries === undefined || entries === null) return [];
  if (!Array.isArray(entries)) throw wrong(list, 'must be a list');
  return entries.map((entry: unknown, index) => {
    const name = (entry as { name?: unknown } | null)?.name;
    return fieldsOf(entry, typeof name === 'string' ? `${list}[${name}]` : `${list}[${index}]`);
  });
}

function namesIn(config: Fields, list: string): string {
  return (
    entriesOf(config, list)
      .flatMap((entry) => textOf(entry, 'name') ?? [])
      .join(', ') || 'there are none'
  );
}

function clusterEntry(cluster: Fields, folder: string): ClusterEntry {
  const ca = materialOf(cluster, 'certificate-authority', folder);
  const insecureSkipTLSVerify = flagOf(cluster, 'insecure-skip-tls-verify') ?? false;
  if (insecureSkipTLSVerify && ca !== undefined) {
    throw wrong(`${cluster.where}.insecure-skip-tls-verify`, `must not be true together with ${ca.field}`);
  }
  return {
    server: serverOf(cluster, ca !== undefined || insecureSkipTLSVerify),
    ca,
    insecureSkipTLSVerify,
    tlsServerName: textOf(cluster, 'tls-server-name'),
    proxyURL: proxyOf(cluster),
    execConfig: execConfigOf(cluster),
  };
}

/** An address without a scheme is `https` where something is said about TLS. */
function serverOf(cluster: Fields, hasTLS: boolean): string {
  const field = `${cluster.where}.server`;
  const server = textOf(cluster, 'server');
  if (server === undefined) throw wrong(field, 'is missing');
  const full = server.includes('://') ? server : `${hasTLS ? 'https' : 'http'}://${server}`;
  const url = URL.parse(full);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw wrong(field, 'must be a URL such as https://10.0.0.1:6443');
  }
  if (url.username !== '' || url.password !== '')
    throw wrong(field, 'must not hold a password: put it into users');
  return full.replace(/(?<!\/)\/+$/, '');
}

function proxyOf(cluster: Fields): string | undefined {
  const proxy = textOf(cluster, 'proxy-url');
  if (proxy === undefined) return undefined;
  const schemes = ['http:', 'https:', 'socks5:', 'socks5h:'];
  if (schemes.includes(URL.parse(proxy)?.protocol ?? '')) return proxy;
  throw wrong(`${cluster.where}.proxy-url`, 'must be a URL that begins with http, https, socks5 or socks5h');
}

function execConfigOf(cluster: Fields): unknown {
  const extension = entriesOf(cluster, 'extensions').find(
    (one) => textOf(one, 'name') === 'client.authentication.k8s.io/exec',
  );
  return extension?.values.extension;
}

/** `FIELD-data` wins over `FIELD`. */
function materialOf(fields: Fields, field: string, folder: string): Material | undefined {
  const data = textOf(fields, `${field}-data`);
  if (data !== undefined) return { field: `${fields.where}.${field}-data`, data };
  return fileOf(fields, field, folder);
}

function fileOf(fields: Fields, field: string, folder: string): Material | undefined {
  const file = textOf(fields, field);
  if (file === undefined) return undefined;
  return { field: `${fields.where}.${field}`, file: isAbsolute(file) ? file : resolve(folder, file) };
}

function userEntry(user: Fields, folder: string): UserEntry {
  const entry: UserEntry = {
    cert: materialOf(user, 'client-certificate', folder),
    key: materialOf(user, 'client-key', folder),
    token: textOf(user, 'token'),
    tokenFile: fileOf(user, 'tokenFile', folder),
    username: textOf(user, 'username'),
    password: textOf(user, 'password'),
    exec: execEntry(user, folder),
    impersonation: impersonationOf(user),
  };
  checkMethods(user, entry);
  return entry;
}

function checkMethods({ where, values }: Fields, entry: UserEntry): void {
  const { cert, key, token, tokenFile, username, password, exec } = entry;
  if (values['auth-provider'] !== undefined && values['auth-provider'] !== null)
    throw wrong(`${where}.auth-provider`, 'is not supported, as in the kubelet: use exec');
  if (cert !== undefined && key === undefined)
    throw wrong(`${where}.client-key`, `is missing: ${cert.field} needs it`);
  if (key !== undefined && cert === undefined) {
    throw wrong(`${where}.client-certificate`, `is missing: ${key.field} needs it`);
  }
  if (username === undefined && password !== undefined)
    throw wrong(`${where}.username`, 'is missing: password needs it');
  const methods = [
    ...(token === undefined && tokenFile === undefined ? [] : ['a token']),
    ...(username === undefined ? [] : ['a password']),
    ...(exec === undefined ? [] : ['exec']),
  ];
  if (methods.length > 1) throw wrong(where, `must have only one of: ${methods.join(', ')}`);
}

function impersonationOf(user: Fields): Impersonation | undefined {
  const name = textOf(user, 'as');
  const uid = textOf(user, 'as-uid');
  const groups = textsOf(user, 'as-groups');
  const extra = extraOf(user);
  if (name !== undefined) return { user: name, uid, groups, extra };
  if (uid === undefined && groups.length === 0 && Object.keys(extra).length === 0) return undefined;
  throw wrong(`${user.where}.as`, 'is missing: as-uid, as-groups and as-user-extra need it');
}

function extraOf(user: Fields): Record<string, readonly string[]> {
  const values = user.values['as-user-extra'];
  if (values === undefined || values === null) return {};
  const extra = fieldsOf(values, `${user.where}.as-user-extra`);
  return Object.fromEntries(Object.keys(extra.values).map((key) => [key, textsOf(extra, key)]));
}
