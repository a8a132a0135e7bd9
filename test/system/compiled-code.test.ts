import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { testAsRoot } from '../support/as-root.ts';

const SOURCE = new URL('../../src/system/compiled-code.ts', import.meta.url).href;
let program: string;
let compiled: string;
beforeEach(() => {
  program = mkdtempSync(join(tmpdir(), 'statelet-compiled-'));
  compiled = join(program, 'compiled');
  writeFileSync(join(program, 'later.mjs'), 'export const answer = () => 42;');
});
afterEach(() => rmSync(program, { recursive: true, force: true }));

/** A program that keeps its code, and loads the rest of it. */
async function run(): Promise<void> {
  const code = `import { keepCompiledCode } from '${SOURCE}';
    keepCompiledCode(${JSON.stringify(program)});
    const { answer } = await import(${JSON.stringify(join(program, 'later.mjs'))});
    process.exitCode = answer() === 42 ? 0 : 1;`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code];
  await promisify(execFile)(process.execPath, args, { env: { PATH: process.env.PATH } });
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());

describe('what V8 has compiled', () => {
  test('is kept in a folder that only the owner of the program can enter', async () => {
    await run();
    expect(statSync(compiled).mode & 0o777).toBe(0o700);
    expect(filesIn(compiled)).toHaveLength(1);
    await run();
    expect(filesIn(compiled)).toHaveLength(1);
  });

  test.each([0o707, 0o770, 0o720])('is not kept in a folder that others can use: %o', async (mode) => {
    mkdirSync(compiled);
    chmodSync(compiled, mode);
    await run();
    expect(filesIn(compiled)).toEqual([]);
  });

  test('is not kept behind a link', async () => {
    const other = join(program, 'other');
    mkdirSync(other, { mode: 0o700 });
    symlinkSync(other, compiled);
    await run();
    expect(filesIn(other)).toEqual([]);
  });

  test('is not kept where there is no folder to be made', async () => {
    writeFileSync(compiled, 'a file');
    await run();
    expect(statSync(compiled).size).toBe(6);
  });

  testAsRoot('is not kept by another user than the owner of the program', async () => {
    chownSync(program, 65_534, 65_534);
    await run();
    expect(readdirSync(program)).toEqual(['later.mjs']);
  });

  testAsRoot('is not kept in a folder of another user', async () => {
    mkdirSync(compiled, { mode: 0o700 });
    chownSync(compiled, 65_534, 65_534);
    await run();
    expect(filesIn(compiled)).toEqual([]);
  });
});
