/** The manifests of the examples, read as an agent reads them. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parseManifest } from '../../../src/agent/sources/manifests/read-manifest.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url));
const KIND = { source: 'local', nodeName: 'node' } as const;
const FOLDERS = ['pods', 'eviction/pods', 'preemption/pods', 'preemption/later', 'objects/pods'];
/** Beside their pods. */
const OBJECTS = ['objects/pods/greeting.yaml', 'objects/later/secret.yaml'];
const manifests = FOLDERS.flatMap((folder) =>
  readdirSync(EXAMPLES + folder).map((name) => `${folder}/${name}`),
);

test.each(manifests.filter((file) => !OBJECTS.includes(file)))(
  'examples/%s is a valid pod with a short grace period',
  (file) => {
    const { pods, problems } = parseManifest(readFileSync(EXAMPLES + file), KIND);
    expect(problems).toEqual([]);
    expect(pods).toHaveLength(1);
    expect(pods[0]?.spec.terminationGracePeriodSeconds).toBeLessThanOrEqual(5);
  },
);

test.each(OBJECTS)('examples/%s has objects', (file) => {
  const { objects, problems } = parseManifest(readFileSync(EXAMPLES + file), KIND);
  expect(problems).toEqual([]);
  expect(objects.length).toBeGreaterThan(0);
});
