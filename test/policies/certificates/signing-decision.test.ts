import { expect, test } from '@jest/globals';
import { signingDecision } from '../../../src/policies/certificates/signing-decision.ts';
import type { CertificateSigningRequest } from '../../../src/types/kubernetes.ts';

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
