import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerLog } from '../../../../src/runtime/process/containers/container-log.ts';
import { makePipes, openForReading } from '../../../../src/runtime/process/containers/launch.ts';
import { LogFile } from '../../../../src/runtime/process/containers/log-file.ts';
import { childProcesses } from '../../../support/child-processes.ts';
import { waitFor } from '../../../support/wait-for.ts';

const children = childProcesses();
let dir: string;
let path: string;
let stdout: string;
let stderr: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-log-'));
  path = join(dir, '0.log');
  [stdout, stderr] = [join(dir, 'stdout'), join(dir, 'stderr')];
  await makePipes([stdout, stderr], undefined);
});

afterEach(async () => {
  await children.end();
  rmSync(dir, { recursive: true });
});

const readingEnds = () => ({ stdout: openForReading(stdout), stderr: openForReading(stderr) });

/** The ends of a container, as `withContainerEnds` opens them. */
const containerEnds = () =>
  [stdout, stderr].map((pipe) => openSync(pipe, constants.O_RDWR)) as [number, number];

const openLog = () => {
  const log = new ContainerLog(readingEnds(), new LogFile(path, () => undefined));
  return { log, ends: containerEnds() };
};

/** The lines of a log without their times. */
const lines = (file = path): string[] =>
  (existsSync(file) ? readFileSync(file, 'latin1') : '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(line.indexOf(' ') + 1));

describe('the log of a container', () => {
  test('has the lines of both streams, the last one also without a newline', async () => {
    const { log, ends } = openLog();
    const [out, err] = ends;
    writeSync(out, 'one\ntwo');
    writeSync(err, 'trouble\n');
    for (const fd of ends) closeSync(fd);
    await log.finish();
    expect(lines().sort()).toEqual(['stderr F trouble', 'stdout F one', 'stdout F two']);
  });

  test('ends when all writing ends are closed', async () => {
    const { log, ends } = openLog();
    const second = containerEnds();
    for (const fd of ends) closeSync(fd);
    writeSync(second[0], 'still open\n');
    await waitFor(() => lines().length === 1, { what: 'the line of the second writer' });
    for (const fd of second) closeSync(fd);
    await log.ended;
    await log.finish();
    expect(lines()).toEqual(['stdout F still open']);
  });

  test('is finished although an escaped process holds its pipe open, and has all that was written', async () => {
    const { log, ends } = openLog();
    children.start('sleep', ['1000'], { stdio: ['ignore', ends[0], ends[1]] });
    writeSync(ends[0], 'last words');
    for (const fd of ends) closeSync(fd);
    await log.finish();
    expect(lines()).toEqual(['stdout F last words']);
  });

  test('goes on in a new file after it was moved away', async () => {
    const { log, ends } = openLog();
    writeSync(ends[0], 'one\n');
    await waitFor(() => lines().length === 1, { what: 'the first line' });
    renameSync(path, `${path}.old`);
    await log.reopen();
    writeSync(ends[0], 'two\n');
    for (const fd of ends) closeSync(fd);
    await log.finish();
    expect([lines(`${path}.old`), lines()]).toEqual([['stdout F one'], ['stdout F two']]);
  });

  test('loses nothing of a writer that is faster than the disk', async () => {
    const { log, ends } = openLog();
    const writer = children.start('seq', ['1', '200000'], { stdio: ['ignore', ends[0], ends[1]] });
    for (const fd of ends) closeSync(fd);
    expect(writer.pid).toBeGreaterThan(0);
    await log.ended;
    await log.finish();
    expect(lines().length).toBe(200_000);
    expect(lines().at(-1)).toBe('stdout F 200000');
  });
});

test('without a file the output is read and dropped, so that the container does not wait', async () => {
  const log = new ContainerLog(readingEnds(), undefined);
  const ends = containerEnds();
  // More than a pipe holds.
  children.start('head', ['-c', '1000000', '/dev/zero'], { stdio: ['ignore', ends[0], ends[1]] });
  for (const fd of ends) closeSync(fd);
  await log.ended;
  await log.reopen();
  await log.finish();
  expect(existsSync(path)).toBe(false);
});
