/** Whatever happens while files are written: a reader sees all old files or all new ones, and the next write completes and tidies up. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { writePayload } from '../../../../../src/agent/runtime/volumes/kinds/atomic-writer.ts';
import { type SeededRandom, seededRandom } from '../../../../../src/simulation/plan/seeded-random.ts';
import { silentLogger } from '../../../../support/silent-logger.ts';
import { describeAsRoot, run } from '../bed.ts';
import { dieAt, stepsOf } from '../dying.ts';
import { payloadOf } from '../payload.ts';

type Files = Readonly<Record<string, string>>;

let dir: string;
let volume: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'statelet-faults-')));
  volume = join(dir, 'volume');
  mkdirSync(volume);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const write = (files: Files, folder = volume) =>
  writePayload(folder, payloadOf(files), { fsGroup: undefined, logger: silentLogger }, Date.UTC(2030, 0, 1));

/** What a reader finds who opens the volume's data once; undefined where there are none yet. */
function seen(folder = volume): Files | undefined {
  let root: string;
  try {
    root = realpathSync(join(folder, '..data'));
  } catch {
    return undefined;
  }
  const paths = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));
  return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** The volume has these files under their names, and nothing else. */
function expectTidy(files: Files, folder = volume): void {
  expect(seen(folder)).toEqual(files);
  const names = new Set(Object.keys(files).map((path) => path.split('/')[0]));
  const version = readlinkSync(join(folder, '..data'));
  expect(readdirSync(folder).sort()).toEqual(['..data', version, ...names].sort());
  for (const name of names) expect(readlinkSync(join(folder, String(name)))).toBe(`..data/${name}`);
  for (const [path, content] of Object.entries(files))
    expect(readFileSync(join(folder, path), 'utf8')).toBe(content);
}

function sortedFiles(found: Files | undefined): Files | undefined {
  return found && Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const OLD = { kept: 'old', gone: 'old', 'dir/a': 'old', 'was-file': 'old' };
const NEW = { kept: 'new', 'dir/b/c': 'new', 'was-file/x': 'new', 'x.y': '' };

describe('a process that is killed', () => {
  test('at any step of the first write has written nothing that a reader sees, or all', async () => {
    const task = { task: 'write', volume, files: OLD } as const;
    const steps = await stepsOf(task, volume);
    expectTidy(OLD);
    for (const index of steps.keys()) {
      rmSync(volume, { recursive: true });
      mkdirSync(volume);
      expect(await dieAt(index + 1, task, volume)).toBe(true);
      expect([undefined, OLD]).toContainEqual(seen());
      await write(OLD);
      expectTidy(OLD);
    }
  });

  test('at any step of a change leaves all old files or all new ones; the next write completes and tidies up', async () => {
    await write(OLD);
    const task = { task: 'write', volume, files: NEW } as const;
    const steps = await stepsOf(task, volume);
    const exchanged = steps.findIndex((step) => step.startsWith('rename')) + 1;
    expect(exchanged).toBeGreaterThan(1);
    for (const index of steps.keys()) {
      await write(OLD);
      expect(await dieAt(index + 1, task, volume)).toBe(true);
      // Each call dies before it takes effect.
      expect(seen()).toEqual(index + 1 <= exchanged ? OLD : NEW);
      // The next agent may want the one or the other.
      const next = index % 2 === 0 ? NEW : OLD;
      await write(next);
      expectTidy(next);
    }
  });
});

describe('under a seed', () => {
  const NAMES = ['a', 'b', 'c', 'd/e', 'd/f', 'g/h/i', '.hidden', 'ü'];

  function files(random: SeededRandom, mark: string): Files {
    const chosen = NAMES.filter(() => random.next() < 0.6);
    return Object.fromEntries(chosen.map((name) => [name, `${mark} ${'x'.repeat(random.integer(0, 200))}`]));
  }

  test.each([1, 2, 3])(
    'any order of writes, deaths and strange entries ends in the last files (%i)',
    async (seed) => {
      const random = seededRandom(seed);
      let last: Files | undefined;
      for (let round = 0; round < 12; round++) {
        const next = files(random, String(round));
        const event = random.pick(['death', 'death', 'disturbance', 'write']);
        if (event === 'death') {
          await dieAt(random.integer(1, 30), { task: 'write', volume, files: next }, volume);
          expect([last, next].map(sortedFiles)).toContainEqual(sortedFiles(seen()));
          last = seen();
        } else if (event === 'disturbance') {
          disturb(random);
        } else {
          await write(next);
          expectTidy(sortedFiles(next) ?? {});
          last = next;
        }
      }
      await write({ a: 'end' });
      expectTidy({ a: 'end' });
    },
  );

  /** What only a process with access to the node's folders can do. */
  function disturb(random: SeededRandom): void {
    const entry = join(volume, random.pick(['a', 'd', '..data_tmp', '..2029_01_01_00_00_00.1']));
    rmSync(entry, { recursive: true, force: true });
    const kind = random.integer(0, 2);
    if (kind === 0) writeFileSync(entry, 'strange');
    else if (kind === 1) symlinkSync('/etc', entry);
    else mkdirSync(join(entry, 'strange'), { recursive: true });
  }

  test('a reader beside the writer never sees files of two writes', async () => {
    const of = (generation: number) =>
      Object.fromEntries(NAMES.map((name) => [name, String(generation)])) as Files;
    await write(of(0));
    let written = 0;
    const writing = (async () => {
      while (written < 100) await write(of(++written));
    })();
    let reads = 0;
    while (written < 100) {
      // A version that is removed while it is read is gone, not mixed.
      const generations = new Set(Object.values(unlessGone(() => seen()) ?? {}));
      expect(generations.size).toBeLessThanOrEqual(1);
      reads++;
      await new Promise(setImmediate);
    }
    await writing;
    expect(reads).toBeGreaterThan(10);
    expectTidy(sortedFiles(of(100)) ?? {});
  });

  function unlessGone<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOENT' });
      return undefined;
    }
  }
});

describe('what is not of the volume', () => {
  test('is neither read nor written through a changed link', async () => {
    const outside = join(dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'key'), 'a');
    await write({ key: 'a' });
    for (const target of [outside, '../outside', '..', '.', 'key']) {
      rmSync(join(volume, '..data'));
      symlinkSync(target, join(volume, '..data'));
      await write({ key: 'a' });
      expectTidy({ key: 'a' });
      expect(readFileSync(join(outside, 'key'), 'utf8')).toBe('a');
    }
    rmSync(join(volume, 'key'));
    symlinkSync(join(outside, 'key'), join(volume, 'key'));
    await write({ key: 'b' });
    expectTidy({ key: 'b' });
    expect(readFileSync(join(outside, 'key'), 'utf8')).toBe('a');
  });
});

describe('in place of a file of the volume', () => {
  const current = () => join(volume, readlinkSync(join(volume, '..data')));

  test('a pipe holds nothing up: the files are written anew', async () => {
    await write({ key: 'a', other: 'b' });
    rmSync(join(current(), 'key'));
    execFileSync('mkfifo', [join(current(), 'key')]);
    await write({ key: 'a', other: 'b' });
    expectTidy({ key: 'a', other: 'b' });
  });

  test('a link to a file of the same content counts as another file', async () => {
    writeFileSync(join(dir, 'outside'), 'a');
    await write({ key: 'a' });
    const before = current();
    rmSync(join(before, 'key'));
    symlinkSync(join(dir, 'outside'), join(before, 'key'));
    await write({ key: 'a' });
    expect(current()).not.toBe(before);
    expectTidy({ key: 'a' });
  });

  test('a link in place of a folder is not written through', async () => {
    mkdirSync(join(dir, 'outside'));
    writeFileSync(join(dir, 'outside', 'a'), 'old');
    await write({ 'dir/a': 'old' });
    const before = current();
    rmSync(join(before, 'dir'), { recursive: true });
    symlinkSync(join(dir, 'outside'), join(before, 'dir'));
    await write({ 'dir/a': 'old' });
    expect(current()).not.toBe(before);
    expectTidy({ 'dir/a': 'old' });
    expect(readdirSync(join(dir, 'outside'))).toEqual(['a']);
  });

  test('an entry whose name is not UTF-8 is removed', async () => {
    await write({ key: 'a' });
    mkdirSync(Buffer.concat([Buffer.from(`${volume}/`), Buffer.from([0xff])]));
    await write({ key: 'b' });
    expectTidy({ key: 'b' });
  });
});

describeAsRoot('a filesystem', () => {
  const small = () => join(dir, 'small');
  const mounted = async (options: string, work: () => Promise<void>) => {
    mkdirSync(small(), { recursive: true });
    run('mount', '-t', 'tmpfs', '-o', options, 'tmpfs', small());
    try {
      await work();
    } finally {
      run('umount', small());
    }
  };

  const many = (content: string) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`f${index}`, content]));

  test('that is full at any point has all old files or all new ones, and no unfinished ones', async () => {
    // Each entry that is left lets the write go one step further, beyond the exchange too.
    for (let entries = 9; entries < 44; entries += 4) {
      await mounted(`size=1m,nr_inodes=${entries}`, async () => {
        await write({ a: 'old' }, small());
        await expect(write(many('new'), small())).rejects.toMatchObject({ code: 'ENOSPC' });
        const isOld = seen(small())?.a === 'old';
        expect(isOld ? seen(small()) : sortedFiles(seen(small()))).toEqual(
          isOld ? { a: 'old' } : sortedFiles(many('new')),
        );
        if (isOld) expectTidy({ a: 'old' }, small());
        run('mount', '-o', 'remount,nr_inodes=100', small());
        await write({ a: 'new' }, small());
        expectTidy({ a: 'new' }, small());
      });
    }
    await mounted('size=64k', async () => {
      await write({ a: 'old' }, small());
      const outcome = await write(many('x'.repeat(4096)), small()).catch((error: unknown) => error);
      expect(outcome).toMatchObject({ code: 'ENOSPC' });
      expectTidy({ a: 'old' }, small());
    });
  });

  test('that is read-only keeps the old files, and is written once it can be', async () => {
    await mounted('size=1m', async () => {
      await write({ a: 'old' }, small());
      run('mount', '-o', 'remount,ro', small());
      await expect(write({ a: 'new' }, small())).rejects.toMatchObject({ code: 'EROFS' });
      await write({ a: 'old' }, small());
      expectTidy({ a: 'old' }, small());
      run('mount', '-o', 'remount,rw', small());
      await write({ a: 'new' }, small());
      expectTidy({ a: 'new' }, small());
    });
  });
});

describe('large objects', () => {
  test('of 10,000 keys are written with few files open at a time, and compared', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, `${index}`]),
    );
    const first = await write(many);
    expect(await write(many)).toBe(first);
    expect(readdirSync(volume)).toHaveLength(10_002);
    expect(readFileSync(join(volume, 'key-9999'), 'utf8')).toBe('9999');
    await write({ a: 'b' });
    expectTidy({ a: 'b' });
  });

  test('of binary data are what they were', async () => {
    const content = Uint8Array.from({ length: 1 << 20 }, (_, index) => index % 251);
    const payload = new Map([['bin', { path: 'bin', content, mode: 0o600 }]]);
    await writePayload(volume, payload, { fsGroup: undefined, logger: silentLogger }, 0);
    expect(Buffer.compare(readFileSync(join(volume, 'bin')), content)).toBe(0);
    expect(statSync(join(volume, 'bin')).mode & 0o777).toBe(0o600);
  });
});
