import { expect, test } from '@jest/globals';
import { draOfferProblem, draServiceOf } from '../../../../src/agent/policies/dra/dra-registration.ts';

const offer = (supportedVersions: string[], name = 'gpu.example.com') => ({
  type: 'DRAPlugin',
  name,
  endpoint: '/run/gpu.sock',
  supportedVersions,
});

test('a driver is called by the first service of its list that is known here', () => {
  expect(draServiceOf(['v2.DRAPlugin', 'v1beta1.DRAPlugin', 'v1.DRAPlugin'])).toBe(
    'k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin',
  );
  expect(draServiceOf(['toString', '1.0.0'])).toBeUndefined();
  expect(draOfferProblem(offer(['v1alpha1.DRAResourceHealth', 'v1.DRAPlugin']), [])).toBeUndefined();
});

test('others are refused in the words of the kubelet', () => {
  const where =
    'invalid supported gRPC versions of DRA driver plugin gpu.example.com at endpoint /run/gpu.sock: ';
  expect(draOfferProblem(offer([]), [])).toBe(
    `${where}empty list of supported gRPC services (aka supported versions)`,
  );
  expect(draOfferProblem(offer(['1.0.0', 'a\nb']), [])).toBe(
    `${where}none of services supported by the plugin (["1.0.0" "a b"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])`,
  );
  expect(draOfferProblem(offer(['v1.DRAPlugin'], 'GPU!'), [])).toContain('is a DNS name');
});

test('a program that registers new names without end is refused, a driver that registers again is not', () => {
  const known = Array.from({ length: 100 }, (_, index) => `d${index}.test`);
  expect(draOfferProblem(offer(['v1.DRAPlugin']), known)).toBe('the node has 100 DRA drivers already');
  expect(draOfferProblem(offer(['v1.DRAPlugin'], 'd7.test'), known)).toBeUndefined();
});
