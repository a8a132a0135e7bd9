/** A certificate of this node with its key. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import type { CertificateFacts } from '../../policies/cluster/certificates.ts';
import { invalid } from '../../../types/errors.ts';

export interface CertificatePair {
  /** PEM; the node's own certificate first, then those between it and the authority. */
  readonly cert: string;
  /** PEM. Never logged. */
  readonly key: string;
  readonly facts: CertificateFacts;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const PRIVATE_KEY = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----/;

/** A new key on the curve P-256, in PEM. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

/** From texts that may hold more than the certificates and the key. Throws `InvalidArgument`. */
export function certificatePair(certText: string, keyText: string): CertificatePair {
  const chain = certText.match(CERTIFICATE) ?? [];
  const [key] = PRIVATE_KEY.exec(keyText) ?? [];
  if (chain[0] === undefined) throw invalid('holds no certificate in PEM');
  if (key === undefined) throw invalid('holds no private key in PEM');
  const certificate = parsed(() => new X509Certificate(chain[0] ?? ''), 'holds no valid certificate');
  const privateKey: KeyObject = parsed(() => createPrivateKey(key), 'holds no valid private key');
  if (!certificate.checkPrivateKey(privateKey))
    throw invalid('holds a key that is not that of its certificate');
  return { cert: `${chain.join('\n')}\n`, key: `${key}\n`, facts: certificateFacts(certificate) };
}

function parsed<T>(parse: () => T, problem: string): T {
  try {
    return parse();
  } catch {
    throw invalid(problem);
  }
}

function certificateFacts(certificate: X509Certificate): CertificateFacts {
  const { subject } = certificate.toLegacyObject() as unknown as {
    readonly subject?: Readonly<Record<string, string | readonly string[] | undefined>>;
  };
  return {
    commonName: [subject?.CN ?? ''].flat().at(-1) ?? '',
    organizations: [subject?.O ?? []].flat(),
    ...alternativeNamesOf(certificate.subjectAltName ?? ''),
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

/** `DNS:node-1, IP Address:10.0.0.1`. */
function alternativeNamesOf(text: string): Pick<CertificateFacts, 'dnsNames' | 'ipAddresses'> {
  const parts = text.split(', ');
  const after = (prefix: string) =>
    parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length));
  return { dnsNames: after('DNS:'), ipAddresses: after('IP Address:') };
}
