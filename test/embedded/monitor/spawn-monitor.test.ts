import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readStat } from '../../../src/embedded/containers/proc.ts';
import { runtimeLayout, type RuntimeLayout } from '../../../src/embedded/layout.ts';
import { makeRuntimeDir, spawnMonitor } from '../../../src/embedded/monitor/spawn-monitor.ts';
import { kill9, monitorPid } from '../../support/process-runtime.ts';

let rootDir: string;
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-spawn-'));
});
afterEach(() => rmSync(rootDir, { recursive: true }));

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('the folder of the monitor', () => {
  test('is made for its owner alone', () => {
    makeRuntimeDir(runtimeLayout(join(rootDir, 'deep', 'er')));
    expect(modeOf(join(rootDir, 'deep', 'er', 'runtime'))).toBe('700');
  });

  test('becomes one for its owner alone if it is there already', () => {
    mkdirSync(join(rootDir, 'runtime'), { mode: 0o755 });
    makeRuntimeDir(runtimeLayout(rootDir));
    expect(modeOf(join(rootDir, 'runtime'))).toBe('700');
  });

  test('that cannot be made is named in the error, with a remedy', () => {
    const file = join(rootDir, 'file');
    writeFileSync(file, '');
    expect(() => makeRuntimeDir(runtimeLayout(file))).toThrow(
      expect.objectContaining({
        kind: 'Internal',
        message: expect.stringMatching(
          new RegExp(`${file}/runtime cannot be used: .*must belong to the user`),
        ),
      }),
    );
  });
});

describe('a monitor', () => {
  let layout: RuntimeLayout;
  beforeEach(() => {
    layout = runtimeLayout(rootDir);
    makeRuntimeDir(layout);
  });

  /** Starts the monitor, and ends it after `use`. */
  const withMonitor = async (use: (pid: number) => void | Promise<void>): Promise<void> => {
    await spawnMonitor(layout);
    const pid = await monitorPid(rootDir);
    try {
      await use(pid);
    } finally {
      await kill9(pid);
    }
  };

  test('can be connected to once it is started, and is a session of its own', async () => {
    await withMonitor((pid) => {
      expect(readStat(pid)).toMatchObject({ sessionId: pid, groupId: pid });
      expect(readFileSync(layout.monitorLog, 'utf8')).toContain(`started as process ${pid}`);
    });
  });

  test('has PATH of the environment of its daemon, and the root as its working directory', async () => {
    await withMonitor((pid) => {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
      expect(environment).toEqual([`PATH=${process.env.PATH ?? ''}`]);
      expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
    });
  });

  test('is started once: a second call finds the first one', async () => {
    await withMonitor(async (pid) => {
      await spawnMonitor(layout);
      expect(await monitorPid(rootDir)).toBe(pid);
    });
  });

  test('is started although its log cannot be written', async () => {
    mkdirSync(layout.monitorLog);
    await withMonitor((pid) => expect(readStat(pid)).toBeDefined());
  });

  test('begins a new log when the old one is too large', async () => {
    writeFileSync(layout.monitorLog, 'x'.repeat(1024 * 1024 + 1));
    await withMonitor(() => {
      expect(statSync(`${layout.monitorLog}.1`).size).toBe(1024 * 1024 + 1);
      expect(statSync(layout.monitorLog).size).toBeLessThan(1000);
    });
  });

  test('that ends at its start is an error with the last lines of its log', async () => {
    // The folder of this name cannot be made.
    writeFileSync(layout.sandboxesDir, '');
    await expect(spawnMonitor(layout)).rejects.toMatchObject({
      kind: 'Unavailable',
      message: expect.stringMatching(/could not be started \(see .*monitor.log\): it ended at once: .* at /s),
    });
    expect(readFileSync(layout.monitorLog, 'utf8')).toContain('cannot start: Error: EEXIST');
  });
});
