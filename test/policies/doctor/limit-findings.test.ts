import { expect, test } from '@jest/globals';
import { kernelFindings } from '../../../src/policies/doctor/limit-findings.ts';

test.each(['4.19.0', '5.4.0-150-generic', '6.12.41+deb13-amd64'])('Linux %s is new enough', (release) => {
  expect(kernelFindings(release)).toEqual([{ check: 'kernel', status: 'ok', message: `Linux ${release}` }]);
});

test.each(['4.18.0-553.el8', '3.10.0'])(
  'Linux %s is older than what Kubernetes is tested with',
  (release) => {
    expect(kernelFindings(release)).toMatchObject([
      {
        status: 'warning',
        message: expect.stringContaining(release),
        mend: expect.stringContaining('newer kernel'),
      },
    ]);
  },
);

test('of a kernel with another name nothing is known', () => {
  expect(kernelFindings('gVisor')).toMatchObject([{ status: 'unknown' }]);
});
