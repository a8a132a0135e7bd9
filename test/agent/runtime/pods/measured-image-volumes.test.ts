import { expect, test } from '@jest/globals';
import { measuredImageVolumes } from '../../../../src/agent/runtime/pods/measured-image-volumes.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';

const mount = (name: string, mountPath: string) => ({ name, mountPath });
const container: Container = {
  name: 'main',
  volumeMounts: [mount('model', '/a'), mount('model', '/b'), mount('scratch', '/c')],
};
const plain = testPod();
const pod: Pod = {
  ...plain,
  spec: {
    ...plain.spec,
    containers: [container],
    volumes: [
      { name: 'model', image: { reference: 'model:1' } },
      { name: 'scratch', emptyDir: {} },
    ],
  },
};

test('a container that was created has mounted its images', async () => {
  const { turnover, told } = new RecordedMeasurements();
  const create = () => Promise.resolve('id');
  expect(await measuredImageVolumes(turnover, { pod, container }, create)).toBe('id');
  expect(told).toEqual(['1 image volumes', '2 image mounts: success']);
});

test.each([
  ['ImageVolumeMountFailed: no such layer', ['1 image volumes', '2 image mounts: failure']],
  ['name is reserved', ['1 image volumes']],
])('a refusal says whether a mount has failed: %s', async (problem, lines) => {
  const { turnover, told } = new RecordedMeasurements();
  const create = () => Promise.reject(new Error(problem));
  await expect(measuredImageVolumes(turnover, { pod, container }, create)).rejects.toThrow(problem);
  expect(told).toEqual(lines);
});

test('a container without such volumes is not measured', async () => {
  const { turnover, told } = new RecordedMeasurements();
  const other = { ...container, volumeMounts: [mount('scratch', '/c')] };
  await measuredImageVolumes(turnover, { pod, container: other }, () => Promise.resolve('id'));
  expect(told).toEqual([]);
});
