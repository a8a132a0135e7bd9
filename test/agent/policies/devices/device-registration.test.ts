import { expect, test } from '@jest/globals';
import {
  offerProblem,
  registrationProblem,
} from '../../../../src/agent/policies/devices/device-registration.ts';

const request = { version: 'v1beta1', endpoint: 'gpu.sock', resourceName: 'example.com/gpu' };

test.each([
  [{}, undefined],
  [
    { version: 'v2' },
    'requested API version "v2" is not supported by kubelet. Supported version is "v1beta1"',
  ],
  [{ resourceName: 'memory' }, 'the ResourceName "memory" is invalid'],
  [{ endpoint: '../gpu.sock' }, 'is not the name of a socket in the folder of device plugins'],
  [{ endpoint: '..' }, 'is not the name of a socket in the folder of device plugins'],
])('%j', (fields, problem) => {
  const told = registrationProblem({ ...request, ...fields }, []);
  if (problem === undefined) expect(told).toBeUndefined();
  else expect(told).toContain(problem);
});

test('names without end are refused, and a resource that is known registers again', () => {
  const known = Array.from({ length: 200 }, (_, index) => `example.com/r${index}`);
  expect(registrationProblem(request, known)).toContain('200 resources');
  expect(registrationProblem({ ...request, resourceName: 'example.com/r7' }, known)).toBeUndefined();
});

test('a plugin of the common plugin folder is checked by its versions and its name', () => {
  const offer = {
    type: 'DevicePlugin',
    name: 'example.com/gpu',
    endpoint: '',
    supportedVersions: ['v1beta1'],
  };
  expect(offerProblem(offer, [])).toBeUndefined();
  expect(offerProblem({ ...offer, supportedVersions: ['v1'] }, [])).toContain('[v1]');
  expect(offerProblem({ ...offer, name: 'gpu' }, [])).toContain('the ResourceName "gpu" is invalid');
});
