import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { resolveConfig, type RunFlags } from '../../src/agent/config/config.ts';
import { startDaemon } from '../../src/run/daemon.ts';

const nothing = () => undefined;
const logger = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

let rootDir: string;
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-'));
});
afterEach(() => rmSync(rootDir, { recursive: true }));

const start = (flags: RunFlags = {}) =>
  startDaemon(resolveConfig({ rootDir, healthzPort: 'auto', ...flags }), { logger });

test('a daemon that could not start releases the root folder for the next one', async () => {
  await expect(start({ systemReserved: { cpu: '1000' } })).rejects.toThrow(/cpu/);
  const daemon = await start();
  expect(daemon.address).toMatch(/^127\.0\.0\.1:\d+$/);
  await daemon.stop();
});

test('neither the password nor the headers of the manifest URL are logged, also when it fails', async () => {
  const lines: string[] = [];
  const { promise: failed, resolve: fail } = Promise.withResolvers<string>();
  const keep = (fields: object, message: string) => {
    lines.push(JSON.stringify([fields, message]));
    if (message.includes('cannot be fetched')) fail(message);
  };
  const keeper = { trace: keep, debug: keep, info: keep, warn: keep, error: keep };
  const manifestUrl = 'http://me:hunter2@127.0.0.1:1/pods?key=hunter2';
  const manifestUrlHeader = { Authorization: ['hunter2\u0000'] };
  const flags = { rootDir, healthzPort: 'auto', manifestUrl, manifestUrlHeader } as const;
  const daemon = await startDaemon(resolveConfig(flags), { logger: keeper });
  expect(await failed).toMatch(/^http:\/\/127.0.0.1:1\/pods\?…: cannot be fetched: .*header "Authorization"/);
  await daemon.stop();
  expect(lines.join()).toContain('Running the pods of http://127.0.0.1:1/pods');
  expect(lines.join()).not.toContain('hunter2');
});

test('a folder of logs that this user cannot make is an error that names it', async () => {
  const blocked = join(rootDir, 'file');
  writeFileSync(blocked, '');
  const config = { ...resolveConfig({ rootDir, healthzPort: 'auto' }), podLogsDir: join(blocked, 'pods') };
  const failed = startDaemon(config, { logger });
  await expect(failed).rejects.toMatchObject({ kind: 'InvalidArgument' });
  await expect(failed).rejects.toThrow(/^podLogsDir .*\/file\/pods cannot be made: ENOTDIR.*--config file/);
});
