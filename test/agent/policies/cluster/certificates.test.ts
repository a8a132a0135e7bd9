import { describe, expect, test } from '@jest/globals';
import {
  alternativeNames,
  type CertificateFacts,
  clientTemplate,
  credentialWarnings,
  isExpired,
  renewalTime,
  retryDelayMs,
  satisfiesTemplate,
  servingTemplate,
  signingDecision,
} from '../../../../src/agent/policies/cluster/certificates.ts';
import type { CertificateSigningRequest } from '../../../../src/types/kubernetes.ts';

const template = { ...clientTemplate('node-1'), dnsNames: ['node-1'], ipAddresses: ['10.0.0.1', 'fd00::1'] };
const certificate: CertificateFacts = {
  ...template,
  ipAddresses: ['FD00:0:0:0:0:0:0:1', '10.0.0.1'],
  notBefore: 1_000,
  notAfter: 2_000,
};

describe('a certificate', () => {
  test.each<[string, Partial<CertificateFacts>, boolean]>([
    ['says what is asked for, in another form', {}, true],
    ['says more', { dnsNames: ['a', 'node-1'], organizations: ['system:nodes', 'b'] }, true],
    ['is for another user', { commonName: 'system:node:node-2' }, false],
    ['lacks the group', { organizations: [] }, false],
    ['lacks a DNS name', { dnsNames: [] }, false],
    ['lacks an IP address', { ipAddresses: ['10.0.0.1'] }, false],
  ])('that %s', (_what, more, expected) => {
    expect(satisfiesTemplate({ ...certificate, ...more }, template)).toBe(expected);
  });

  test('is renewed after 70 to 90 per cent of its life', () => {
    expect(renewalTime(certificate, 0)).toBe(1_700);
    expect(renewalTime(certificate, 0.5)).toBe(1_800);
    expect(renewalTime(certificate, 1)).toBe(1_900);
  });

  test('is valid up to its last second', () => {
    expect(isExpired(certificate, 2_000)).toBe(false);
    expect(isExpired(certificate, 2_001)).toBe(true);
  });
});

test('after a failure the node waits 2 s, then twice as long each time, then each 32 s', () => {
  expect([1, 2, 3, 4, 5, 6, 100].map((failures) => retryDelayMs(failures, 0))).toEqual([
    2_000, 4_000, 8_000, 16_000, 32_000, 32_000, 32_000,
  ]);
  expect(retryDelayMs(1, 0.5)).toBe(2_100);
});

const address = (type: string, text: string) => ({ type, address: text });

describe('the names in a serving certificate', () => {
  test('are the DNS names and IP addresses of the node, each once and sorted', () => {
    const addresses = [
      address('InternalIP', '10.0.0.2'),
      address('ExternalIP', '1.2.3.4'),
      address('InternalIP', '10.0.0.2'),
      address('Hostname', 'node-1'),
      address('InternalDNS', 'node-1.internal'),
      address('ExternalDNS', 'example.com'),
    ];
    expect(alternativeNames(addresses)).toEqual({
      dnsNames: ['example.com', 'node-1', 'node-1.internal'],
      ipAddresses: ['1.2.3.4', '10.0.0.2'],
    });
  });

  test('take a host name that is an IP address for one', () => {
    expect(alternativeNames([address('Hostname', '10.0.0.2'), address('Hostname', 'fd00:0::1')])).toEqual({
      dnsNames: [],
      ipAddresses: ['10.0.0.2', 'fd00::1'],
    });
  });

  test('leave out what is empty, no IP address, or of an unknown type', () => {
    const addresses = [
      address('Hostname', ''),
      address('InternalIP', 'node-1'),
      address('ExternalIP', '10.0.0.256'),
      address('Other', 'node-1'),
    ];
    expect(alternativeNames(addresses)).toEqual({ dnsNames: [], ipAddresses: [] });
  });

  test('need an IP address', () => {
    expect(servingTemplate('node-1', [address('Hostname', 'node-1')])).toBeUndefined();
    expect(servingTemplate('node-1', [address('InternalIP', '10.0.0.2')])).toEqual({
      ...clientTemplate('node-1'),
      ipAddresses: ['10.0.0.2'],
    });
  });
});

const now = Date.UTC(2026, 0, 31, 12);

const HOUR = 3_600_000;

const credential = {
  ...clientTemplate('node-1'),
  notBefore: now - HOUR,
  notAfter: now + HOUR,
};

const warnings = (more: object = {}) => credentialWarnings({ ...credential, ...more }, 'node-1', now);

test('a certificate of this node that is valid needs no warning', () => {
  expect(warnings()).toEqual([]);
});

test('a certificate that has expired, or is not valid yet, by the clock of the machine is a problem', () => {
  expect(warnings({ notAfter: now - 1 })).toEqual([
    'it expired at 2026-01-31T11:59:59Z, by the clock of this machine',
  ]);
  expect(warnings({ notBefore: now + HOUR })).toEqual([
    'it is valid only from 2026-01-31T13:00:00Z on, by the clock of this machine',
  ]);
});

test('a certificate of another user is a problem', () => {
  expect(warnings({ commonName: 'admin', organizations: ['system:masters'] })).toEqual([
    'it is for the user admin: what a node may do, the API server allows system:node:node-1',
  ]);
});

test('a certificate of the node outside the group of nodes is a problem', () => {
  expect(warnings({ organizations: [] })).toEqual([
    'it does not name the group system:nodes, to which the API server gives the rights of a node',
  ]);
});

type Status = NonNullable<CertificateSigningRequest['status']>;

const request = (status?: Status, uid = 'u'): CertificateSigningRequest => ({
  metadata: { name: 'csr-1', uid },
  spec: { request: '', signerName: 's' },
  ...(status && { status }),
});

const condition = (type: string, status = 'True', reason = '', message = '') => ({
  type,
  status,
  reason,
  message,
});

test.each<[string, CertificateSigningRequest, object]>([
  ['new', request(), { kind: 'waiting', for: 'approval' }],
  ['approved', request({ conditions: [condition('Approved')] }), { kind: 'waiting', for: 'signature' }],
  [
    'signed',
    request({ conditions: [condition('Approved')], certificate: 'Y2VydA==' }),
    { kind: 'issued', certificate: 'Y2VydA==' },
  ],
  ['signed without approval', request({ certificate: 'Y2VydA==' }), { kind: 'waiting', for: 'approval' }],
  [
    'denied',
    request({ conditions: [condition('Denied', 'True', 'Why', 'because')] }),
    { kind: 'refused', problem: 'it was denied: Why because' },
  ],
  [
    'approved, and then failed',
    request({ conditions: [condition('Approved'), condition('Failed', 'True', 'SignerError', 'no key')] }),
    { kind: 'refused', problem: 'the signer failed: SignerError no key' },
  ],
  [
    'not denied',
    request({ conditions: [condition('Denied', 'False'), condition('Approved')] }),
    { kind: 'waiting', for: 'signature' },
  ],
  [
    'another one',
    request({ conditions: [condition('Approved')], certificate: 'Y2VydA==' }, 'v'),
    { kind: 'refused', problem: 'it was replaced by another request of the same name' },
  ],
])('a request that is %s', (_what, object, decision) => {
  expect(signingDecision(object, 'u')).toEqual(decision);
});
