import { expect, test } from '@jest/globals';
import { type RuntimeFacts, runtimeFindings } from '../../../src/doctor/policies/runtime-findings.ts';

const endpoint = 'unix:///run/containerd/containerd.sock';
const condition = (type: 'RuntimeReady' | 'NetworkReady', status: boolean) => ({
  type,
  status,
  reason: status ? '' : 'NotYet',
  message: status ? '' : 'cni plugin not initialized',
});
const READY = [condition('RuntimeReady', true), condition('NetworkReady', true)];
const answer = (conditions = READY, name = 'containerd', version = '1.7.24') => ({
  value: { name, version, conditions },
});
const findings = (facts: Partial<RuntimeFacts>) => runtimeFindings({ endpoint, answer: answer(), ...facts });

test('a runtime that is ready is named with its version', () => {
  expect(findings({})).toEqual([
    { check: 'runtime', status: 'ok', message: `containerd 1.7.24 at ${endpoint}, ready` },
    { check: 'runtime-network', status: 'ok', message: 'ready' },
  ]);
});

test('the embedded runtime needs nothing', () => {
  expect(findings({ endpoint: 'embedded', answer: undefined })).toMatchObject([{ status: 'ok' }]);
});

test.each([
  ['unix:///run/containerd/containerd.sock', 'containerd'],
  ['unix:///run/crio/crio.sock', 'crio'],
])('a socket that is missing is an error, with the service of %s to start', (missing, service) => {
  const [finding] = findings({
    endpoint: missing,
    answer: { problem: 'does not exist', isForbidden: false },
  });
  expect(finding).toMatchObject({ status: 'error', message: `${missing.slice(7)} does not exist` });
  expect(finding?.mend).toContain(`systemctl enable --now ${service} `);
});

test('a socket that this user may not open is unknown', () => {
  expect(findings({ answer: { problem: 'EACCES', isForbidden: true } })).toMatchObject([
    { status: 'unknown', mend: 'run statelet doctor as root' },
  ]);
});

test('what is not ready is an error with the reason of the runtime', () => {
  const conditions = [condition('RuntimeReady', false), condition('NetworkReady', false)];
  expect(findings({ answer: answer(conditions) })).toMatchObject([
    {
      check: 'runtime',
      status: 'error',
      message: 'containerd 1.7.24 is not ready: NotYet: cni plugin not initialized',
    },
    {
      check: 'runtime-network',
      status: 'error',
      message: expect.stringContaining('has no network for pods'),
    },
  ]);
});

test('a containerd before 1.6 is too old; other runtimes count differently', () => {
  const status = (name: string, version: string) =>
    findings({ answer: answer(READY, name, version) })[0]?.status;
  expect(['1.5.13', 'v1.6.20', '2.1.0'].map((version) => status('containerd', version))).toEqual([
    'warning',
    'ok',
    'ok',
  ]);
  expect(status('cri-o', '1.5.0')).toBe('ok');
});
