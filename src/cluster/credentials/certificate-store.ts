/**
 * Where the node keeps a certificate, as the kubelet does: `PREFIX-<time>.pem` has the certificates and then the key, and
 * `PREFIX-current.pem` is a link to the newest one. Older ones stay.
 */
import { lstat, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readProvidedFile } from '../../system/files/foreign-file.ts';
import { makeFolder } from '../../system/make-folder.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { errnoCode, ifThere } from '../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { type CertificatePair, certificatePair } from './certificate-pair.ts';

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

  /** Undefined where there is none. Rejects with the name of the file where it cannot be read or does not hold. */
  async current(): Promise<CertificatePair | undefined> {
    await this.#finishUpdate();
    try {
      const text = await ifThere(readProvidedFile(this.currentPath));
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
