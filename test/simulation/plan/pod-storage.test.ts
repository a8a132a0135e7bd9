import { expect, test } from '@jest/globals';
import { withStorage } from '../../../src/simulation/plan/pod-storage.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { container } from '../../support/simulated-agent.ts';

/** Specs drawn one after the other. */
function drawn(spec: PodSpec): readonly PodSpec[] {
  const random = seededRandom(1);
  return Array.from({ length: 200 }, () => withStorage(spec, random));
}

test('all containers of a pod have the same image, except for one that cannot be pulled', () => {
  const missing = { ...container('broken'), image: 'registry.example/missing:1' };
  const spec: PodSpec = { containers: [container('main'), missing], initContainers: [container('init')] };
  const images = new Set<string | undefined>();
  for (const { containers, initContainers } of drawn(spec)) {
    expect(initContainers?.[0]?.image).toBe(containers[0]?.image);
    expect(containers[1]?.image).toBe(missing.image);
    images.add(containers[0]?.image);
  }
  expect(images.size).toBe(4);
});

test('each volume is an emptyDir that the first container mounts; some have a size limit', () => {
  const volumes = drawn({ containers: [container('main'), container('second')] }).flatMap((spec) => {
    const names = spec.volumes?.map(({ name }) => name);
    expect(spec.containers[0]?.volumeMounts?.map(({ name }) => name)).toEqual(names);
    expect(spec.containers[1]?.volumeMounts).toBeUndefined();
    return spec.volumes ?? [];
  });
  const limited = volumes.filter(({ emptyDir }) => emptyDir?.sizeLimit != null);
  expect(volumes.every(({ emptyDir }) => emptyDir !== undefined)).toBe(true);
  expect(limited.length).toBeGreaterThan(0);
  expect(limited.length).toBeLessThan(volumes.length);
});

test('a storage limit is twice the request, and other requests stay', () => {
  const main = container('main', 'run', { resources: { requests: { cpu: '1' } } });
  const resources = drawn({ containers: [main] }).map(({ containers }) => containers[0]?.resources);
  const mebibytes = (text = '') => Number(/^(\d+)Mi$/.exec(text)?.[1]);
  const limited = resources.filter((one) => one?.limits !== undefined);
  expect(limited.length).toBeGreaterThan(0);
  for (const one of limited) {
    const [limit, request] = [one?.limits, one?.requests].map((all) => mebibytes(all?.['ephemeral-storage']));
    expect(limit).toBe(2 * request!);
  }
  expect(resources.every((one) => one?.requests?.cpu === '1')).toBe(true);
});
