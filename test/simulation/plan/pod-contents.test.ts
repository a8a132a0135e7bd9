import { expect, test } from '@jest/globals';
import { referencesOf } from '../../../src/simulation/api/pod-references.ts';
import { withContents } from '../../../src/simulation/plan/pod-contents.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';

const INIT = { name: 'init', image: 'app' };
const SPEC: PodSpec = { initContainers: [INIT], containers: [{ name: 'main', image: 'app' }] };

const random = seededRandom(1);
const specs = Array.from({ length: 500 }, () => withContents(SPEC, random));
const referring = specs.filter(
  (spec) => referencesOf({ metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec }).length > 0,
);

test('some pods refer to objects, by files and by variables, required and optional', () => {
  expect(referring.length).toBeGreaterThan(100);
  expect(referring.length).toBeLessThan(300);
  const text = JSON.stringify(referring);
  for (const what of [
    'configMap',
    'secret',
    'projected',
    'envFrom',
    'configMapKeyRef',
    'secretKeyRef',
    'missing',
  ])
    expect(text).toContain(`"${what}"`);
  expect(text).toContain('"optional":true');
});

test('what has files is mounted by the first container or the first init container', () => {
  const withFiles = referring.filter(({ volumes = [] }) => volumes.length > 0);
  const mounting = withFiles.map(({ initContainers = [], containers }) =>
    [...initContainers, ...containers].find(({ volumeMounts }) => volumeMounts?.[0]?.name === 'contents'),
  );
  expect(new Set(mounting.map((container) => container?.name))).toEqual(new Set(['init', 'main']));
});
