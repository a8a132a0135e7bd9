/** The certificates of a node: what they say, and when the node asks for another one, as client-go's certificate manager does. */
import type { CertificateSigningRequest, NodeAddress } from '../../../types/kubernetes.ts';
import { parseIPAddress } from '../formats/ip-address.ts';
import { rfc3339 } from '../formats/time.ts';

/** What a certificate says. */
export interface CertificateFacts extends CertificateTemplate {
  /** Unix milliseconds. */
  readonly notBefore: number;
  /** Unix milliseconds. */
  readonly notAfter: number;
}

/** Whether the certificate says all that the template asks for. It may say more. */
export function satisfiesTemplate(certificate: CertificateFacts, template: CertificateTemplate): boolean {
  return (
    certificate.commonName === template.commonName &&
    hasAll(certificate.organizations, template.organizations) &&
    hasAll(certificate.dnsNames, template.dnsNames) &&
    hasAll(certificate.ipAddresses.map(comparable), template.ipAddresses.map(comparable))
  );
}

function comparable(ip: string): string {
  return parseIPAddress(ip)?.text ?? ip;
}

function hasAll(values: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((value) => values.includes(value));
}

/** At 70 to 90 per cent of its life, so that nodes that came at the same time do not ask at the same time. `random` is in [0, 1). */
export function renewalTime({ notBefore, notAfter }: CertificateFacts, random: number): number {
  return Math.round(notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random));
}

export function isExpired({ notAfter }: CertificateFacts, now: number): boolean {
  return now > notAfter;
}

const FIRST_RETRY_MS = 2_000;
const LATER_RETRY_MS = 32_000;

/** How long to wait after this many failures in a row: 2 s, doubled three times, with up to a tenth more; then each 32 s. */
export function retryDelayMs(failures: number, random: number): number {
  if (failures > 4) return LATER_RETRY_MS;
  return Math.round(FIRST_RETRY_MS * 2 ** (failures - 1) * (1 + 0.1 * random));
}

/** How long a node waits until its request is approved and signed. Then it makes another one. */
export const ISSUE_TIMEOUT_MS = 15 * 60_000;
/** The same for a node that keeps its request under one name. */
export const NAMED_ISSUE_TIMEOUT_MS = 60 * 60_000;

/** How long an agent goes on without a valid client certificate if the server refuses to give it another one. */
export const GIVE_UP_AFTER_MS = 5 * 60_000;

// What a certificate of a node must say: client-go's templates of the kubelet's certificates.

export interface CertificateTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Sorted. */
  readonly dnsNames: readonly string[];
  /** Sorted. */
  readonly ipAddresses: readonly string[];
}

/** Who signs a certificate, and what it may be used for. */
export interface CertificatePurpose {
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** The keys are on the curve P-256: only an RSA key needs `key encipherment`. */
export const CLIENT_PURPOSE: CertificatePurpose = {
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
};

export const SERVING_PURPOSE: CertificatePurpose = {
  signerName: 'kubernetes.io/kubelet-serving',
  usages: ['digital signature', 'server auth'],
};

/** The name by which the API server knows the node. */
function nodeUser(nodeName: string): string {
  return `system:node:${nodeName}`;
}

export function clientTemplate(nodeName: string): CertificateTemplate {
  return { commonName: nodeUser(nodeName), organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
}

/** Undefined while the node has no IP address: the signer refuses a certificate without one. */
export function servingTemplate(
  nodeName: string,
  addresses: readonly NodeAddress[],
): CertificateTemplate | undefined {
  const { dnsNames, ipAddresses } = alternativeNames(addresses);
  return ipAddresses.length === 0 ? undefined : { ...clientTemplate(nodeName), dnsNames, ipAddresses };
}

/** A host name that is an IP address counts as one; an external or internal IP that is none is left out. */
export function alternativeNames(
  addresses: readonly NodeAddress[],
): Pick<CertificateTemplate, 'dnsNames' | 'ipAddresses'> {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    if (address === '') continue;
    const ip = parseIPAddress(address)?.text;
    if (type.endsWith('DNS') || (type === 'Hostname' && ip === undefined)) dnsNames.add(address);
    else if (ip !== undefined) ipAddresses.add(ip);
  }
  return { dnsNames: [...dnsNames].sort(), ipAddresses: [...ipAddresses].sort() };
}

/**
 * These are no errors: the API server decides whom it accepts, and its clock may differ. Plain texts, without the name of the file.
 */
export function credentialWarnings(certificate: CertificateFacts, nodeName: string, now: number): string[] {
  const { commonName, organizations, notBefore, notAfter } = certificate;
  const user = nodeUser(nodeName);
  return [
    ...(isExpired(certificate, now)
      ? [`it expired at ${rfc3339(notAfter)}, by the clock of this machine`]
      : []),
    ...(now < notBefore
      ? [`it is valid only from ${rfc3339(notBefore)} on, by the clock of this machine`]
      : []),
    ...(commonName !== user
      ? [`it is for the user ${commonName}: what a node may do, the API server allows ${user}`]
      : []),
    ...(commonName === user && !organizations.includes('system:nodes')
      ? ['it does not name the group system:nodes, to which the API server gives the rights of a node']
      : []),
  ];
}

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
