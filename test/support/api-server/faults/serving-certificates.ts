/** Serving certificates that are wrong in one way, for a double that serves them. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CertificateAuthority } from '../../control-plane/certificates.ts';
import { signedCertificate } from '../sign-request.ts';

const run = promisify(execFile);
const DAY_SECONDS = 24 * 3600;
export const DAY_MS = DAY_SECONDS * 1000;

export interface ServingCertificate {
  /** Of the files. */
  readonly name: string;
  /** Default: the address of the double. */
  readonly alternativeNames?: string;
  /** Default: now. */
  readonly fromMs?: number;
  /** Who signs it. Default: the authority in whose folder it is. */
  readonly signer?: CertificateAuthority;
}

/** The certificate is valid for a day. */
export async function issueServing(authority: CertificateAuthority, wish: ServingCertificate): Promise<void> {
  const { name, alternativeNames = 'IP:127.0.0.1', fromMs = Date.now(), signer = authority } = wish;
  const { cert, key } = authority.filesOf(name);
  const request = join(authority.dir, `${name}.csr`);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
  const names = ['-subj', '/CN=kube-apiserver', '-addext', `subjectAltName=${alternativeNames}`];
  await run('openssl', ['req', '-new', ...newKey, ...names, '-out', request]);
  const [certText, keyText] = [signer.files.cert, signer.files.key].map((file) => readFileSync(file, 'utf8'));
  const signed = signedCertificate(
    { cert: certText ?? '', key: keyText ?? '' },
    {
      request: readFileSync(request, 'utf8'),
      usages: ['digital signature', 'server auth'],
      nowMs: fromMs,
      seconds: DAY_SECONDS,
    },
  );
  writeFileSync(cert, signed);
}
