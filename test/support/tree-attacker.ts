/**
 * A program of a pod that changes a tree while something works on it. Runs as a process of its own: `swap FOLDER VICTIM COUNT` replaces
 * COUNT folders one by one by links to VICTIM, and puts them back, a few times over; `fill FOLDER` makes files until it may not any more.
 * Each writes a line when it has begun. `swap` writes at its end how many it has replaced since.
 */
import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync, writeSync } from 'node:fs';
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

/** Each round replaces those that stand there, and puts back those that the round before has replaced. */
const ROUNDS = 6;

function swap(): void {
  const aside = `${folder}.aside`;
  mkdirSync(aside);
  const last = Number(count) - 1;
  let swapped = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index <= last; index++) {
      // From both ends: what it attacks may go through the folders in either order.
      const name = `d${index % 2 === 0 ? index / 2 : last - (index - 1) / 2}`;
      const [path, other] = [join(folder, name), join(aside, name)];
      if (attempt(() => unlinkSync(path))) attempt(() => renameSync(other, path));
      else if (attempt(() => renameSync(path, other)) && attempt(() => symlinkSync(victim, path))) swapped++;
    }
    if (round > 0) continue;
    writeSync(1, 'begun\n');
    swapped = 0;
  }
  writeSync(1, `${swapped}\n`);
}

function fill(): void {
  writeSync(1, 'begun\n');
  for (let index = 0; attempt(() => writeFileSync(join(folder, 'inner', `f${index}`), '')); index++);
}

if (what === 'swap') swap();
else fill();
