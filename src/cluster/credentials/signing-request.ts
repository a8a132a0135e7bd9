/** Makes a certificate signing request (PKCS #10). Run in a process of its own (`credentials-process.ts`). */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { Attributes, CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  Extension,
  Extensions,
  GeneralName,
  id_ce_subjectAltName,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
} from '@peculiar/asn1-x509';
import type { CertificateTemplate } from '../../policies/cluster/certificates.ts';
import type { SigningRequestInput } from './credentials-task.ts';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';

/** In PEM. The key is one of the curve P-256. */
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
  return pem(Buffer.from(AsnConvert.serialize(request)));
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

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE REQUEST-----', ...lines, '-----END CERTIFICATE REQUEST-----', ''].join(
    '\n',
  );
}
