/** Makes certificates and requests for them, with the libraries of @peculiar. Run in a process of its own (`credentials-process.ts`). */
import { createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';
import { Attributes, CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  Attribute,
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
import type { CertificateTemplate } from '../../policies/cluster/certificates.ts';
import { newPrivateKey } from './certificate-pair.ts';
import type { SelfSignedInput, SigningRequestInput } from './ask-credentials-process.ts';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';

/**
 * A serving certificate that no authority has signed, with a new key on the curve P-256; both in PEM. Clients that verify it must have it
 * as their authority.
 */
export function selfSignedCertificate(input: SelfSignedInput): {
  readonly cert: string;
  readonly key: string;
} {
  const key = newPrivateKey();
  const privateKey = createPrivateKey(key);
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const name = nameOf(input);
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    // A positive number: the first byte is below 128.
    serialNumber: Uint8Array.from([1, ...randomBytes(15)]).buffer,
    signature: algorithm,
    issuer: name,
    subject: name,
    subjectPublicKeyInfo: AsnConvert.parse(publicKey, SubjectPublicKeyInfo),
    validity: new Validity({ notBefore: new Date(input.notBefore), notAfter: new Date(input.notAfter) }),
    extensions: new Extensions(extensionsOf(input.hostName)),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), privateKey);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: Uint8Array.from(signature).buffer,
  });
  return { cert: pem('CERTIFICATE', Buffer.from(AsnConvert.serialize(certificate))), key };
}

/** With the time, as the kubelet names it: certificates of one host can be told apart. */
function nameOf({ hostName, notBefore }: SelfSignedInput): Name {
  const utf8String = `${hostName}@${Math.floor(notBefore / 1000)}`;
  const attribute = new AttributeTypeAndValue({
    type: COMMON_NAME,
    value: new AttributeValue({ utf8String }),
  });
  return new Name([new RelativeDistinguishedName([attribute])]);
}

function extensionsOf(hostName: string): Extension[] {
  const usage = new KeyUsage(
    KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment | KeyUsageFlags.keyCertSign,
  );
  return [
    extension(id_ce_keyUsage, usage, true),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth])),
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), true),
    extension(id_ce_subjectAltName, new SubjectAlternativeName([new GeneralName({ dNSName: hostName })])),
  ];
}

function extension(extnID: string, value: unknown, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

/** A certificate signing request (PKCS #10) in PEM. The key is one of the curve P-256. */
export function signingRequest({ template, key }: SigningRequestInput): string {
  const privateKey = createPrivateKey(key);
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const info = new CertificationRequestInfo({
    subject: subjectOf(template),
    subjectPKInfo: AsnConvert.parse(publicKey, SubjectPublicKeyInfo),
    attributes: new Attributes(attributesOf(template)),
  });
  const request = new CertificationRequest({
    certificationRequestInfo: info,
    signatureAlgorithm: new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 }),
    signature: bytes(sign('sha256', Buffer.from(AsnConvert.serialize(info)), privateKey)),
  });
  return pem('CERTIFICATE REQUEST', Buffer.from(AsnConvert.serialize(request)));
}

/** In the order in which the kubelet writes them. */
function subjectOf({ commonName, organizations }: CertificateTemplate): Name {
  const organization = new RelativeDistinguishedName(
    organizations.map((value) => attribute(ORGANIZATION, value)),
  );
  return new Name([organization, new RelativeDistinguishedName([attribute(COMMON_NAME, commonName)])]);
}

function attribute(type: string, text: string): AttributeTypeAndValue {
  return new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) });
}

function attributesOf({ dnsNames, ipAddresses }: CertificateTemplate): Attribute[] {
  if (dnsNames.length === 0 && ipAddresses.length === 0) return [];
  const names = new SubjectAlternativeName([
    ...dnsNames.map((dNSName) => new GeneralName({ dNSName })),
    ...ipAddresses.map((iPAddress) => new GeneralName({ iPAddress })),
  ]);
  const extension = new Extension({
    extnID: id_ce_subjectAltName,
    extnValue: new OctetString(AsnConvert.serialize(names)),
  });
  const values = [AsnConvert.serialize(new Extensions([extension]))];
  return [new Attribute({ type: EXTENSION_REQUEST, values })];
}

/** A copy in a buffer of its own. */
function bytes(buffer: Buffer): ArrayBuffer {
  return Uint8Array.from(buffer).buffer;
}
