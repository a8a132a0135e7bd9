import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { holdsPodLogs, PodLogs } from '../../../../src/agent/runtime/logs/pod-logs.ts';
import { ALL_PODS } from '../../../support/pod-search.ts';

describe('pod logs', () => {
  const WEB = { name: 'web', namespace: 'default', uid: 'uid-web' };
  let dir: string;
  let logs: PodLogs;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-logs-'));
    logs = new PodLogs(dir);
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  function write(folder: string, file: string, content = ''): void {
    mkdirSync(join(dir, folder), { recursive: true });
    writeFileSync(join(dir, folder, file), content);
  }

  const LINE = '2026-01-01T00:00:00.123456789Z stdout F said\n';
  const pods = (recorded: readonly string[] = []) => logs.pods(ALL_PODS.isKnown, new Set(recorded));
  const uidsFound = async () => (await pods()).map(({ uid }) => uid);

  test('show how many instances of a container there have been', () => {
    expect(logs.pastInstances(WEB, 'main')).toBe(0);
    write('default_web_uid-web/main', '2.log');
    expect([logs.pastInstances(WEB, 'main'), logs.pastInstances(WEB, 'side')]).toEqual([3, 0]);
  });

  test('name their pod, and are removed with it; other folders stay', async () => {
    for (const folder of ['default_web_uid-web', 'default_old_uid-old', 'lost+found']) {
      write(`${folder}/main`, '0.log', LINE);
    }
    expect((await uidsFound()).toSorted()).toEqual(['uid-old', 'uid-web']);
    await logs.remove(WEB);
    expect(readdirSync(dir).sort()).toEqual(['default_old_uid-old', 'lost+found']);
  });

  test('that do not exist can be removed', async () => {
    rmSync(dir, { recursive: true });
    await logs.remove(WEB);
    expect(await pods()).toEqual([]);
    mkdirSync(dir);
  });

  describe('of pods that are not known are found', () => {
    const UUID = '6a1f5f0c-58d5-4b1c-9d53-3a6c8f2b7e11';
    const HASH = '0cc175b9c0f1b6a831c399e269772661';

    test('also when they are rotated, compressed or left in the middle of that', async () => {
      const names = [
        '0.log',
        '0.log.20300101-120000',
        '0.log.20300101-110000.gz',
        '1.log.20300101-110000.tmp',
      ];
      for (const name of names) write(`default_web_uid-web/main`, name, LINE);
      write('default_web_uid-web/side', '3.log');
      expect(await uidsFound()).toEqual(['uid-web']);
    });

    test.each([UUID, HASH])('by a UID that agents give, such as %s, without a line', async (uid) => {
      write(`default_web_${uid}/main`, '0.log');
      mkdirSync(join(dir, `kube-system_empty_${uid}`));
      expect(await uidsFound()).toEqual([uid, uid]);
    });

    test('by a UID that is on record, whatever is in the folder', async () => {
      write('default_own_my-uid/main', '0.log');
      mkdirSync(join(dir, 'default_bare_my-other-uid'));
      const found = await pods(['my-uid', 'my-other-uid']);
      expect(found.map(({ name }) => name).toSorted()).toEqual(['bare', 'own']);
      expect(await uidsFound()).toEqual([]);
    });

    test('without looking into the logs of those that are known', async () => {
      for (const uid of [UUID, HASH]) write(`default_web_${uid}/main`, '0.log', LINE);
      const found = await logs.pods((uid) => uid === HASH, new Set());
      expect(found.map(({ uid }) => uid)).toEqual([UUID]);
    });

    test.each([
      ['a folder that only has such a name', 'my_app_data', 'notes.txt', 'precious'],
      ['a folder of such a name with a folder', 'my_app_data/main', 'notes.txt', 'precious'],
      ['numbered logs that no container wrote', 'run_2024_01/train', '1.log', 'epoch 1\n'],
      ['empty logs of a UID that could be any word', 'run_2024_01/train', '1.log', ''],
      ['a UID that agents give, and something else', `my_data_${HASH}`, 'package.json', '{}'],
      ['a log of a container beside something else', `my_data_${HASH}/deeper/main`, '0.log', LINE],
    ])('but not %s', async (_what, folder, file, content) => {
      write(folder, file, content);
      expect(await uidsFound()).toEqual([]);
    });

    test('but not a file or a link of such a name', async () => {
      writeFileSync(join(dir, `default_web_${UUID}`), LINE);
      const elsewhere = mkdtempSync(join(tmpdir(), 'statelet-elsewhere-'));
      mkdirSync(join(elsewhere, 'main'));
      symlinkSync(join(elsewhere, 'main'), join(dir, `default_link_${UUID}`));
      mkdirSync(join(dir, `default_holder_${UUID}`));
      symlinkSync(join(elsewhere, 'main'), join(dir, `default_holder_${UUID}`, 'main'));
      const found = await pods();
      rmSync(elsewhere, { recursive: true });
      expect(found.map(({ name }) => name)).toEqual([]);
    });
  });
});

describe('pod logs folder', () => {
  const MADE = { uid: '0b0c5d4e-0000-4000-8000-000000000001' };
  const OTHER = { uid: 'any-word' };
  const LINE = '2026-01-01T00:00:00.123456789Z stdout F said\n';

  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-folder-'));
    mkdirSync(join(dir, 'main'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const write = (path: string, content = '') => writeFileSync(join(dir, path), content);

  test('a folder of the UID of an agent counts by the names of its files', async () => {
    write('main/0.log');
    write('main/0.log.20300101-120000.gz');
    expect(await holdsPodLogs(dir, MADE)).toBe(true);
    expect(await holdsPodLogs(dir, OTHER)).toBe(false);
  });

  test('a folder of any other UID counts where one of its logs has a line of CRI', async () => {
    write('main/0.log', 'plain text\n');
    expect(await holdsPodLogs(dir, OTHER)).toBe(false);
    write('main/1.log', LINE);
    expect(await holdsPodLogs(dir, OTHER)).toBe(true);
  });

  test.each([
    ['a file beside the folders of containers', () => write('notes')],
    ['a file that is no log', () => write('main/notes.txt')],
    ['a link in the place of a log', () => symlinkSync('/etc/passwd', join(dir, 'main/1.log'))],
  ])('%s: the folder is not that of a pod', async (_what, add) => {
    write('main/0.log', LINE);
    add();
    expect(await holdsPodLogs(dir, MADE)).toBe(false);
  });

  test('a folder that cannot be read is not that of a pod', async () => {
    expect(await holdsPodLogs(join(dir, 'none'), MADE)).toBe(false);
  });
});
