import { expect, test } from '@jest/globals';
import { selectedBundles, trustAnchors } from '../../../src/policies/volumes/trust-anchors.ts';
import type { ClusterTrustBundle } from '../../../src/types/kubernetes.ts';

const pem = (body: string, type = 'CERTIFICATE') =>
  `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`;
const bundle = (
  name: string,
  trustBundle: string,
  signerName?: string,
  labels?: Record<string, string>,
): ClusterTrustBundle => ({
  metadata: { name, ...(labels && { labels }) },
  spec: { trustBundle, ...(signerName !== undefined && { signerName }) },
});

const LONG = 'QUJD'.repeat(40);

test('certificates of several bundles are shown once each, whatever is written around them', () => {
  const one = bundle('one', `subject: one\n${pem('AAAA')}# and\r\n${pem('BBBB').replaceAll('\n', '\r\n')}`);
  const two = bundle('two', `${pem('BBBB', 'X509 CERTIFICATE')}${pem('AA\nAA')}no certificate`);
  expect(trustAnchors([one, two])).toBe(pem('AAAA') + pem('BBBB'));
  expect(trustAnchors([two, one])).toBe(pem('AAAA') + pem('BBBB'));
});

test('lines have 64 characters', () => {
  const lines = trustAnchors([bundle('long', pem(LONG))]).split('\n');
  expect(lines.slice(1, 4).map((line) => line.length)).toEqual([64, 64, 32]);
  expect(lines.slice(1, 4).join('')).toBe(LONG);
});

test('what is no PEM is left out, and nothing is nothing', () => {
  expect(trustAnchors([bundle('bad', `${pem('A=A')}${pem('')}-----BEGIN CERTIFICATE-----\nAAAA`)])).toBe('');
  expect(trustAnchors([])).toBe('');
});

test('bundles are selected by name, or by signer and labels', () => {
  const all = [
    bundle('plain', ''),
    bundle('a', '', 'example.com/s', { tier: 'front' }),
    bundle('b', '', 'example.com/s', { tier: 'back' }),
    bundle('c', '', 'example.com/other', { tier: 'front' }),
  ];
  const names = (selection: Omit<Parameters<typeof selectedBundles>[1], 'path'>) =>
    selectedBundles(all, { path: 'ca.pem', ...selection }).map(({ metadata }) => metadata?.name);
  const signerName = 'example.com/s';
  const matchExpressions = (operator: string, values?: string[]) => ({
    matchExpressions: [{ key: 'tier', operator, ...(values && { values }) }],
  });
  expect(names({ name: 'a' })).toEqual(['a']);
  expect(names({ name: 'none' })).toEqual([]);
  expect(names({ signerName })).toEqual([]);
  expect(names({ signerName, labelSelector: {} })).toEqual(['a', 'b']);
  expect(names({ signerName, labelSelector: { matchLabels: { tier: 'back' } } })).toEqual(['b']);
  expect(names({ signerName, labelSelector: matchExpressions('In', ['front']) })).toEqual(['a']);
  expect(names({ signerName, labelSelector: matchExpressions('NotIn', ['front']) })).toEqual(['b']);
  expect(names({ signerName, labelSelector: matchExpressions('Exists') })).toEqual(['a', 'b']);
  expect(names({ signerName, labelSelector: matchExpressions('DoesNotExist') })).toEqual([]);
  expect(names({ signerName, labelSelector: matchExpressions('Near') })).toEqual([]);
});
