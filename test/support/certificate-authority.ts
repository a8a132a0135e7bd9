/** A certificate authority for tests. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  Extension,
  Extensions,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_subjectAltName,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  readonly commonName?: string;
  readonly organization?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** Unix milliseconds. Default: an hour ago. */
  readonly notBefore?: number;
  /** Unix milliseconds. Default: in an hour. */
  readonly notAfter?: number;
}

const HOUR_MS = 3_600_000;
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

export class TestAuthority {
  readonly #key: KeyObject;
  readonly #name: Name;
  /** PEM. */
  readonly cert: string;

  constructor(commonName = 'test-ca') {
    this.#key = createPrivateKey(newKey());
    this.#name = nameOf({ commonName });
    this.cert = this.#signed(this.#name, spkiOf(this.#key), {}, [
      new Extension({
        extnID: id_ce_basicConstraints,
        critical: true,
        extnValue: new OctetString(AsnConvert.serialize(new BasicConstraints({ cA: true }))),
      }),
    ]);
  }

  /** A new key with a certificate. */
  keyPair(options: CertificateOptions = {}): KeyPair {
    const key = newKey();
    const cert = this.#signed(nameOf(options), spkiOf(createPrivateKey(key)), options, namesOf(options));
    return { key, cert };
  }

  /** The certificate that a signing request asks for, in PEM. */
  answer(request: string, options: CertificateOptions = {}): string {
    const { certificationRequestInfo: info } = AsnConvert.parse(derOf(request), CertificationRequest);
    const asked = [...info.attributes].find(({ type }) => type === EXTENSION_REQUEST);
    const extensions = asked?.values.flatMap((value) => [...AsnConvert.parse(value, Extensions)]) ?? [];
    return this.#signed(info.subject, info.subjectPKInfo, options, extensions);
  }

  #signed(
    subject: Name,
    subjectPublicKeyInfo: SubjectPublicKeyInfo,
    { notBefore = Date.now() - HOUR_MS, notAfter = Date.now() + HOUR_MS }: CertificateOptions,
    extensions: Extension[],
  ): string {
    const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
    const tbsCertificate = new TBSCertificate({
      version: Version.v3,
      serialNumber: Uint8Array.from([1, ...randomBytes(8)]).buffer,
      signature: algorithm,
      issuer: this.#name,
      subject,
      subjectPublicKeyInfo,
      validity: new Validity({ notBefore: new Date(notBefore), notAfter: new Date(notAfter) }),
      ...(extensions.length > 0 && { extensions: new Extensions(extensions) }),
    });
    const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), this.#key);
    const certificate = new Certificate({
      tbsCertificate,
      signatureAlgorithm: algorithm,
      signatureValue: Uint8Array.from(signature).buffer,
    });
    return pemOf(Buffer.from(AsnConvert.serialize(certificate)));
  }
}

function spkiOf(key: KeyObject): SubjectPublicKeyInfo {
  return AsnConvert.parse(createPublicKey(key).export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
}

function nameOf({ commonName = 'test', organization }: CertificateOptions): Name {
  const part = (type: string, text: string) =>
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) }),
    ]);
  const organizations = organization === undefined ? [] : [part('2.5.4.10', organization)];
  return new Name([...organizations, part('2.5.4.3', commonName)]);
}

function namesOf({ dnsNames = [], ipAddresses = [] }: CertificateOptions): Extension[] {
  if (dnsNames.length + ipAddresses.length === 0) return [];
  const names = new SubjectAlternativeName([
    ...dnsNames.map((dNSName) => new GeneralName({ dNSName })),
    ...ipAddresses.map((iPAddress) => new GeneralName({ iPAddress })),
  ]);
  return [
    new Extension({
      extnID: id_ce_subjectAltName,
      extnValue: new OctetString(AsnConvert.serialize(names)),
    }),
  ];
}

function derOf(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
}

function pemOf(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
