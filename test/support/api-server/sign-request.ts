/** Signs a certificate signing request (PKCS #10) as the signers of Kubernetes do: the subject and the names are those of the request. */
import { createPrivateKey, randomBytes, sign, X509Certificate } from 'node:crypto';
import { CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
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

export interface RequestSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** Throws if the text is no request. */
export function requestSubject(request: string): RequestSubject {
  const { subject } = parsed(request).certificationRequestInfo;
  const all = [...subject].flatMap((names) => [...names]);
  const textsOf = (type: string) =>
    all.filter((attribute) => attribute.type === type).map(({ value }) => value.toString());
  return { commonName: textsOf('2.5.4.3')[0] ?? '', organizations: textsOf('2.5.4.10') };
}

/** The certificate in PEM. */
export function signedCertificate({ cert, key }: Signer, wish: SigningWish): string {
  const { certificationRequestInfo: info } = parsed(wish.request);
  const authority = AsnConvert.parse(new X509Certificate(cert).raw, Certificate);
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    // A positive number: the first byte is below 128.
    serialNumber: Uint8Array.from([1, ...randomBytes(15)]).buffer,
    signature: algorithm,
    issuer: authority.tbsCertificate.subject,
    subject: info.subject,
    subjectPublicKeyInfo: info.subjectPKInfo,
    validity: new Validity({
      notBefore: new Date(wish.nowMs - BACKDATE_MS),
      notAfter: new Date(wish.nowMs + wish.seconds * 1000),
    }),
    extensions: new Extensions([...usageExtensions(wish.usages), ...namesOf(info.attributes)]),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), createPrivateKey(key));
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: Uint8Array.from(signature).buffer,
  });
  const lines =
    Buffer.from(AsnConvert.serialize(certificate))
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function parsed(request: string): CertificationRequest {
  const [, base64] = /-----BEGIN CERTIFICATE REQUEST-----([^-]+)-----END/.exec(request) ?? [];
  if (base64 === undefined) throw new Error('PEM block type must be CERTIFICATE REQUEST');
  return AsnConvert.parse(Buffer.from(base64, 'base64'), CertificationRequest);
}

function usageExtensions(usages: readonly string[]): Extension[] {
  let flags = 0;
  if (usages.includes('digital signature')) flags |= KeyUsageFlags.digitalSignature;
  if (usages.includes('key encipherment')) flags |= KeyUsageFlags.keyEncipherment;
  const purposes = [
    ...(usages.includes('client auth') ? [id_kp_clientAuth] : []),
    ...(usages.includes('server auth') ? [id_kp_serverAuth] : []),
  ];
  return [
    extension(id_ce_keyUsage, new KeyUsage(flags), true),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage(purposes)),
  ];
}

function extension(extnID: string, value: unknown, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

/** The names that the request asks for. */
function namesOf(attributes: CertificationRequest['certificationRequestInfo']['attributes']): Extension[] {
  const requested = [...attributes].find(({ type }) => type === EXTENSION_REQUEST)?.values[0];
  if (requested === undefined) return [];
  return [...AsnConvert.parse(requested, Extensions)].filter(({ extnID }) => extnID === id_ce_subjectAltName);
}
