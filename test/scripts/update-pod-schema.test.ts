import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

test('pod-schema.json is up to date with the installed models and the supplement', () => {
  const script = fileURLToPath(new URL('../../scripts/update-pod-schema.ts', import.meta.url));
  expect(() => execFileSync(process.execPath, [script, '--check'], { stdio: 'pipe' })).not.toThrow();
});
