/** Certificates for a control plane of a test, as files. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  alternativeNames,
  type CertificateContent,
  nameOf,
  newKey,
  ofAuthority,
  publicKeyOf,
  signedCertificate,
  type Subject,
  usages,
} from '../signed-certificate.ts';

const DAY_MS = 24 * 3_600_000;

export interface CertificateRequest extends Subject {
  /** The name of the files. */
  readonly name: string;
  readonly usage: 'client auth' | 'server auth';
  /** `IP:127.0.0.1,DNS:localhost`. */
  readonly alternativeNames?: string;
  /** Unix ms. Default: now. */
  readonly notBefore?: number;
  /** Default 30. 0: the certificate has expired when it is made. */
  readonly days?: number;
  /** Who signs it. Default: the authority in whose folder it is. */
  readonly signer?: CertificateAuthority;
}

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** An authority in a folder. */
export class CertificateAuthority {
  static readonly #NAME = nameOf({ commonName: 'test-ca' });
  readonly dir: string;
  readonly files: CertificateFiles;

  constructor(dir: string) {
    this.dir = dir;
    this.files = this.filesOf('ca');
  }

  filesOf(name: string): CertificateFiles {
    return { cert: join(this.dir, `${name}.crt`), key: join(this.dir, `${name}.key`) };
  }

  create(): this {
    const key = newKey();
    writeFileSync(this.files.key, key, { mode: 0o600 });
    const content = { subject: CertificateAuthority.#NAME, ...validity(Date.now(), 30) };
    const cert = this.#signed({ ...content, publicKey: publicKeyOf(key), extensions: ofAuthority() });
    writeFileSync(this.files.cert, cert);
    return this;
  }

  /** The files of an earlier certificate of that name are overwritten. */
  issue(request: CertificateRequest): CertificateFiles {
    const { name, usage, days = 30, notBefore = Date.now(), signer = this } = request;
    const files = this.filesOf(name);
    const key = newKey();
    const cert = signer.#signed({
      subject: nameOf(request),
      publicKey: publicKeyOf(key),
      ...validity(notBefore, days),
      extensions: [
        ...usages(['digital signature', 'key encipherment', usage]),
        ...alternativeNames(parsedNames(request.alternativeNames)),
      ],
    });
    writeFileSync(files.key, key, { mode: 0o600 });
    writeFileSync(files.cert, cert);
    return files;
  }

  #signed(content: CertificateContent): string {
    const key = readFileSync(this.files.key, 'utf8');
    return signedCertificate({ name: CertificateAuthority.#NAME, key }, content);
  }
}

function validity(notBefore: number, days: number): Pick<CertificateContent, 'notBefore' | 'notAfter'> {
  return { notBefore, notAfter: notBefore + days * DAY_MS };
}

function parsedNames(text = ''): { dnsNames: readonly string[]; ipAddresses: readonly string[] } {
  const names = text.split(',');
  const ofKind = (kind: string) =>
    names.filter((name) => name.startsWith(kind)).map((name) => name.slice(kind.length));
  return { dnsNames: ofKind('DNS:'), ipAddresses: ofKind('IP:') };
}
