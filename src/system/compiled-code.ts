/** Keeps code that V8 has compiled in a folder beside the program: the next start has less to compile. */
import { lstatSync, mkdirSync, statSync } from 'node:fs';
// Older versions of Node, which get a message that they are too old, do not export this name.
import nodeModule from 'node:module';
import { join } from 'node:path';
import { errnoCode } from './system-errors.ts';

const FOLDER = 'compiled';
const OTHERS = 0o077;

/**
 * Whoever writes there has this process run their code. So only the user who owns the program, and could change it as well, uses the
 * folder, and nobody else may enter it. For other users, and on a disk that cannot be written, everything is compiled anew.
 */
export function keepCompiledCode(programFolder: string): void {
  const folder = join(programFolder, FOLDER);
  try {
    if (statSync(programFolder).uid !== process.geteuid?.()) return;
    makeOwn(folder);
    if (isOwn(folder)) nodeModule.enableCompileCache(folder);
  } catch {
    // It only makes a start faster.
  }
}

function makeOwn(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
  }
}

function isOwn(folder: string): boolean {
  const stats = lstatSync(folder);
  return stats.isDirectory() && stats.uid === process.geteuid?.() && (stats.mode & OTHERS) === 0;
}
