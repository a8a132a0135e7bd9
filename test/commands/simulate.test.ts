import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Progress } from '../../src/commands/progress.ts';
import {
  formatOperations,
  parseOperations,
  simulate,
  type SimulateFlags,
} from '../../src/commands/simulate.ts';
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import type { SimulationOptions, SimulationResult } from '../../src/simulation/simulation.ts';
import { newTally } from '../../src/simulation/tally.ts';
import { cli } from '../support/cli.ts';

/** The result of a simulation in which nothing happened. */
const RESULT = {
  story: [],
  operations: [],
  tally: newTally(),
  digest: 'abc',
  lines: 2,
  elapsedMs: 2_000,
};
const SMALL = ['--pods', '3', '--hours', '0.2'];

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'statelet-simulate-'))));
afterEach(() => rm(folder, { recursive: true }));

const flags = (more: Partial<SimulateFlags> = {}): SimulateFlags => ({
  seed: '7',
  nodes: '1',
  pods: '3',
  hours: '0.2',
  faults: 'all',
  drivers: 'none',
  runs: '1',
  ...more,
});

/** Collects what is printed. */
function printer() {
  const printed: string[] = [];
  return { print: (text: string) => void printed.push(text), text: () => printed.join('') };
}

/** The output without the real time, which differs between runs. */
const withoutSeconds = (text: string) => text.replaceAll(/ in \d+\.\d s$/gm, ' in … s');

describe('the output', () => {
  test('has the verdict, the size, the counts and the digest of the history', async () => {
    const { code, stdout, stderr } = await cli('simulate', '--seed', '7', ...SMALL);
    expect([code, stderr]).toEqual([0, '']);
    expect(withoutSeconds(stdout)).toMatch(
      /^seed 7: I1-I10 hold; 1 node, 3 pod names each, 0\.2 hours in … s\n {2}\d+ operations?, \d+ containers? started, .*\n {2}history: \d+ lines, sha256 [0-9a-f]{64}\n$/,
    );
  });

  test('is the same for the same seed, the history as well, to the byte, and its digest is that of the file', async () => {
    const files = [join(folder, 'one'), join(folder, 'two')];
    const [one, two] = await Promise.all(
      files.map((file) => cli('simulate', '--seed', '7', ...SMALL, '--history', file)),
    );
    expect(withoutSeconds(two!.stdout)).toBe(withoutSeconds(one!.stdout));
    const [first, second] = await Promise.all(files.map((file) => readFile(file)));
    expect(second!.equals(first!)).toBe(true);
    const lines = first!.toString('utf8').split('\n').length - 1;
    const digest = createHash('sha256').update(first!).digest('hex');
    expect(one!.stdout).toContain(`history: ${lines} lines, sha256 ${digest}`);
  });

  test('with --runs has that many seeds, one after the other', async () => {
    const { print, text } = printer();
    await simulate(flags({ runs: '3', hours: '0.05' }), print);
    expect(text().match(/^seed \d+: I1-I10 hold/gm)).toEqual(
      [7, 8, 9].map((seed) => `seed ${seed}: I1-I10 hold`),
    );
  });

  test('with --for has at least one seed', async () => {
    const { print, text } = printer();
    await simulate(flags({ for: '1ms', hours: '0.05' }), print);
    expect(text()).toMatch(/^seed 7: I1-I10 hold/);
  });

  test('goes on with seed 0 after the largest seed', async () => {
    const { print, text } = printer();
    await simulate(flags({ seed: '4294967295', runs: '2', hours: '0.01' }), print);
    expect(text().match(/^seed \d+/gm)).toEqual(['seed 4294967295', 'seed 0']);
  });
});

test('--only carries out only these operations, under their numbers', async () => {
  const file = join(folder, 'history');
  const { print, text } = printer();
  await simulate(flags({ only: '2,4', history: file }), print);
  expect(text()).toMatch(/^ {2}2 operations, /m);
  const history = await readFile(file, 'utf8');
  expect(history.match(/(?<=: )#\d+/g)).toEqual(['#2', '#4']);
});

test('--faults switches on the named faults', async () => {
  const { print, text } = printer();
  await simulate(flags({ faults: 'none' }), print);
  await simulate(flags({ faults: 'fail,hang' }), print);
  const failed = [...text().matchAll(/(\d+) of \d+ calls failed/g)].map(([, count]) => Number(count));
  expect(failed[0]).toBeLessThan(failed[1]!);
});

test('--help and docs/simulation.md list the same flags and every fault', async () => {
  const { code, stdout } = await cli('simulate', '--help');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Examples:\n {2}statelet simulate /m);
  const document = await readFile(new URL('../../docs/simulation.md', import.meta.url), 'utf8');
  const firsts = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, first]) => first);
  const listed = firsts(stdout, /^ {2}(--[a-z]+)/gm);
  expect(listed).toContain('--seed');
  expect(firsts(document, /^\| `(--[a-z]+)/gm)).toEqual(listed);
  expect(firsts(document, /^\| `([a-z][a-z-]+)` /gm)).toEqual(ALL_FAULTS);
  const faults = stdout.slice(stdout.indexOf('Faults:'), stdout.indexOf('Examples:'));
  expect(firsts(faults, /^ {2}([a-z-]+)/gm)).toEqual(ALL_FAULTS);
});

describe('wrong usage', () => {
  const cases: [string, Partial<SimulateFlags>, string | RegExp][] = [
    ['a seed that is not a number', { seed: 'x' }, '--seed: "x" is not a whole number from 0 to 4294967295'],
    [
      'a seed too large',
      { seed: '4294967296' },
      '--seed: "4294967296" is not a whole number from 0 to 4294967295',
    ],
    ['no nodes', { nodes: '0' }, '--nodes: "0" is not a whole number from 1 on'],
    ['half a pod', { pods: '1.5' }, '--pods: "1.5" is not a whole number from 1 on'],
    ['no time', { hours: '0' }, '--hours: "0" is not a number above 0, such as 0.5'],
    [
      'unknown drivers',
      { drivers: 'csi,gpu' },
      '--drivers: there is no "gpu"; choose from all, none, csi, dra',
    ],
    [
      'an unknown fault',
      { faults: 'hang,fire' },
      `--faults: there is no "fire"; choose from all, none, ${ALL_FAULTS.join(', ')}`,
    ],
    ['minus one hour', { hours: '-1' }, '--hours: "-1" is not a number above 0, such as 0.5'],
    ['infinite hours', { hours: '1e999' }, '--hours: "1e999" is not a number above 0, such as 0.5'],
    [
      'more hours than can be simulated',
      { pods: '20', hours: '50001' },
      '--hours: for 1 node with 20 pod names each at most 50000 hours can be simulated at once',
    ],
    [
      'more pods than fit into memory',
      { nodes: '1000', pods: '20' },
      '--nodes, --pods: 1000 nodes with 20 pod names each are 20000 pod names; at most 10000',
    ],
    [
      'an operation that is not a number',
      { only: '1,x' },
      '--only: "x" is not a whole number from 0 on, nor a range such as 4-17',
    ],
    [
      'an operation that does not exist',
      { only: '1-9999' },
      /^--only: there is no operation 9999; the plan has \d+ operations$/,
    ],
    [
      'a file that cannot be written',
      { history: '/nowhere/history' },
      "--history: ENOENT: no such file or directory, open '/nowhere/history'",
    ],
    ['no runs', { runs: '0' }, '--runs: "0" is not a whole number from 1 on'],
    ['a duration without unit', { for: '5' }, '--for: "5" is not a duration such as 30s, 10m or 1h'],
  ];
  test.each(cases)('%s: the error names the flag', async (_, more, message) => {
    const { print, text } = printer();
    const simulated = simulate(flags(more), print);
    await expect(simulated).rejects.toMatchObject({ kind: 'InvalidArgument' });
    await expect(simulated).rejects.toThrow(message);
    expect(text()).toBe('');
  });

  test('exits with code 2', async () => {
    const [value, flag, both] = await Promise.all([
      cli('simulate', '--nodes', '0'),
      cli('simulate', '--node', '1'),
      cli('simulate', '--runs', '2', '--for', '1h'),
    ]);
    expect(both).toMatchObject({ code: 2, stdout: '' });
    expect(both.stderr).toMatch(/'--for <DURATION>' cannot be used with option '--runs <NUMBER>'/);
    expect(value).toEqual({
      code: 2,
      stdout: '',
      stderr: 'statelet: --nodes: "0" is not a whole number from 1 on\n',
    });
    expect(flag).toMatchObject({ code: 2, stdout: '' });
    expect(flag.stderr).toMatch(
      /^statelet: unknown option '--node'\n\(Did you mean --nodes\?\)\n.*simulate --help/,
    );
  });
});

test('the progress of a long run goes to stderr, and is removed before the result is printed', async () => {
  const written: string[] = [];
  const clock = { ms: 0 };
  const stream = { isTTY: true, write: (text: string) => written.push(text) };
  const run = (options: SimulationOptions) => {
    for (const hours of [250.04, 1_000]) {
      clock.ms += 1_000;
      options.onProgress?.(hours * 3_600_000);
    }
    return Promise.resolve(RESULT);
  };
  const print = (text: string) => written.push(text);
  await simulate(flags({ hours: '1000' }), print, run, new Progress(stream, () => clock.ms));
  expect(written.slice(0, 3)).toEqual([
    '\r\u001b[Kseed 7: 250.0 of 1000 hours (25%)',
    '\r\u001b[Kseed 7: waiting for the pods to settle',
    '\r\u001b[K',
  ]);
  expect(written[3]).toMatch(/^seed 7: I1-I10 hold/);
});

test('if the history cannot be written, the exit code is 1, and the error says so', async () => {
  const { code, stderr } = await cli('simulate', ...SMALL, '--history', '/dev/full');
  expect([code, stderr]).toEqual([1, 'statelet: --history: ENOSPC: no space left on device, write\n']);
});

describe('a violated invariant', () => {
  const VIOLATION = {
    violation: {
      invariant: 'I3',
      node: 1,
      name: 'pod-2',
      uid: 'uid-5',
      what: 'main runs as the pod becomes Terminated',
    },
    story: ['0:00:01.000 node-1 pod-2 uid-5: one thing', '0:00:02.000 node-1 pod-2 uid-5: another'],
    tally: newTally(),
    digest: 'abc',
    lines: 2,
    elapsedMs: 2_000,
  };

  /** Simulations. The one with the seed `failing` violates an invariant because of operation 5. */
  function violating(failing = 7) {
    const asked: SimulationOptions[] = [];
    const run = (options: SimulationOptions): Promise<SimulationResult> => {
      asked.push(options);
      const only = options.only ?? [1, 2, 5];
      const fails = options.seed === failing && only.includes(5);
      const { violation, ...others } = VIOLATION;
      return Promise.resolve({ ...others, operations: only, ...(fails && { violation }) });
    };
    return { asked, run };
  }

  test('is printed with the history of the pod and the command that replays it, and the command fails', async () => {
    const { print, text } = printer();
    const simulated = simulate(flags({ faults: 'hang,agent' }), print, violating().run);
    await expect(simulated).rejects.toMatchObject({
      kind: 'Internal',
      message: 'seed 7: an invariant was violated',
    });
    expect(text()).toMatch(/^seed 7: VIOLATED I3; /);
    expect(text()).toContain(`I3 violated: node-1 pod-2 uid-5: main runs as the pod becomes Terminated

The history of this pod:
  0:00:01.000 node-1 pod-2 uid-5: one thing
  0:00:02.000 node-1 pod-2 uid-5: another

Replay:
  statelet simulate --seed 7 --nodes 1 --pods 3 --hours 0.2 --faults hang,agent --only 1,2,5
`);
  });

  test('is replayed by the printed command', async () => {
    const { print, text } = printer();
    const { asked, run } = violating();
    const wanted = flags({ faults: 'hang,agent', drivers: 'csi' });
    await expect(simulate(wanted, print, run)).rejects.toThrow();
    const [, ...words] = /statelet simulate (.*)/.exec(text())![1]!.split(/ ?--/);
    const again = Object.fromEntries(words.map((word) => word.split(' '))) as Partial<SimulateFlags>;
    await expect(simulate({ runs: '1', ...again } as SimulateFlags, print, run)).rejects.toThrow();
    const { onProgress, ...first } = asked[0]!;
    expect(onProgress).toBeDefined();
    expect(asked[1]).toMatchObject({ ...first, only: [1, 2, 5] });
  });

  test('ends a series of simulations', async () => {
    const { print } = printer();
    const { asked, run } = violating(9);
    await expect(simulate(flags({ runs: '100' }), print, run)).rejects.toThrow('seed 9');
    expect(asked.map(({ seed }) => seed)).toEqual([7, 8, 9]);
  });

  test('is reduced by --shrink to the operations and faults that are needed', async () => {
    const { print, text } = printer();
    const { run } = violating();
    await expect(simulate(flags({ shrink: true }), print, run)).rejects.toThrow();
    expect(text()).toMatch(/^Shrinking …\nAfter \d+ more simulations, this is left:\nI3 violated: /m);
    expect(text().match(/(?<=--faults ).*$/gm)).toEqual(['all --only 1,2,5', 'none --only 5']);
  });
});

const parse = (text: string) => parseOperations(text, () => 20);

test.each([
  ['1,2,5', [1, 2, 5]],
  ['1-4,7,9-11', [1, 2, 3, 4, 7, 9, 10, 11]],
  ['3-3', [3]],
  ['0', [0]],
  ['', []],
])('"%s" is read as %j', (text, numbers) => {
  expect(parse(text)).toEqual(numbers);
});

test.each([
  [[1, 2, 5], '1,2,5'],
  [[1, 2, 3, 4, 7, 9, 10, 11], '1-4,7,9-11'],
  [[1, 3, 5], '1,3,5'],
  [[], '0'],
])('%j is written as %s, and read back as the same numbers', (numbers, text) => {
  expect(formatOperations(numbers)).toBe(text);
  expect(parse(text).filter((number) => number > 0)).toEqual(numbers);
});

test('a quarter of a million operations fit into a command', () => {
  const all = Array.from({ length: 250_000 }, (_, index) => index + 1);
  expect(formatOperations(all)).toBe('1-250000');
  expect(parseOperations('1-250000', () => 250_000)).toEqual(all);
});

test.each([
  ['1,x', '--only: "x" is not a whole number from 0 on, nor a range such as 4-17'],
  ['-4', '--only: "-4" is not a whole number from 0 on, nor a range such as 4-17'],
  ['9-4', '--only: "9-4" ends before it begins'],
  ['4,21', '--only: there is no operation 21; the plan has 20 operations'],
  ['1-99999999999999', '--only: there is no operation 99999999999999; the plan has 20 operations'],
])('"%s" is refused, and the error shows a valid form', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});
