/**
 * The key of a node that asks for a certificate once, without rotation. It is kept until there is the certificate, and the name of the
 * request is made of it: so an agent that starts again goes on with the request that it made before.
 */
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificatePurpose, CertificateTemplate } from '../../policies/cluster/certificates.ts';
import { makeFolder } from '../../system/make-folder.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { ifThere } from '../../system/system-errors.ts';
import { newPrivateKey } from './certificate-pair.ts';

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
