/** bin/statelet.js: what it says and does before the program itself is loaded. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const BIN = fileURLToPath(new URL('../../bin/statelet.js', import.meta.url));
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-bin-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  mkdirSync(join(folder, 'bin'));
  cpSync(BIN, join(folder, 'bin', 'statelet.js'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(setup = '') {
  const bin = join(folder, 'bin', 'statelet.js');
  const code = `${setup}; await import(${JSON.stringify(bin)});`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
}

function dist(source: string): void {
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist', 'main.js'), source);
}

const node = (version: string) =>
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;

describe('bin/statelet.js', () => {
  test.each(['12.22.0', '20.19.0', '22.18.0'])('names the required version on Node %s', (version) => {
    dist("console.log('started')");
    const { status, stdout, stderr } = run(node(version));
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^statelet: needs Node 22\.19 or newer, and this is v.*\n$/);
  });

  test.each(['20.19.0', '22.18.0'])(
    'the program itself does the same on Node %s, before it loads anything',
    (version) => {
      const code = `${node(version)}; await import(${JSON.stringify(MAIN)});`;
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ['--input-type=module', '--eval', code],
        {
          encoding: 'utf8',
        },
      );
      expect([status, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^statelet: needs Node 22\.19 or newer, and this is v.*\n$/);
    },
  );

  test('names the version of package.json', () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    expect((JSON.parse(text) as { readonly engines: object }).engines).toEqual({ node: '>=22.19' });
  });

  test.each(['22.19.0', '24.0.0'])('starts on Node %s', (version) => {
    dist("console.log('started')");
    expect(run(node(version))).toMatchObject({ status: 0, stdout: 'started\n', stderr: '' });
  });

  test('in a checkout that has not been built the error says what to do', () => {
    expect(run()).toMatchObject({
      status: 1,
      stderr: 'statelet: it has not been built: run "npm run build"\n',
    });
  });

  test('without the installed packages the error says what to do', () => {
    dist("import 'a-package-that-is-not-there'");
    expect(run()).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^statelet: its packages are not installed: run "npm ci" \(.*a-package-that-is-not-there.*\)\n$/,
      ),
    });
  });

  test('gives V8 one thread beside that of the program, and new objects 4 MB: both cannot be set later', () => {
    dist("console.log(process.execArgv.join(' '))");
    const PATH = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
    const { stdout, stderr } = spawnSync(join(folder, 'bin', 'statelet.js'), {
      encoding: 'utf8',
      env: { PATH },
    });
    expect([stdout, stderr]).toEqual(['--v8-pool-size=1 --min-semi-space-size=4\n', '']);
  });

  test('hides no other error', () => {
    dist("throw new Error('a defect')");
    expect(run()).toMatchObject({ status: 1, stderr: expect.stringContaining('a defect') });
  });
});
