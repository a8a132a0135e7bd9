import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parseManifest } from '../../src/sources/manifests/read-manifest.ts';

const FOLDER = new URL('../../examples/pods/', import.meta.url);

test.each(readdirSync(FOLDER))('examples/pods/%s is a valid pod with a short grace period', (file) => {
  const { pods, problems } = parseManifest(readFileSync(new URL(file, FOLDER)));
  expect(problems).toEqual([]);
  expect(pods).toHaveLength(1);
  expect(pods[0]?.spec.terminationGracePeriodSeconds).toBeLessThanOrEqual(5);
});
