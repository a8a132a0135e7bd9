/** Runs a program that changes a tree of files while something else works on it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./tree-attacker.ts', import.meta.url));

/** So many that the work on them takes a while. */
const FOLDERS = 400;

export interface TreeAttack {
  /** Resolves when it has ended, with the last line that it has written. */
  readonly ended: Promise<string>;
  kill(): void;
}

/** Resolves when it has begun. `args`: see the program. `uid`: the user that it runs as. */
export async function attackTree(args: readonly string[], uid?: number): Promise<TreeAttack> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', PROGRAM, ...args],
    { stdio: ['ignore', 'pipe', 'inherit'], ...(uid !== undefined && { uid, gid: uid }), cwd: '/' },
  );
  if (child.stdout === null) throw new Error('the program has no output');
  const closed = once(child, 'close');
  let last = '';
  const lines = createInterface(child.stdout).on('line', (line) => (last = line));
  await once(lines, 'line');
  return { ended: closed.then(() => last), kill: () => void child.kill('SIGKILL') };
}

/**
 * Does some work on a folder of folders while a program replaces them by links to `victim`, with another folder each time: as often as asked,
 * and again until the program has replaced one while the work went on.
 */
export async function whileSwapped(
  times: number,
  victim: string,
  prepare: (round: number) => { readonly folder: string; readonly work: () => Promise<unknown> },
): Promise<void> {
  let swapped = 0;
  for (let round = 0; round < times || swapped === 0; round++) {
    const { folder, work } = prepare(round);
    makeFolders(folder, FOLDERS);
    const attack = await attackTree(['swap', folder, victim, String(FOLDERS)]);
    try {
      await work();
      swapped += Number(await attack.ended);
    } finally {
      attack.kill();
    }
  }
}

/** Folders `d0`, `d1`, … with a file each. */
export function makeFolders(folder: string, count: number): void {
  for (let index = 0; index < count; index++) {
    mkdirSync(join(folder, `d${index}`), { recursive: true });
    writeFileSync(join(folder, `d${index}`, 'f'), '');
  }
}
