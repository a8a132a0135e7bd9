/** Certificates for a control plane of a test, as files. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  alternativeNames,
  type CertificateContent,
  type Issuer,
  type KeyPair,
  nameOf,
  newKeyPair,
  ofAuthority,
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
    const content = { subject: CertificateAuthority.#NAME, ...validity(Date.now(), 30) };
    write(this.files, newKeyPair({ ...content, extensions: ofAuthority() }));
    return this;
  }

  /** The files of an earlier certificate of that name are overwritten. */
  issue(request: CertificateRequest): CertificateFiles {
    const { name, usage, days = 30, notBefore = Date.now(), signer = this } = request;
    const files = this.filesOf(name);
    const extensions = [
      ...usages(['digital signature', 'key encipherment', usage]),
      ...alternativeNames(parsedNames(request.alternativeNames)),
    ];
    const content = { subject: nameOf(request), ...validity(notBefore, days), extensions };
    write(files, newKeyPair(content, signer.#issuer));
    return files;
  }

  /** Its key is read from its file: an authority in another process may have made it. */
  get #issuer(): Issuer {
    return { name: CertificateAuthority.#NAME, key: readFileSync(this.files.key, 'utf8') };
  }
}

function write(files: CertificateFiles, { key, cert }: KeyPair): void {
  writeFileSync(files.key, key, { mode: 0o600 });
  writeFileSync(files.cert, cert);
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
