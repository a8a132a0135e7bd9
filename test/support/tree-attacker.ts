/**
 * A program of a pod that changes a tree while it is removed. Runs as a process of its own: `swap FOLDER VICTIM COUNT` replaces COUNT
 * folders one by one, from the last, by links to VICTIM; `fill FOLDER` makes files until it may not any more. Each writes a line when it
 * has begun.
 */
import { mkdirSync, renameSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const [, , what = '', folder = '', victim = '', count = ''] = process.argv;

/** Returns whether it succeeded. */
function attempt(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

function swap(): void {
  const aside = `${folder}.aside`;
  mkdirSync(aside);
  writeSync(1, 'begun\n');
  let swapped = 0;
  for (let index = Number(count) - 1; index >= 0; index--) {
    const path = join(folder, `d${index}`);
    const isMoved = attempt(() => renameSync(path, join(aside, `d${index}`)));
    if (isMoved && attempt(() => symlinkSync(victim, path))) swapped++;
  }
  writeSync(1, `${swapped}\n`);
}

function fill(): void {
  writeSync(1, 'begun\n');
  for (let index = 0; attempt(() => writeFileSync(join(folder, 'inner', `f${index}`), '')); index++);
}

if (what === 'swap') swap();
else fill();
