/** What has become of a certificate signing request. */
import type { CertificateSigningRequest } from '../../types/kubernetes.ts';

export type SigningDecision =
  | { readonly kind: 'issued'; /** Base64. */ readonly certificate: string }
  | { readonly kind: 'waiting'; readonly for: 'approval' | 'signature' }
  | { readonly kind: 'refused'; readonly problem: string };

/** `uid`: of the request that was made; another one of its name is not ours. */
export function signingDecision(
  { metadata, status }: CertificateSigningRequest,
  uid: string | undefined,
): SigningDecision {
  if (uid !== undefined && metadata?.uid !== uid) {
    return { kind: 'refused', problem: 'it was replaced by another request of the same name' };
  }
  const conditions = (status?.conditions ?? []).filter((condition) => condition.status !== 'False');
  for (const { type, reason = '', message = '' } of conditions) {
    if (type === 'Denied') return { kind: 'refused', problem: `it was denied: ${reason} ${message}`.trim() };
    if (type === 'Failed')
      return { kind: 'refused', problem: `the signer failed: ${reason} ${message}`.trim() };
  }
  if (!conditions.some(({ type }) => type === 'Approved')) return { kind: 'waiting', for: 'approval' };
  const certificate = status?.certificate ?? '';
  return certificate === '' ? { kind: 'waiting', for: 'signature' } : { kind: 'issued', certificate };
}
