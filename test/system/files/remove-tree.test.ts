import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { placeOf } from '../../../src/system/files/open-place.ts';
import { removePrivateSync, removeTree } from '../../../src/system/files/remove-tree.ts';
import { errnoCode } from '../../../src/system/system-errors.ts';
import { testAsRoot } from '../../support/as-root.ts';
import { attackTree, type TreeAttack, whileSwapped } from '../../support/tree-attack.ts';

const REMOVE_TREE = new URL('../../../src/system/files/remove-tree.ts', import.meta.url).href;
const NOBODY = 65534;

let dir: string;
let tree: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-remove-'));
  tree = join(dir, 'tree');
  mkdirSync(tree);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const inTree = (...names: string[]) => join(tree, ...names);
const names = () => readdirSync(dir);

function makeVictim(): string {
  const victim = join(dir, 'victim');
  mkdirSync(victim);
  for (let index = 0; index < 100; index++) writeFileSync(join(victim, `precious${index}`), '');
  return victim;
}

describe('a tree', () => {
  test('is removed with all that can be in it, and links are not followed', async () => {
    const victim = makeVictim();
    mkdirSync(inTree('a', 'b', '.hidden'), { recursive: true });
    for (const name of ['file', 'a/file', 'a/b/.hidden/file']) writeFileSync(inTree(name), 'x');
    for (const name of ['link', 'a/b/link']) symlinkSync(victim, inTree(name));
    symlinkSync('nowhere', inTree('broken'));
    execFileSync('mkfifo', [inTree('pipe')]);
    await removeTree(tree);
    expect(names()).toEqual(['victim']);
    expect(readdirSync(victim)).toHaveLength(100);
  });

  test('may have names that are not UTF-8', async () => {
    const folder = Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe, 0x80])]);
    mkdirSync(folder);
    writeFileSync(Buffer.concat([folder, Buffer.from('/ü')]), '');
    writeFileSync(Buffer.concat([folder, Buffer.from([0x2f, 0xc3])]), '');
    await removeTree(tree);
    expect(names()).toEqual([]);
  });

  test('may be deeper than a path can be', async () => {
    let at = openSync(tree, 'r');
    for (let depth = 0; depth < 200; depth++) {
      const inner = `${placeOf({ fd: at })}/${'deep'.repeat(25)}`;
      mkdirSync(inner);
      const next = openSync(inner, 'r');
      closeSync(at);
      at = next;
    }
    closeSync(at);
    await removeTree(tree);
    expect(names()).toEqual([]);
  });

  test('of very many folders goes bit by bit: the event loop has its turns in between', async () => {
    const count = 500;
    for (let index = 0; index < count; index++) mkdirSync(inTree(`d${index}`));
    // It may go between two calls.
    const left = () => {
      try {
        return readdirSync(tree).length;
      } catch (error) {
        if (errnoCode(error) === 'ENOENT') return 0;
        throw error;
      }
    };
    let before = left();
    let most = 0;
    const removing = removeTree(tree).then(() => true);
    const turn = () => new Promise<false>((resolve) => setImmediate(resolve, false));
    while (!(await Promise.race([removing, turn()]))) {
      const now = left();
      most = Math.max(most, before - now);
      before = now;
    }
    expect(names()).toEqual([]);
    expect(most).toBeLessThan(count / 10);
  });
});

describe('at the path may be', () => {
  test('nothing, also no folder above', async () => {
    await removeTree(join(dir, 'none'));
    await removeTree(join(dir, 'none', 'none'));
    expect(names()).toEqual(['tree']);
  });

  test('a file', async () => {
    writeFileSync(join(dir, 'file'), '');
    await removeTree(join(dir, 'file'));
    expect(names()).toEqual(['tree']);
  });

  test('a link, which is removed alone', async () => {
    writeFileSync(inTree('kept'), '');
    symlinkSync(tree, join(dir, 'link'));
    await removeTree(join(dir, 'link'));
    expect(names()).toEqual(['tree']);
    expect(readdirSync(tree)).toEqual(['kept']);
  });
});

describe('a program that goes on in the tree', () => {
  let attack: TreeAttack | undefined;
  afterEach(() => attack?.kill());

  test('cannot lead the removal out of it by folders that become links', async () => {
    const victim = makeVictim();
    await whileSwapped(5, victim, (round) => ({
      folder: join(dir, `round${round}`, 'work'),
      work: () => removeTree(join(dir, `round${round}`)),
    }));
    expect(readdirSync(victim)).toHaveLength(100);
    expect(names().toSorted()).toEqual(['tree', 'victim']);
  });

  testAsRoot('cannot hold it up by files that it goes on making', async () => {
    mkdirSync(inTree('inner'));
    for (const path of [dir, tree, inTree('inner')]) chmodSync(path, 0o777);
    chownSync(inTree('inner'), NOBODY, NOBODY);
    attack = await attackTree(['fill', tree], NOBODY);
    await removeTree(tree);
    expect(names()).toEqual([]);
    await attack.ended;
  });
});

describe('what cannot be removed', () => {
  testAsRoot('is a mount point: what is mounted stays, all else goes', async () => {
    const victim = makeVictim();
    mkdirSync(inTree('a', 'bound'), { recursive: true });
    writeFileSync(inTree('a', 'file'), '');
    // Of the same file system, so that only the number of the mount tells.
    execFileSync('mount', ['--bind', victim, inTree('a', 'bound')]);
    try {
      const failure = { code: 'EBUSY', message: expect.stringContaining(inTree('a', 'bound')) };
      await expect(removeTree(tree)).rejects.toMatchObject(failure);
      expect(readdirSync(victim)).toHaveLength(100);
      expect(readdirSync(inTree('a'))).toEqual(['bound']);
      await expect(removeTree(inTree('a', 'bound'))).rejects.toMatchObject({ code: 'EBUSY' });
      expect(readdirSync(victim)).toHaveLength(100);
    } finally {
      execFileSync('umount', [inTree('a', 'bound')]);
    }
    await removeTree(tree);
    expect(names()).toEqual(['victim']);
  });

  testAsRoot('is a file that something is mounted on', async () => {
    writeFileSync(inTree('target'), '');
    writeFileSync(join(dir, 'source'), 'kept');
    execFileSync('mount', ['--bind', join(dir, 'source'), inTree('target')]);
    try {
      await expect(removeTree(tree)).rejects.toMatchObject({ code: 'EBUSY' });
    } finally {
      execFileSync('umount', [inTree('target')]);
    }
    await removeTree(tree);
    expect(names()).toEqual(['source']);
  });

  testAsRoot('is in a folder of another user: the error names it by its path', () => {
    writeFileSync(inTree('file'), '');
    const said = removeAsNobody(tree);
    expect(said).toBe(`EACCES: permission denied, unlink '${inTree('file')}'`);
    expect(readdirSync(tree)).toEqual(['file']);
    return Promise.resolve();
  });
});

testAsRoot('a folder that its owner has closed is opened again by the same user', () => {
  mkdirSync(inTree('closed', 'inner'), { recursive: true });
  writeFileSync(inTree('closed', 'inner', 'file'), '');
  for (const path of [dir, tree, inTree('closed'), inTree('closed', 'inner')])
    chownSync(path, NOBODY, NOBODY);
  chmodSync(inTree('closed', 'inner'), 0);
  chmodSync(inTree('closed'), 0o500);
  expect(removeAsNobody(tree)).toBe('');
  expect(names()).toEqual([]);
  return Promise.resolve();
});

/** Returns the error's message; empty where there was none. */
function removeAsNobody(path: string): string {
  chmodSync(dir, statSync(dir).mode | 0o755);
  const script = `
    const { removeTree } = await import(${JSON.stringify(REMOVE_TREE)});
    await removeTree(${JSON.stringify(path)}).catch(({ message }) => process.stdout.write(message));`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
  return execFileSync(process.execPath, flags, { uid: NOBODY, gid: NOBODY, encoding: 'utf8', cwd: '/' });
}

test('what stands in a private folder is removed at once, whatever it is, and nothing is no error', () => {
  writeFileSync(inTree('file'), '');
  removePrivateSync(tree);
  removePrivateSync(tree);
  symlinkSync(makeVictim(), join(dir, 'link'));
  removePrivateSync(join(dir, 'link'));
  expect(names()).toEqual(['victim']);
  expect(readdirSync(join(dir, 'victim'))).toHaveLength(100);
});
