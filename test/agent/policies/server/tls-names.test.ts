import { createSecureContext } from 'node:tls';
import { expect, test } from '@jest/globals';
import {
  cipherSuitesProblem,
  curvesProblem,
  tlsChoice,
} from '../../../../src/agent/policies/server/tls-names.ts';

const NONE = { tlsMinVersion: '', tlsCipherSuites: [], tlsCurvePreferences: [] };

test('what is not set is the choice of the server, but for the lowest version', () => {
  expect(tlsChoice(NONE)).toEqual({ minVersion: 'TLSv1.2' });
  expect(tlsChoice({ ...NONE, tlsMinVersion: 'VersionTLS13' })).toEqual({ minVersion: 'TLSv1.3' });
});

test('suites of TLS 1.3 are offered whichever suites are set', () => {
  const tlsCipherSuites = ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'];
  expect(tlsChoice({ ...NONE, tlsCipherSuites }).ciphers).toBe(
    'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-RSA-AES128-GCM-SHA256',
  );
});

/** The list of the flag's help text of the kubelet, without RC4 and 3DES. */
const SUITES = [
  ...['AES_128_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_128_GCM_SHA256', 'AES_256_CBC_SHA', 'AES_256_GCM_SHA384'],
  ...['CHACHA20_POLY1305', 'CHACHA20_POLY1305_SHA256'],
].flatMap((name) => [`TLS_ECDHE_ECDSA_WITH_${name}`, `TLS_ECDHE_RSA_WITH_${name}`]);

test.each([...SUITES, 'TLS_RSA_WITH_AES_128_CBC_SHA', 'TLS_RSA_WITH_AES_256_GCM_SHA384'])(
  'OpenSSL has %s under the name that we give it',
  (name) => {
    expect(cipherSuitesProblem([name])).toBeUndefined();
    const { ciphers = '' } = tlsChoice({ ...NONE, tlsCipherSuites: [name] });
    expect(() => createSecureContext({ ciphers: ciphers.split(':').at(-1) })).not.toThrow();
  },
);

test('OpenSSL has the curves under the names that we give them', () => {
  const tlsCurvePreferences = [29, 23, 24, 25];
  expect(curvesProblem(tlsCurvePreferences)).toBeUndefined();
  const { ecdhCurve = '' } = tlsChoice({ ...NONE, tlsCurvePreferences });
  expect(ecdhCurve).toBe('X25519:prime256v1:secp384r1:secp521r1');
  expect(() => createSecureContext({ ecdhCurve })).not.toThrow();
});
