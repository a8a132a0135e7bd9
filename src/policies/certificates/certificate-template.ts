/** What a certificate of a node must say: client-go's templates of the kubelet's certificates. */
import type { NodeAddress } from '../../types/kubernetes.ts';
import { parseIPAddress } from '../formats/ip-address.ts';

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
export function nodeUser(nodeName: string): string {
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
