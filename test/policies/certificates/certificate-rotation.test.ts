import { describe, expect, test } from '@jest/globals';
import {
  type CertificateFacts,
  isExpired,
  renewalTime,
  retryDelayMs,
  satisfiesTemplate,
} from '../../../src/policies/certificates/certificate-rotation.ts';
import { clientTemplate } from '../../../src/policies/certificates/certificate-template.ts';

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
