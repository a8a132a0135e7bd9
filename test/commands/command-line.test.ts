import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { cli } from '../support/cli.ts';

describe('help', () => {
  test('names every command, gives examples and explains the exit codes', async () => {
    const { code, stdout, stderr } = await cli('--help');
    expect([code, stderr]).toEqual([0, '']);
    for (const part of [
      /^ {2}run /m,
      /^ {2}run-once /m,
      /^ {2}pods /m,
      /^ {2}charts /m,
      /^Examples:/m,
      /^Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /m,
    ]) {
      expect(stdout).toMatch(part);
    }
  });

  test.each(['run', 'run-once', 'pods', 'charts'])(
    'of %s has its flags, their defaults and examples',
    async (command) => {
      const { code, stdout } = await cli(command, '--help');
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Usage: statelet .*$/m);
      expect(stdout).toMatch(/\bdefault: /);
      expect(stdout).toMatch(/^Examples:\n {2}statelet /m);
    },
  );

  test('without a command is shown as an error', async () => {
    const { code, stdout, stderr } = await cli();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^Usage: statelet/);
  });
});

test('--version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect(await cli('--version')).toEqual({ code: 0, stdout: `statelet ${version}\n`, stderr: '' });
});

describe('wrong usage ends with 2 and names what is wrong', () => {
  const cases: [string, string[], RegExp][] = [
    [
      'an unknown command, with a suggestion',
      ['runn'],
      /^statelet: unknown command 'runn'\n\(Did you mean run\?\)/,
    ],
    [
      'an unknown flag, with a suggestion',
      ['run', '--pod-manifest-pth', 'x'],
      /^statelet: unknown option '--pod-manifest-pth'\n\(Did you mean --pod-manifest-path\?\)\n.*statelet run --help/,
    ],
    [
      "a command of kubectl's",
      ['cp', 'web:/a', '.'],
      /^statelet: unknown command 'cp': tar copies: "statelet exec /,
    ],
    ['an argument too many', ['run', 'x'], /^statelet: too many arguments for 'run'/],
    ['a flag without its value', ['run', '--config'], /^statelet: option '--config <FILE>' argument missing/],
    [
      'a duration without unit',
      ['run', '--sync-frequency', '5'],
      /--sync-frequency.* argument '5' is invalid\. It must be a duration such as 1m30s/,
    ],
    [
      'a duration of zero',
      ['run', '--file-check-frequency', '0s'],
      /--file-check-frequency.* must be a duration/,
    ],
    [
      'a duration beyond what a timer takes',
      ['run', '--http-check-frequency', '600h'],
      /--http-check-frequency.* must be a duration .*596h/,
    ],
    [
      'a negative number',
      ['run', '--max-pods=-3'],
      /--max-pods.* argument '-3' is invalid\. It must be a whole number/,
    ],
    ['a log level out of range', ['run', '-v', '11'], /-v, --v.* must be a whole number from 0 to 10/],
    [
      'an unknown log format',
      ['run', '--logging-format', 'xml'],
      /--logging-format.* must be auto, text or json/,
    ],
    [
      'a URL of another kind',
      ['run', '--manifest-url', 'ftp://me:hunter2@x'],
      /^statelet: --manifest-url must be an http or https URL\n$/,
    ],
    [
      'a header without a colon',
      ['run', '--manifest-url-header', 'hunter2'],
      /^statelet: --manifest-url-header must be NAME:VALUE\n$/,
    ],
    [
      'a name for an address',
      ['run', '--healthz-bind-address', 'localhost'],
      /--healthz-bind-address.* must be an IP address/,
    ],
    ['a port out of range', ['run', '--healthz-port', '65536'], /--healthz-port.* must be a port/],
    ['an inspector nowhere', ['run', '--inspect=a:b'], /--inspect.* must be HOST:PORT/],
    [
      'a runtime endpoint that is not a socket',
      ['run', '--container-runtime-endpoint', 'tcp://x'],
      /^statelet: --container-runtime-endpoint: "tcp:\/\/x": must be "embedded" or the socket of a CRI runtime/,
    ],
    [
      'a configuration file that does not exist',
      ['run', '--config', '/none.yaml'],
      /^statelet: \/none\.yaml: no such file/,
    ],
    ['a form that pods has not', ['pods', '-o', 'xml'], /--output.* Allowed choices are json, yaml, wide/],
    ['a server that is no address', ['pods', '--server', 'a b'], /^statelet: --server: "a b" is neither/],
    [
      'a chart that does not exist',
      ['charts', 'pood'],
      /^statelet: no chart is called "pood"; did you mean "pod"\?\nthere are: /,
    ],
  ];
  test.each(cases)('%s', async (_, args, message) => {
    const { code, stdout, stderr } = await cli(...args);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
    expect([code, stdout]).toEqual([2, '']);
  });
});

test('charts prints source for the Stately editor, or Mermaid', async () => {
  const [list, source, mermaid] = await Promise.all([
    cli('charts'),
    cli('charts', 'pod'),
    cli('charts', 'pod', '--format', 'mermaid'),
  ]);
  expect(list.stdout).toMatch(/^NAME .*\n(?:\w+ .*\n)*eviction .*\n(?:\w+ .*\n)*pod /);
  expect(source.stdout).toMatch(/^import { assign, setup } from 'xstate';/);
  expect(mermaid.stdout).toMatch(/^stateDiagram-v2\n/);
});
