/** When a node asks for another certificate: client-go's certificate manager. */
import type { CertificateTemplate } from './certificate-template.ts';
import { parseIPAddress } from '../formats/ip-address.ts';

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

/** So long a node waits for a request to be approved and signed. Then it makes another one. */
export const ISSUE_TIMEOUT_MS = 15 * 60_000;
/** The same for a node that keeps its request under one name. */
export const NAMED_ISSUE_TIMEOUT_MS = 60 * 60_000;

/** So long an agent goes on without a valid client certificate if the server refuses to give it another one. */
export const GIVE_UP_AFTER_MS = 5 * 60_000;
