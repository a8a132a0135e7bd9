import { expect, test } from '@jest/globals';
import { credentialWarnings } from '../../../src/policies/certificates/credential-warnings.ts';
import { clientTemplate } from '../../../src/policies/certificates/certificate-template.ts';

const now = Date.UTC(2026, 0, 31, 12);
const HOUR = 3_600_000;
const certificate = { ...clientTemplate('node-1'), notBefore: now - HOUR, notAfter: now + HOUR };
const warnings = (more: object = {}) => credentialWarnings({ ...certificate, ...more }, 'node-1', now);

test('a certificate of this node that is valid needs no warning', () => {
  expect(warnings()).toEqual([]);
});

test('a certificate is said to have expired, or not to be valid yet, by the clock of the machine', () => {
  expect(warnings({ notAfter: now - 1 })).toEqual([
    'it expired at 2026-01-31T11:59:59Z, by the clock of this machine',
  ]);
  expect(warnings({ notBefore: now + HOUR })).toEqual([
    'it is valid only from 2026-01-31T13:00:00Z on, by the clock of this machine',
  ]);
});

test('a certificate of another user is said to be one', () => {
  expect(warnings({ commonName: 'admin', organizations: ['system:masters'] })).toEqual([
    'it is for the user admin: what a node may do, the API server allows system:node:node-1',
  ]);
});

test('a certificate of the node outside the group of nodes is said to be one', () => {
  expect(warnings({ organizations: [] })).toEqual([
    'it does not name the group system:nodes, to which the API server gives the rights of a node',
  ]);
});
