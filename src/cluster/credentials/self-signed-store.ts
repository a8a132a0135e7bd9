/** The certificate with which a node serves where nobody gives it one: `kubelet.crt` and `kubelet.key`, as the kubelet names them. */
import { join } from 'node:path';
import { isExpired } from '../../policies/cluster/certificates.ts';
import { readProvidedFile } from '../../system/files/foreign-file.ts';
import { makeFolder } from '../../system/make-folder.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { type CertificatePair, certificatePair } from './certificate-pair.ts';
import { selfSignedApart } from './own-process.ts';

const YEAR_MS = 365 * 24 * 60 * 60_000;
/** Clients whose clock is a little behind accept the certificate too. */
const BEFORE_MS = 60 * 60_000;

export interface SelfSignedOptions {
  /** Where certificates are kept. */
  readonly certDir: string;
  readonly hostName: string;
  readonly now: number;
}

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

/** A pair that is not there, or does not hold, is made anew. */
async function storedPair({
  cert,
  key,
}: ReturnType<typeof selfSignedFiles>): Promise<CertificatePair | undefined> {
  try {
    const [certText, keyText] = await Promise.all([readProvidedFile(cert), readProvidedFile(key)]);
    return certificatePair(certText, keyText);
  } catch {
    return undefined;
  }
}
