import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { giveToGroup } from '../../../../../src/agent/runtime/volumes/kinds/give-to-group.ts';
import { testAsRoot } from '../../../../support/as-root.ts';
import { whileSwapped } from '../../../../support/tree-attack.ts';
import { modeOf } from '../bed.ts';

const NOBODY = 65534;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-group-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const give = (root: string) =>
  giveToGroup(
    root,
    { fsGroup: 7777, changePolicy: undefined, onFile: () => undefined },
    new AbortController().signal,
  );

testAsRoot('a file stays with its owner, and the mode of each is its own', async () => {
  const file = join(dir, 'file');
  writeFileSync(file, '');
  chownSync(file, NOBODY, NOBODY);
  chmodSync(file, 0o4700);
  expect(await give(dir)).toBeUndefined();
  const { uid, gid } = statSync(file);
  expect([uid, gid, modeOf(file)]).toEqual([NOBODY, 7777, '4760']);
});

testAsRoot('files outside are not given to it by folders that become links meanwhile', async () => {
  const victim = join(dir, 'victim');
  mkdirSync(victim);
  writeFileSync(join(victim, 'f'), '');
  const modes = () => [victim, join(victim, 'f')].map((path) => [statSync(path).gid, modeOf(path)]);
  const before = modes();
  await whileSwapped(4, victim, (round) => {
    const folder = join(dir, `round${round}`, 'work');
    // What is moved away is no problem of the pod.
    return { folder, work: () => give(folder) };
  });
  expect(modes()).toEqual(before);
});
