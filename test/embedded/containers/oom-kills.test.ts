import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OomKills } from '../../../src/embedded/containers/oom-kills.ts';

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

  test('is that of the cgroup, not of the machine, if both have one', () => {
    put('proc/self/cgroup', '0::/a\n');
    put('sys/fs/cgroup/a/memory.events', 'oom_kill 0\n');
    put('proc/vmstat', 'oom_kill 1\n');
    const kills = new OomKills(root);
    put('proc/vmstat', 'oom_kill 2\n');
    expect(kills.grew()).toBe(false);
  });

  test('never grows if there is no file with a count', () => {
    expect(new OomKills(root).grew()).toBe(false);
  });
});
