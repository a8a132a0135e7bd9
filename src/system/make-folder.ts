/**
 * Makes folders with their parents. Node's own way, `recursive`, never ends where the kernel lets no process make a folder, as in `/proc`: it
 * goes on making a parent that is there.
 */
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoCode } from './system-errors.ts';

/** Unless it exists. The parents get that mode too. Resolves to whether it was not there. Rejects with the system's error. */
export async function makeFolder(path: string, mode?: number): Promise<boolean> {
  try {
    return await makeOne(path, mode);
  } catch (error) {
    if (!lacksParent(error, path)) throw error;
  }
  await makeFolder(dirname(path), mode);
  try {
    return await makeOne(path, mode);
  } catch (error) {
    throw explained(error, path);
  }
}

/** The same, for code that cannot wait. */
export function makeFolderSync(path: string, mode?: number): boolean {
  try {
    return makeOneSync(path, mode);
  } catch (error) {
    if (!lacksParent(error, path)) throw error;
  }
  makeFolderSync(dirname(path), mode);
  try {
    return makeOneSync(path, mode);
  } catch (error) {
    throw explained(error, path);
  }
}

async function makeOne(path: string, mode?: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (error) {
    const isThere = errnoCode(error) === 'EEXIST' && (await stat(path).catch(() => undefined))?.isDirectory();
    if (isThere !== true) throw error;
    return false;
  }
}

function makeOneSync(path: string, mode?: number): boolean {
  try {
    mkdirSync(path, mode);
    return true;
  } catch (error) {
    const isThere = errnoCode(error) === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (isThere !== true) throw error;
    return false;
  }
}

function lacksParent(error: unknown, path: string): boolean {
  return errnoCode(error) === 'ENOENT' && dirname(path) !== path;
}

/** The parent is there, and the kernel says that the folder does not exist. */
function explained(error: unknown, path: string): unknown {
  if (errnoCode(error) !== 'ENOENT') return error;
  return Object.assign(error as Error, { message: `no folder can be made in ${dirname(path)}` });
}
