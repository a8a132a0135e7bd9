/** Signs a certificate signing request as the signers of Kubernetes do: the subject and the names are those of the request. */
import { X509Certificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Certificate } from '@peculiar/asn1-x509';
import { requested, type Subject, subjectOf, signedCertificate, usages } from '../signed-certificate.ts';

/** The certificate begins to be valid a bit earlier: clocks differ. */
const BACKDATE_MS = 5 * 60_000;

export interface Signer {
  /** In PEM. The key is of the curve P-256. */
  readonly cert: string;
  readonly key: string;
}

export interface SigningWish {
  /** The request in PEM. */
  readonly request: string;
  readonly usages: readonly string[];
  readonly nowMs: number;
  readonly seconds: number;
}

/** Throws if the text is no request. */
export function requestSubject(request: string): Required<Subject> {
  return subjectOf(requested(request).subject);
}

/** The certificate in PEM. */
export function signRequest({ cert, key }: Signer, wish: SigningWish): string {
  const { nowMs, seconds } = wish;
  const { names, ...content } = requested(wish.request);
  const authority = AsnConvert.parse(new X509Certificate(cert).raw, Certificate);
  return signedCertificate(
    { name: authority.tbsCertificate.subject, key },
    {
      ...content,
      notBefore: nowMs - BACKDATE_MS,
      notAfter: nowMs + seconds * 1000,
      extensions: [...usages(wish.usages), ...names],
    },
  );
}
