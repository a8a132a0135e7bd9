import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { nowNs } from '../../../src/runtime/process/monitor/start-clock.ts';
import { OomKills } from '../../../src/runtime/process/containers/oom-kills.ts';
import { isRunning, parseStat, readStat, startedAtMs } from '../../../src/runtime/process/containers/proc.ts';
import { LineSplitter } from '../../../src/runtime/process/monitor/protocol.ts';

describe('the count of OOM kills', () => {
  let root: string;
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'statelet-'));
  });

  afterEach(() => rmSync(root, { recursive: true }));

  test.each([
    ['cgroup v2', '0::/a/b\n', 'sys/fs/cgroup/a/b/memory.events', 'low 0\noom 1\noom_kill %d\n'],
    [
      'cgroup v1',
      '3:cpu:/c\n2:memory:/a\n0::/\n',
      'sys/fs/cgroup/memory/a/memory.oom_control',
      'under_oom 0\noom_kill %d\n',
    ],
    ['the machine where no cgroup counts', '0::/\n', 'proc/vmstat', 'pgpgin 5\noom_kill %d\n'],
  ])('is that of %s, and grows once for every growth', (_, cgroup, file, text) => {
    put('proc/self/cgroup', cgroup);
    put(file, text.replace('%d', '4'));
    const kills = new OomKills(root);
    expect(kills.grew()).toBe(false);
    put(file, text.replace('%d', '5'));
    expect([kills.grew(), kills.grew()]).toEqual([true, false]);
  });

  test('is that of the cgroup where it and the machine have one', () => {
    put('proc/self/cgroup', '0::/a\n');
    put('sys/fs/cgroup/a/memory.events', 'oom_kill 0\n');
    put('proc/vmstat', 'oom_kill 1\n');
    const kills = new OomKills(root);
    put('proc/vmstat', 'oom_kill 2\n');
    expect(kills.grew()).toBe(false);
  });

  test('never grows where nobody counts', () => {
    expect(new OomKills(root).grew()).toBe(false);
  });
});

describe('/proc', () => {
  test('is read rightly for a program whose name looks like more fields', () => {
    const numbers = Array.from({ length: 49 }, (_, index) => index + 4).join(' ');
    expect(parseStat(`77 (a) R 1 (b) Z ${numbers}`)).toEqual({
      ...{ pid: 77, state: 'Z', groupId: 5, sessionId: 6 },
      ...{ cpuTicks: 14 + 15 + 16 + 17, startTicks: 22 },
    });
  });

  test('tells a process from another one of its pid by its start', () => {
    const { pid, startTicks } = readStat(process.pid)!;
    expect(isRunning({ pid, startTicks })).toBe(true);
    expect(isRunning({ pid, startTicks: startTicks - 1 })).toBe(false);
  });

  test('tells when a process started', async () => {
    const before = Date.now();
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    try {
      await once(child, 'spawn');
      const after = Date.now();
      const startedAt = startedAtMs(readStat(child.pid!)!.startTicks);
      // The kernel counts in hundredths of a second, and the start of the machine is known to one.
      expect(startedAt).toBeGreaterThan(before - 1_000);
      expect(startedAt).toBeLessThan(after + 1_000);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
});

test('the clock has more than milliseconds and stays with the system clock', () => {
  const times = Array.from({ length: 1000 }, () => nowNs());
  expect(new Set(times.map((time) => time % 1_000_000n)).size).toBeGreaterThan(100);
  const [before, now, after] = [Date.now(), Number(nowNs() / 1_000_000n), Date.now()];
  expect(now).toBeGreaterThan(before - 1_000);
  expect(now).toBeLessThan(after + 1_000);
});

describe('the protocol', () => {
  test('cuts lines wherever chunks end', () => {
    const lines = new LineSplitter();
    const text = Buffer.from('{"ä":1}\n{"b":2}\n{"c"');
    const cut = Array.from(text, (byte) => lines.push(Buffer.from([byte]))).flat();
    expect(cut).toEqual(['{"ä":1}', '{"b":2}']);
    expect(lines.push(Buffer.from(':3}\n'))).toEqual(['{"c":3}']);
  });

  test('refuses a line that never ends', () => {
    const lines = new LineSplitter();
    const chunk = Buffer.alloc(8 * 1024 * 1024, 'x');
    expect(() => {
      for (let round = 0; round < 9; round++) lines.push(chunk);
    }).toThrow('a message of more than');
  });
});
