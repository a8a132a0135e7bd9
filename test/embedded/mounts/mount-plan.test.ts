import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkMounts, mountSteps } from '../../../src/embedded/mounts/mount-plan.ts';
import type { Mount } from '../../../src/types/cri.ts';

let machine: string;
let volume: string;
beforeEach(() => {
  machine = mkdtempSync(join(tmpdir(), 'statelet-machine-'));
  volume = join(machine, 'volume');
  mkdirSync(join(volume, 'sub'), { recursive: true });
  writeFileSync(join(volume, 'text'), '');
});
afterEach(() => rmSync(machine, { recursive: true }));

const mount = (containerPath: string, more: Partial<Mount> = {}): Mount => ({
  containerPath,
  hostPath: volume,
  readonly: false,
  propagation: 'PROPAGATION_PRIVATE',
  ...more,
});
const stepsOf = (...mounts: readonly Mount[]) => mountSteps(mounts, []);
const begin = ['begin', expect.stringContaining('mode=')];

describe('the steps of a mount', () => {
  test('on a folder that is there: the folder is covered, and nothing is made', () => {
    const there = join(machine, 'there');
    mkdirSync(there);
    expect(stepsOf(mount(there))).toEqual([['bind', 'rprivate', 'rw', volume, there]]);
  });

  test('through a link of the machine lead to where the link leads', () => {
    symlinkSync(volume, join(machine, 'link'));
    expect(stepsOf(mount(join(machine, 'link')))).toEqual([['bind', 'rprivate', 'rw', volume, volume]]);
  });

  test('on a path that is missing: a folder in memory stands for the nearest that is there', () => {
    const parent = join(machine, 'parent');
    mkdirSync(parent);
    writeFileSync(join(parent, 'old'), '');
    symlinkSync('old', join(parent, 'link'));
    const target = join(parent, 'new/deep');
    const steps = stepsOf(mount(target));
    expect(steps).toEqual([
      begin,
      ...['keep', 'link', 'binds'].map((): unknown => expect.anything()),
      ['folder', 'new/deep'],
      ['end', parent],
      ['bind', 'rprivate', 'rw', volume, target],
    ]);
    const line = `${join(parent, 'old')} ./old none rbind 0 0`;
    expect(steps).toContainEqual(['keep', join(parent, 'old'), 'old', line]);
    expect(steps).toContainEqual(['link', 'link', 'old']);
  });

  test('two of which are missing in one folder, one of a file: one folder stands for it', () => {
    const parent = join(machine, 'parent');
    mkdirSync(parent);
    const file = mount(join(parent, 'b/file'), { hostPath: join(volume, 'text') });
    expect(stepsOf(mount(join(parent, 'a')), file)).toEqual([
      begin,
      ['binds'],
      ['folder', 'a'],
      ['folder', 'b'],
      ['file', 'b/file'],
      ['end', parent],
      ['bind', 'rprivate', 'rw', volume, join(parent, 'a')],
      ['bind', 'rprivate', 'rw', join(volume, 'text'), join(parent, 'b/file')],
    ]);
  });

  test('at the top of the machine replace its root', () => {
    const steps = stepsOf(mount('/statelet-no-such-folder'));
    expect(steps).toContainEqual(['keep', '/proc', 'proc', '/proc ./proc none rbind 0 0']);
    expect(steps).toContainEqual(['folder', 'statelet-no-such-folder']);
    expect(steps.slice(-2)).toEqual([
      ['root'],
      ['bind', 'rprivate', 'rw', volume, '/statelet-no-such-folder'],
    ]);
  });

  test('below another mount come after it, and are made in that volume; whatever the order of the list', () => {
    const there = join(machine, 'there');
    mkdirSync(there);
    symlinkSync(there, join(machine, 'other-name'));
    const [inner, odd] = [mount(join(there, 'a/b')), mount(join(machine, 'other-name/c'))];
    expect(stepsOf(inner, odd, mount(there))).toEqual([
      ['bind', 'rprivate', 'rw', volume, there],
      ['inside', 'rprivate', 'rw', 'folder', volume, there, 'c'],
      ['inside', 'rprivate', 'rw', 'folder', volume, there, 'a/b'],
    ]);
  });

  test('that is read-only keep what else the source is mounted with', () => {
    const table = [
      {
        path: '/',
        shared: true,
        readOnly: false,
        flags: ['rw', 'nosuid', 'noatime'],
        type: 'ext4',
        options: [],
      },
    ];
    const there = join(machine, 'there');
    mkdirSync(there);
    const slave = mount(there, { readonly: true, propagation: 'PROPAGATION_HOST_TO_CONTAINER' });
    expect(mountSteps([slave], table)).toEqual([['bind', 'rslave', 'ro,nosuid,noatime', volume, there]]);
  });
});

describe('a mount is refused', () => {
  test('where a file would lie on a folder, or a folder on a file', () => {
    const text = join(volume, 'text');
    expect(() => stepsOf(mount(text))).toThrow(
      `nothing can be mounted at ${text}: ${volume} is a folder, and ${text} of this machine is not: choose a mountPath that`,
    );
    expect(() => stepsOf(mount(join(volume, 'sub'), { hostPath: text }))).toThrow(`${text} is a file`);
    expect(() => stepsOf(mount(join(text, 'below')))).toThrow('ENOTDIR');
  });

  test('where its source is not there', () => {
    expect(() => stepsOf(mount(volume, { hostPath: join(machine, 'none') }))).toThrow('ENOENT');
  });

  test('where a folder with very many entries would have to be replaced', () => {
    for (let index = 0; index <= 1_000; index++) writeFileSync(join(volume, String(index)), '');
    expect(() => stepsOf(mount(join(volume, 'new')))).toThrow(
      'it has more than 1000 entries: make the mount point, or choose another',
    );
  });

  test.each([
    [{ containerPath: '/' }, 'the root of the machine stays as it is'],
    [{ containerPath: '/a/..' }, 'the root of the machine stays as it is'],
    [{ hostPath: '' }, 'the embedded runtime has no images'],
    [
      { propagation: 'PROPAGATION_BIDIRECTIONAL' as const },
      'mountPropagation Bidirectional needs a CRI runtime',
    ],
  ])('that is no mount for a plain process: %j', (more, problem) => {
    expect(() => checkMounts([mount('/data', more)], 'web')).toThrow(
      `container "web" cannot have its mount at`,
    );
    expect(() => checkMounts([mount('/data', more)], 'web')).toThrow(problem);
  });
});
