/** Reads a kubeconfig and everything that it refers to. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readProvidedFile } from '../../../system/files/foreign-file.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { ConnectionDetails } from '../service/api-server.ts';
import { type ExecCluster, runExecPlugin } from './exec-plugin.ts';
import {
  type ClusterEntry,
  type KubeconfigEntry,
  type Material,
  parseKubeconfig,
  type UserEntry,
} from './kubeconfig-entry.ts';

/** The content of a kubeconfig and its files. Secrets: never logged. */
export interface LoadedKubeconfig {
  readonly details: ConnectionDetails;
  /** The kubeconfig and the files that it names: when one of them changes, it is loaded again. */
  readonly files: readonly string[];
  /** Of the certificate authority, if the kubeconfig names a file. */
  readonly caFile?: string;
  /** Where the client certificate stands; undefined without one, and for one that a program has printed. */
  readonly certificateOrigin?: 'inline' | 'file';
  /** The credentials of a program end then. Unix milliseconds. */
  readonly expiresAtMs?: number;
  /** They come from a program, which may print others although no file has changed. */
  readonly isRenewable: boolean;
}

interface Materials {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

/** Rejects with `InvalidArgument` or `Unavailable`; the message names the file and the field. `deadlineMs`: for each file. */
export async function loadKubeconfig(path: string, deadlineMs?: number): Promise<LoadedKubeconfig> {
  const read = (file: string) => textOf(file, deadlineMs);
  try {
    const entry = parseKubeconfig(await read(path), path);
    const materials = await materialsOf(entry, read);
    return { ...(await authenticated(entry, materials)), files: [path, ...filesOf(entry)] };
  } catch (error) {
    const kind = error instanceof StateletError ? errorKind(error) : 'InvalidArgument';
    throw new StateletError(kind, `kubeconfig ${path}: ${errorMessage(error)}`);
  }
}

function filesOf({ cluster, user }: KubeconfigEntry): string[] {
  const materials = [cluster.ca, user.cert, user.key, user.tokenFile];
  return [...new Set(materials.flatMap((material) => material?.file ?? []))];
}

type Read = (file: string) => Promise<string>;

async function textOf(path: string, deadlineMs: number | undefined): Promise<string> {
  try {
    return await readProvidedFile(path, { deadlineMs });
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') throw new Error('does not exist', { cause: error });
    if (error instanceof StateletError && error.kind !== 'DeadlineExceeded')
      throw new Error(error.message, { cause: error });
    if (error instanceof StateletError)
      throw new StateletError('Unavailable', error.message, { cause: error });
    if (errnoCode(error) === 'EACCES') throw new Error('may not be read by this user', { cause: error });
    throw error;
  }
}

async function materialsOf({ cluster, user }: KubeconfigEntry, read: Read): Promise<Materials> {
  const [ca, cert, key] = await Promise.all(
    [cluster.ca, user.cert, user.key].map((material) => pemOf(material, read)),
  );
  const { tokenFile } = user;
  const token = tokenFile === undefined ? user.token : (await ofField(tokenFile, read)).trim();
  if (tokenFile !== undefined && token === '')
    throw new Error(`${tokenFile.field} ${tokenFile.file}: is empty`);
  checkCertificate(cluster.ca, ca);
  checkCertificate(user.cert, cert);
  checkKey(user, cert, key);
  return { ca, cert, key, token };
}

async function pemOf(material: Material | undefined, read: Read): Promise<string | undefined> {
  if (material === undefined) return undefined;
  if (material.file !== undefined) return ofField(material, read);
  const { data = '', field } = material;
  if (!/^[A-Za-z0-9+/\s]*={0,2}$/.test(data.trimEnd())) throw new Error(`${field} must be base64`);
  return Buffer.from(data, 'base64').toString('utf8');
}

async function ofField({ field, file = '' }: Material, read: Read): Promise<string> {
  try {
    return await read(file);
  } catch (error) {
    throw new Error(`${field}: ${file} ${errorMessage(error)}`, { cause: error });
  }
}

function nameOf({ field, file }: Material): string {
  return file === undefined ? field : `${field}: ${file}`;
}

function checkCertificate(material: Material | undefined, pem: string | undefined): void {
  if (material === undefined || pem === undefined) return;
  try {
    new X509Certificate(pem);
  } catch {
    throw new Error(`${nameOf(material)} must hold a certificate in PEM`);
  }
}

function checkKey(user: UserEntry, cert: string | undefined, pem: string | undefined): void {
  if (user.key === undefined || user.cert === undefined || pem === undefined || cert === undefined) return;
  const key = privateKey(pem);
  if (key === undefined)
    throw new Error(`${nameOf(user.key)} must hold a private key in PEM, without a password`);
  if (!new X509Certificate(cert).checkPrivateKey(key)) {
    throw new Error(`${nameOf(user.key)} is not the key of the certificate in ${nameOf(user.cert)}`);
  }
}

function privateKey(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

async function authenticated(
  entry: KubeconfigEntry,
  { ca, cert, key, token }: Materials,
): Promise<Omit<LoadedKubeconfig, 'files'>> {
  const { cluster, user } = entry;
  const { server, tlsServerName, proxyURL } = cluster;
  const printed = user.exec && (await runExecPlugin(user.exec, execCluster(cluster, ca)));
  const expiresAtMs = Date.parse(printed?.expirationTimestamp ?? '');
  const headers = {
    ...authorization(user, printed?.token ?? token),
    ...impersonationHeaders(user),
  };
  checkHeaders(headers);
  const details: ConnectionDetails = {
    server,
    ca,
    cert: printed?.clientCertificateData ?? cert,
    key: printed?.clientKeyData ?? key,
    tlsServerName,
    insecureSkipTLSVerify: cluster.insecureSkipTLSVerify || undefined,
    proxyURL,
    headers,
  };
  return {
    details,
    caFile: cluster.ca?.file,
    certificateOrigin: user.cert && (user.cert.file === undefined ? 'inline' : 'file'),
    expiresAtMs: Number.isNaN(expiresAtMs) ? undefined : expiresAtMs,
    isRenewable: printed !== undefined,
  };
}

function authorization(
  { username, password = '' }: UserEntry,
  token: string | undefined,
): Record<string, string> {
  if (token !== undefined) return { Authorization: `Bearer ${token}` };
  return username === undefined ? {} : { Authorization: `Basic ${base64(`${username}:${password}`)}` };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function execCluster(cluster: ClusterEntry, ca: string | undefined): ExecCluster {
  const { server, tlsServerName, insecureSkipTLSVerify, proxyURL, execConfig } = cluster;
  return {
    server,
    'tls-server-name': tlsServerName,
    'insecure-skip-tls-verify': insecureSkipTLSVerify || undefined,
    'certificate-authority-data': ca && base64(ca),
    'proxy-url': proxyURL,
    config: execConfig,
  };
}

function impersonationHeaders({ impersonation }: UserEntry): Record<string, string | string[]> {
  if (impersonation === undefined) return {};
  const { user, uid, groups, extra } = impersonation;
  const extras = Object.entries(extra).map(([key, values]): [string, string[]] => [
    `Impersonate-Extra-${encodeURIComponent(key.toLowerCase())}`,
    [...values],
  ]);
  return {
    'Impersonate-User': user,
    ...(uid !== undefined && { 'Impersonate-Uid': uid }),
    ...(groups.length > 0 && { 'Impersonate-Group': [...groups] }),
    ...Object.fromEntries(extras),
  };
}

/** A line break in a token would make other headers of its rest. */
function checkHeaders(headers: Readonly<Record<string, string | readonly string[]>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if ([value].flat().some((text) => /[^\t\x20-\x7e\x80-\xff]/.test(text))) {
      const cause = name === 'Authorization' ? 'the token or password' : 'a name to impersonate';
      throw new Error(`${cause} has a character that is not allowed in a header, for example a line break`);
    }
  }
}
