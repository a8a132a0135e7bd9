import { expect, test } from '@jest/globals';
import { runtimeHandler } from '../../../src/policies/admission/runtime-class.ts';
import { testPod } from '../../support/pods.ts';

const podOf = (runtimeClassName?: string) => {
  const base = testPod();
  return { ...base, spec: { ...base.spec, ...(runtimeClassName !== undefined && { runtimeClassName }) } };
};
const HANDLERS = new Map([
  ['gvisor', 'runsc'],
  ['plain', ''],
]);

test('a pod without a RuntimeClass has the default handler of the runtime', () => {
  expect(runtimeHandler(podOf(), HANDLERS)).toBeUndefined();
  expect(runtimeHandler(podOf(''), HANDLERS)).toBeUndefined();
});

test('a pod of a known RuntimeClass has its handler', () => {
  expect(runtimeHandler(podOf('gvisor'), HANDLERS)).toBe('runsc');
  expect(runtimeHandler(podOf('plain'), HANDLERS)).toBeUndefined();
});

test('a pod of an unknown RuntimeClass is refused, not run by the default handler', () => {
  expect(() => runtimeHandler(podOf('kata'), HANDLERS)).toThrow(
    expect.objectContaining({ kind: 'FailedPrecondition' }),
  );
  expect(() => runtimeHandler(podOf('kata'), HANDLERS)).toThrow(
    'RuntimeClass "kata" not found: this node knows gvisor, plain',
  );
  expect(() => runtimeHandler(podOf('kata'), new Map())).toThrow('this node knows none');
});
