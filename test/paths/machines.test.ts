import { readdir } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { machines } from '../../src/agent/machines/index.ts';

test('every machine has a test that replays its paths', async () => {
  const suites = await readdir(import.meta.dirname, { recursive: true });
  expect(suites).toEqual(
    expect.arrayContaining(Object.keys(machines).map((name) => `${name}/${name}.test.ts`)),
  );
});
