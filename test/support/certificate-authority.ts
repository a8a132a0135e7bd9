/** A certificate authority for tests, in memory. */
import {
  alternativeNames,
  type AlternativeNames,
  type CertificateContent,
  type Issuer,
  nameOf,
  newKey,
  ofAuthority,
  publicKeyOf,
  requested,
  signedCertificate,
} from './signed-certificate.ts';

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

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
    const key = newKey();
    const name = nameOf({ commonName });
    this.#issuer = { name, key };
    this.cert = this.#signed({ subject: name, publicKey: publicKeyOf(key), extensions: ofAuthority() }, {});
  }

  /** A new key with a certificate. */
  keyPair(options: CertificateOptions = {}): KeyPair {
    const { commonName = 'test', organization } = options;
    const key = newKey();
    const subject = nameOf({ commonName, organizations: organization === undefined ? [] : [organization] });
    const content = { subject, publicKey: publicKeyOf(key), extensions: alternativeNames(options) };
    return { key, cert: this.#signed(content, options) };
  }

  /** The certificate that a signing request asks for, in PEM. */
  answer(request: string, options: CertificateOptions = {}): string {
    const { names, ...content } = requested(request);
    return this.#signed({ ...content, extensions: names }, options);
  }

  #signed(
    content: Omit<CertificateContent, 'notBefore' | 'notAfter'>,
    { notBefore = Date.now() - HOUR_MS, notAfter = Date.now() + HOUR_MS }: CertificateOptions,
  ): string {
    return signedCertificate(this.#issuer, { ...content, notBefore, notAfter });
  }
}
