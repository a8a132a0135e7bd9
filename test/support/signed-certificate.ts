/** X.509 certificates for tests, signed with keys of the curve P-256. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export interface AlternativeNames {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

export interface Issuer {
  readonly name: Name;
  /** PEM. */
  readonly key: string;
}

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateContent {
  readonly subject: Name;
  readonly publicKey: SubjectPublicKeyInfo;
  /** Unix ms. */
  readonly notBefore: number;
  /** Unix ms. */
  readonly notAfter: number;
  readonly extensions: readonly Extension[];
}

/** A private key in PEM. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

/** A new key with its certificate. Without an issuer the certificate is signed by the key itself. */
export function newKeyPair(content: Omit<CertificateContent, 'publicKey'>, issuer?: Issuer): KeyPair {
  const key = newKey();
  const { subject: name } = content;
  const cert = signedCertificate(issuer ?? { name, key }, { ...content, publicKey: publicKeyOf(key) });
  return { key, cert };
}

/** The certificate in PEM. */
export function signedCertificate(issuer: Issuer, content: CertificateContent): string {
  const { subject, publicKey, notBefore, notAfter, extensions } = content;
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    // A positive number: the first byte is below 128.
    serialNumber: Uint8Array.from([1, ...randomBytes(15)]).buffer,
    signature: algorithm,
    issuer: issuer.name,
    subject,
    subjectPublicKeyInfo: publicKey,
    validity: new Validity({ notBefore: new Date(notBefore), notAfter: new Date(notAfter) }),
    ...(extensions.length > 0 && { extensions: new Extensions([...extensions]) }),
  });
  const key = createPrivateKey(issuer.key);
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), key);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: Uint8Array.from(signature).buffer,
  });
  const base64 = Buffer.from(AsnConvert.serialize(certificate)).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** Of a private key in PEM. */
function publicKeyOf(key: string): SubjectPublicKeyInfo {
  const der = createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' });
  return AsnConvert.parse(der, SubjectPublicKeyInfo);
}

export function nameOf({ commonName, organizations = [] }: Subject): Name {
  const part = (type: string, text: string) =>
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) }),
    ]);
  return new Name([...organizations.map((text) => part(ORGANIZATION, text)), part(COMMON_NAME, commonName)]);
}

export function subjectOf(name: Name): Required<Subject> {
  const all = [...name].flatMap((names) => [...names]);
  const textsOf = (wanted: string) =>
    all.filter(({ type }) => type === wanted).map(({ value }) => value.toString());
  return { commonName: textsOf(COMMON_NAME)[0] ?? '', organizations: textsOf(ORGANIZATION) };
}

/** Empty where there are no names. */
export function alternativeNames({ dnsNames = [], ipAddresses = [] }: AlternativeNames): Extension[] {
  if (dnsNames.length + ipAddresses.length === 0) return [];
  const names = new SubjectAlternativeName([
    ...dnsNames.map((dNSName) => new GeneralName({ dNSName })),
    ...ipAddresses.map((iPAddress) => new GeneralName({ iPAddress })),
  ]);
  return [extension(id_ce_subjectAltName, names)];
}

/** By Kubernetes' names: `digital signature`, `server auth`. */
export function usages(names: readonly string[]): Extension[] {
  let flags = 0;
  if (names.includes('digital signature')) flags |= KeyUsageFlags.digitalSignature;
  if (names.includes('key encipherment')) flags |= KeyUsageFlags.keyEncipherment;
  const purposes = [
    ...(names.includes('client auth') ? [id_kp_clientAuth] : []),
    ...(names.includes('server auth') ? [id_kp_serverAuth] : []),
  ];
  return [
    extension(id_ce_keyUsage, new KeyUsage(flags), true),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage(purposes)),
  ];
}

/** What the certificate of an authority needs. */
export function ofAuthority(): Extension[] {
  const flags = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign;
  return [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), true),
    extension(id_ce_keyUsage, new KeyUsage(flags), true),
  ];
}

function extension(extnID: string, value: unknown, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

/** What a certificate signing request (PKCS #10, in PEM) asks for. Throws if the text is no request. */
export function requested(request: string): Pick<CertificateContent, 'subject' | 'publicKey'> & {
  readonly names: readonly Extension[];
} {
  const [, base64] = /-----BEGIN CERTIFICATE REQUEST-----([^-]+)-----END/.exec(request) ?? [];
  if (base64 === undefined) throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const { certificationRequestInfo } = AsnConvert.parse(Buffer.from(base64, 'base64'), CertificationRequest);
  const { subject, subjectPKInfo: publicKey, attributes } = certificationRequestInfo;
  const [value] = [...attributes].find(({ type }) => type === EXTENSION_REQUEST)?.values ?? [];
  const extensions = value === undefined ? [] : [...AsnConvert.parse(value, Extensions)];
  return { subject, publicKey, names: extensions.filter(({ extnID }) => extnID === id_ce_subjectAltName) };
}
