import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { resolveConfig, type RunFlags } from '../src/config/config.ts';
import { startDaemon } from '../src/daemon.ts';

const nothing = () => undefined;
const logger = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

let rootDir: string;
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-'));
});
afterEach(() => rmSync(rootDir, { recursive: true }));

const start = (flags: RunFlags = {}) =>
  startDaemon(resolveConfig({ rootDir, healthzPort: 'auto', ...flags }), { logger });

test('what could not be started leaves the root folder to whoever comes next', async () => {
  await expect(start({ systemReserved: { cpu: '1000' } })).rejects.toThrow(/cpu/);
  const daemon = await start();
  expect(daemon.address).toMatch(/^127\.0\.0\.1:\d+$/);
  await daemon.stop();
});
