import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../../..');

interface Report {
  readonly testResults: readonly {
    /** Of the tests that failed, with lines of code. */
    readonly message: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

interface Outcome {
  readonly statuses: Readonly<Record<string, string>>;
  readonly message: string;
}

/** Runs two files with the same tests by Jest, one after the other in one process: the outcome of each test, by file. */
async function runExamples(folder: string): Promise<readonly Outcome[]> {
  const report = join(folder, 'report.json');
  const files = ['first', 'second'].map((name) => join(import.meta.dirname, `files/${name}.example.ts`));
  const flags = ['--runInBand', '--testMatch', '**/*.example.ts', '--json', '--outputFile', report];
  const command = [join(ROOT, 'node_modules/jest/bin/jest.js'), ...flags, '--runTestsByPath', ...files];
  // A report with colours, which a CI asks for, cannot be read below.
  const env = { ...process.env, HOME: '/home/example', NO_COLOR: '1' };
  await new Promise<void>((resolve) => {
    execFile(process.execPath, command, { cwd: ROOT, env }, () => resolve());
  });
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  return testResults.map(({ assertionResults, message }) => ({
    statuses: Object.fromEntries(assertionResults.map(({ title, status }) => [title, status])),
    message,
  }));
}

test('files of a worker share the modules of the product, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statelet-jest-'));
  const outcome = {
    'finds the process as it was before any file, and changes it': 'passed',
    'shares the modules of the product': 'passed',
    'has modules below `test/` with their hooks for itself': 'passed',
    'fails where a promise is rejected that nobody waits for': 'failed',
    'fails when its time is over': 'failed',
    'counts what holds': 'passed',
    'fails where it counts too few': 'failed',
    'fails where values are not identical': 'failed',
    'fails where values are not equal': 'failed',
    'fails where values are not different': 'failed',
  };
  try {
    const files = await runExamples(folder);
    expect(files.map(({ statuses }) => statuses)).toEqual([outcome, outcome]);
    for (const { message } of files) {
      for (const word of ['identical', 'equal', 'different'])
        expect(message).toMatch(new RegExp(`> \\d+ \\| +\\['${word}', \\(\\) => expect`, 'u'));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
