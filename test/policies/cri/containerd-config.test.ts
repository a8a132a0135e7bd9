import { expect, test } from '@jest/globals';
import { cgroupDriverIn } from '../../../src/policies/cri/containerd-config.ts';

const config = (runtime: object, defaultRuntimeName = 'runc') =>
  JSON.stringify({ containerd: { defaultRuntimeName, runtimes: { runc: runtime } } });
const RUNC = { runtimeType: 'io.containerd.runc.v2' };

test("the driver is that of the default handler's line SystemdCgroup", () => {
  expect(cgroupDriverIn(config({ ...RUNC, options: { SystemdCgroup: true } }))).toBe('systemd');
  expect(cgroupDriverIn(config({ ...RUNC, options: { SystemdCgroup: false } }))).toBe('cgroupfs');
  expect(cgroupDriverIn(config({ ...RUNC, options: null }))).toBe('cgroupfs');
});

test('another runtime, another default handler, and text of another form tell nothing', () => {
  const texts = [
    '',
    '[]',
    '{',
    'null',
    'x'.repeat(2 ** 21),
    config({ runtimeType: 'io.containerd.kata.v2' }),
  ];
  for (const text of [...texts, config(RUNC, 'kata'), config(RUNC, 'constructor')]) {
    expect(cgroupDriverIn(text)).toBeUndefined();
  }
});
