import { describe, expect, test } from '@jest/globals';
import {
  apiServerFindings,
  type CertificateFileFacts,
  certificateFindings,
} from '../../../src/doctor/policies/certificate-findings.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const DAY = 24 * 60 * 60_000;

function findings(from: number, to: number, facts: Partial<CertificateFileFacts> = {}) {
  const certificate = { value: { notBefore: NOW + from * DAY, notAfter: NOW + to * DAY } };
  const one = {
    what: 'client certificate',
    path: '/c.pem',
    certificate,
    mend: 'mend it',
    renews: false,
    ...facts,
  };
  return certificateFindings({ certificates: [one], problems: [], nowMs: NOW });
}

describe('certificates', () => {
  test('that are valid are named with their end', () => {
    expect(findings(-1, 30)).toEqual([
      { check: 'certificates', status: 'ok', message: 'client certificate until 2026-07-01T00:00:00Z' },
    ]);
  });

  test('that have expired', () => {
    expect(findings(-9, -1)).toMatchObject([
      {
        status: 'error',
        message: 'client certificate /c.pem expired at 2026-05-31T00:00:00Z',
        mend: 'mend it',
      },
    ]);
  });

  test('that are not valid yet: the clock may be wrong', () => {
    expect(findings(1, 30)).toMatchObject([
      { status: 'error', mend: expect.stringContaining('timedatectl') },
    ]);
  });

  test('that expire within a week, unless they are renewed', () => {
    expect(findings(-1, 6)).toMatchObject([{ status: 'warning' }]);
    expect(findings(-1, 6, { renews: true })).toMatchObject([{ status: 'ok' }]);
  });

  test('that cannot be read, or may not', () => {
    const certificate = { problem: 'holds no certificate in PEM', isForbidden: false };
    expect(findings(0, 0, { certificate })).toMatchObject([
      { status: 'error', message: 'client certificate /c.pem holds no certificate in PEM', mend: 'mend it' },
    ]);
    expect(findings(0, 0, { certificate: { ...certificate, isForbidden: true } })).toMatchObject([
      { status: 'unknown' },
    ]);
  });

  test('none, and a kubeconfig that is wrong', () => {
    expect(certificateFindings({ certificates: [], problems: [], nowMs: NOW })).toMatchObject([
      { status: 'ok' },
    ]);
    const problems = [{ path: '/k', problem: 'does not exist', isForbidden: false }];
    expect(certificateFindings({ certificates: [], problems, nowMs: NOW })).toMatchObject([
      { status: 'error', message: '/k does not exist' },
    ]);
  });
});

describe('the API server', () => {
  const facts = { server: 'https://10.0.0.1:6443', kubeconfig: '/k' };

  test('that answers at the time of this machine', () => {
    expect(apiServerFindings({ ...facts, differenceMs: { value: 0 } })).toMatchObject([
      { check: 'api-server', status: 'ok' },
      { check: 'clock', status: 'ok' },
    ]);
    expect(apiServerFindings(undefined)).toEqual([]);
  });

  test('whose clock differs by minutes', () => {
    expect(apiServerFindings({ ...facts, differenceMs: { value: -120_000 } })).toMatchObject([
      { status: 'ok' },
      {
        check: 'clock',
        status: 'warning',
        message: expect.stringContaining('2m behind'),
        mend: expect.stringContaining('timedatectl set-ntp true'),
      },
    ]);
  });

  test('that does not answer, or is not believed', () => {
    const differenceMs = { problem: 'TLS: certificate-authority should be another', isForbidden: false };
    expect(apiServerFindings({ ...facts, differenceMs })).toMatchObject([
      {
        check: 'api-server',
        status: 'error',
        message: expect.stringContaining('certificate-authority'),
        mend: expect.stringContaining('/k'),
      },
      { check: 'clock', status: 'unknown' },
    ]);
  });
});
