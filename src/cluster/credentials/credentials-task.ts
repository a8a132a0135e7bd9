/** What is done in the process for credentials. */
import type { CertificateTemplate } from '../../policies/cluster/certificates.ts';
import type { ErrorKind } from '../../types/errors.ts';

export interface SigningRequestInput {
  readonly template: CertificateTemplate;
  /** PEM. */
  readonly key: string;
}

/** A certificate that is signed with its own key. */
export interface SelfSignedInput {
  /** The subject, and the one DNS name. */
  readonly hostName: string;
  /** Unix milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export type CredentialsTask =
  | { readonly type: 'selfSigned'; readonly input: SelfSignedInput }
  | { readonly type: 'signingRequest'; readonly request: SigningRequestInput };

export type CredentialsAnswer =
  | { readonly result: unknown; readonly problem?: undefined }
  | { readonly problem: { readonly kind: ErrorKind; readonly message: string } };
