import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../../..');

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** Runs two files with the same tests by Jest, one after the other in one process: the outcome of each test, by file. */
async function runExamples(folder: string): Promise<readonly Record<string, string>[]> {
  const report = join(folder, 'report.json');
  const files = ['first', 'second'].map((name) => join(import.meta.dirname, `files/${name}.example.ts`));
  const flags = ['--runInBand', '--testMatch', '**/*.example.ts', '--json', '--outputFile', report];
  const command = [join(ROOT, 'node_modules/jest/bin/jest.js'), ...flags, '--runTestsByPath', ...files];
  const env = { ...process.env, HOME: '/home/example' };
  await new Promise<void>((resolve) => {
    execFile(process.execPath, command, { cwd: ROOT, env }, () => resolve());
  });
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  return testResults.map(({ assertionResults }) =>
    Object.fromEntries(assertionResults.map(({ title, status }) => [title, status])),
  );
}

test('files of a worker share the modules of the product, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statelet-jest-'));
  const outcome = {
    'finds the process as it was before any file, and changes it': 'passed',
    'shares the modules of the product': 'passed',
    'has modules below `test/` with their hooks for itself': 'passed',
    'fails where a promise is rejected that nobody waits for': 'failed',
    'fails when its time is over': 'failed',
  };
  try {
    expect(await runExamples(folder)).toEqual([outcome, outcome]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
