/** Makes a serving certificate that no authority has signed. Run in a process of its own (`credentials-process.ts`). */
import { createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';
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
import { newPrivateKey } from './certificate-pair.ts';
import type { SelfSignedInput } from './credentials-task.ts';

const COMMON_NAME = '2.5.4.3';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';

/** With a new key on the curve P-256; both in PEM. Clients that verify it must have it as their authority. */
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
  return { cert: pem(Buffer.from(AsnConvert.serialize(certificate))), key };
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

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
