import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { signingRequestApart } from '../../../../src/agent/cluster/credentials/ask-credentials-process.ts';
import { signingRequest } from '../../../../src/agent/cluster/credentials/made-certificates.ts';
import { clientTemplate } from '../../../../src/agent/policies/cluster/certificates.ts';
import { TestAuthority } from '../../../support/certificate-authority.ts';
import { newKey } from '../../../support/signed-certificate.ts';

const serving = { ...clientTemplate('node-1'), dnsNames: ['node-1'], ipAddresses: ['10.0.0.1', 'fd00::1'] };

describe('a certificate signing request', () => {
  test('has the subject, the names and a valid signature, as openssl reads it', () => {
    const request = signingRequest({ template: serving, key: newKey() });
    const text = execFileSync('openssl', ['req', '-noout', '-text', '-verify'], {
      input: request,
      stdio: 'pipe',
    }).toString();
    expect(text).toMatch(/Subject: O ?= ?system:nodes, CN ?= ?system:node:node-1/);
    expect(text).toContain('DNS:node-1, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1');
    expect(text).toContain('ASN1 OID: prime256v1');
    expect(text).toContain('Signature Algorithm: ecdsa-with-SHA256');
  });

  test('of a client has no names', () => {
    const request = signingRequest({ template: clientTemplate('node-1'), key: newKey() });
    const certificate = new X509Certificate(new TestAuthority().answer(request));
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:node-1');
    expect(certificate.subjectAltName).toBeUndefined();
  });

  test('is made in a process of its own, which ends', async () => {
    const request = await signingRequestApart({ template: serving, key: newKey() });
    expect(new X509Certificate(new TestAuthority().answer(request)).subjectAltName).toBe(
      'DNS:node-1, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1',
    );
  });
});
