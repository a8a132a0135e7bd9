/** A certificate authority for tests, in memory. */
import {
  alternativeNames,
  type AlternativeNames,
  type Issuer,
  type KeyPair,
  nameOf,
  newKeyPair,
  ofAuthority,
  requested,
  signedCertificate,
} from './signed-certificate.ts';

export type { KeyPair };

export interface CertificateOptions extends AlternativeNames {
  readonly commonName?: string;
  readonly organization?: string;
  /** Unix milliseconds. Default: an hour ago. */
  readonly notBefore?: number;
  /** Unix milliseconds. Default: in an hour. */
  readonly notAfter?: number;
}

const HOUR_MS = 3_600_000;

export class TestAuthority {
  readonly #issuer: Issuer;
  /** PEM. */
  readonly cert: string;

  constructor(commonName = 'test-ca') {
    const name = nameOf({ commonName });
    const { key, cert } = newKeyPair({ subject: name, ...validity({}), extensions: ofAuthority() });
    this.#issuer = { name, key };
    this.cert = cert;
  }

  /** A new key with a certificate. */
  keyPair(options: CertificateOptions = {}): KeyPair {
    const { commonName = 'test', organization } = options;
    const subject = nameOf({ commonName, organizations: organization === undefined ? [] : [organization] });
    const extensions = alternativeNames(options);
    return newKeyPair({ subject, ...validity(options), extensions }, this.#issuer);
  }

  /** The certificate that a signing request asks for, in PEM. */
  answer(request: string, options: CertificateOptions = {}): string {
    const { names, ...content } = requested(request);
    return signedCertificate(this.#issuer, { ...content, ...validity(options), extensions: names });
  }
}

function validity({ notBefore = Date.now() - HOUR_MS, notAfter = Date.now() + HOUR_MS }: CertificateOptions) {
  return { notBefore, notAfter };
}
