/**
 * Where the node keeps a certificate, as the kubelet does: `PREFIX-<time>.pem` has the certificates and then the key, and
 * `PREFIX-current.pem` is a link to the newest one. Older ones stay.
 */
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { lstat, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type CertificatePurpose,
  type CertificateTemplate,
  isExpired,
} from '../../policies/cluster/certificates.ts';
import { readProvidedFile } from '../../../system/files/foreign-file.ts';
import { START_DEADLINE_MS } from '../../../system/files/patient-calls.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { errnoCode, ifThere } from '../../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import { type CertificatePair, certificatePair, newPrivateKey } from './certificate-pair.ts';
import { selfSignedApart } from './ask-credentials-process.ts';

/** Only its owner may read a key. */
const MODE = 0o600;

export class CertificateStore {
  readonly folder: string;
  readonly currentPath: string;
  readonly #prefix: string;

  /** The prefixes of the kubelet are `kubelet-client` and `kubelet-server`. */
  constructor(folder: string, prefix: string) {
    this.folder = folder;
    this.#prefix = prefix;
    this.currentPath = this.#path('current');
  }

  /** Read when the agent starts. Undefined where there is none. Rejects with the name of the file where it cannot be read or is not valid. */
  async current(): Promise<CertificatePair | undefined> {
    await this.#finishUpdate();
    try {
      const text = await ifThere(readProvidedFile(this.currentPath, { deadlineMs: START_DEADLINE_MS }));
      return text === undefined ? undefined : certificatePair(text, text);
    } catch (error) {
      throw new StateletError('FailedPrecondition', `${this.currentPath}: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** Stores a new pair and makes it the current one. Throws `InvalidArgument` when the key is not that of the certificate. */
  async update(cert: string, key: string, now: number): Promise<CertificatePair> {
    const pair = certificatePair(cert, key);
    try {
      await makeFolder(this.folder);
      const path = this.#path(fileTime(now));
      await replaceFile(path, pair.cert + pair.key, { mode: MODE, flush: true });
      const link = this.#path('updated');
      await rm(link, { force: true });
      await symlink(path, link);
      await rename(link, this.currentPath);
    } catch (error) {
      const problem = `${this.folder}: the new certificate cannot be stored: ${errorMessage(error)}`;
      throw new StateletError('FailedPrecondition', problem, { cause: error });
    }
    return pair;
  }

  /** An agent that was killed between the two steps of an update left the new link under its first name. */
  async #finishUpdate(): Promise<void> {
    if ((await ifThere(stat(this.currentPath)).catch(() => undefined)) !== undefined) return;
    const link = this.#path('updated');
    const stats = await lstat(link).catch((error: unknown) => {
      if (errnoCode(error) === 'ENOENT' || errnoCode(error) === 'ENOTDIR') return undefined;
      throw error;
    });
    if (stats?.isSymbolicLink() === true) await rename(link, this.currentPath);
  }

  #path(name: string): string {
    return join(this.folder, `${this.#prefix}-${name}.pem`);
  }
}

/** `2026-01-31-12-00-00`, in the time zone of the machine. */
function fileTime(now: number): string {
  const date = new Date(now);
  const parts = [date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
  return [date.getFullYear(), ...parts.map((part) => String(part).padStart(2, '0'))].join('-');
}

/**
 * The key of a node that asks for a certificate once, without rotation. It is kept until the certificate is there, and the name of the
 * request is made from it: so an agent that starts again goes on with the request that it made before.
 */
export class KeptKey {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, 'kubelet-client.key.tmp');
  }

  /** In PEM: the one that is kept, or a new one. */
  async get(): Promise<string> {
    const kept = await ifThere(readFile(this.#path, 'utf8'));
    if (kept !== undefined && isOnP256(kept)) return kept;
    const key = newPrivateKey();
    await makeFolder(this.#folder);
    await replaceFile(this.#path, key, { mode: 0o600, flush: true });
    return key;
  }

  async drop(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

function isOnP256(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/** `node-csr-` and a hash of what is asked for, as the kubelet makes it. */
export function requestNameOf(
  key: string,
  template: CertificateTemplate,
  { usages }: CertificatePurpose,
): string {
  const publicKey = createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' });
  const hash = createHash('sha512-256');
  for (const part of [publicKey, template.commonName, ...template.organizations, ...usages]) {
    // The separator is no letter of base64: no two lists of parts are hashed alike.
    hash.update(`${Buffer.from(part).toString('base64url')}|`);
  }
  return `node-csr-${hash.digest('base64url')}`;
}

const YEAR_MS = 365 * 24 * 60 * 60_000;

/** Clients whose clock is a little behind accept the certificate too. */
const BEFORE_MS = 60 * 60_000;

export interface SelfSignedOptions {
  /** Where certificates are kept. */
  readonly certDir: string;
  readonly hostName: string;
  readonly now: number;
}

/** The serving certificate of a node that is given none, under the kubelet's names. */
export function selfSignedFiles(certDir: string): { readonly cert: string; readonly key: string } {
  return { cert: join(certDir, 'kubelet.crt'), key: join(certDir, 'kubelet.key') };
}

/** Makes the two files, unless they hold a certificate that is valid. Rejects with `FailedPrecondition` where it cannot. */
export async function makeSelfSigned(options: SelfSignedOptions): Promise<void> {
  const { certDir, hostName, now } = options;
  const files = selfSignedFiles(certDir);
  const found = await storedPair(files);
  if (found !== undefined && !isExpired(found.facts, now)) return;
  const pair = await selfSignedApart({ hostName, notBefore: now - BEFORE_MS, notAfter: now + YEAR_MS });
  try {
    await makeFolder(certDir);
    await replaceFile(files.key, pair.key, { mode: 0o600, flush: true });
    await replaceFile(files.cert, pair.cert, { mode: 0o644, flush: true });
  } catch (error) {
    const problem = `${certDir}: the node's own serving certificate cannot be stored: ${errorMessage(error)}`;
    throw new StateletError('FailedPrecondition', problem, { cause: error });
  }
}

/** A pair that is not there, or not valid, is made anew. */
async function storedPair({
  cert,
  key,
}: ReturnType<typeof selfSignedFiles>): Promise<CertificatePair | undefined> {
  try {
    const patience = { deadlineMs: START_DEADLINE_MS };
    const [certText, keyText] = await Promise.all([
      readProvidedFile(cert, patience),
      readProvidedFile(key, patience),
    ]);
    return certificatePair(certText, keyText);
  } catch {
    return undefined;
  }
}
