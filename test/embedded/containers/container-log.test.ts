import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  write,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ContainerLog } from '../../../src/embedded/containers/container-log.ts';
import { LogFile } from '../../../src/embedded/containers/log-file.ts';
import { openForReading, PipeStock } from '../../../src/embedded/containers/pipes.ts';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import { mountSmallDisk, testAsRoot } from '../../support/as-root.ts';
import { childProcesses } from '../../support/child-processes.ts';
import { logLines, processRuntimeBed, type ProcessRuntimeBed } from '../../support/process-runtime.ts';
import { podConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

const children = childProcesses();
let dir: string;
let path: string;
let stdout: string;
let stderr: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-log-'));
  path = join(dir, '0.log');
  [stdout, stderr] = [join(dir, 'stdout'), join(dir, 'stderr')];
  await new PipeStock(join(dir, 'pipes')).place([stdout, stderr], undefined);
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

describe('the log of a container', () => {
  test('has the lines of both streams, the last one also without a newline', async () => {
    const { log, ends } = openLog();
    const [out, err] = ends;
    writeSync(out, 'one\ntwo');
    writeSync(err, 'trouble\n');
    for (const fd of ends) closeSync(fd);
    await log.finish();
    expect(logLines(path).sort()).toEqual(['stderr F trouble', 'stdout F one', 'stdout F two']);
  });

  test('ends when all writing ends are closed', async () => {
    const { log, ends } = openLog();
    const second = containerEnds();
    for (const fd of ends) closeSync(fd);
    writeSync(second[0], 'still open\n');
    await waitFor(() => logLines(path).length === 1, { what: 'the line of the second writer' });
    for (const fd of second) closeSync(fd);
    await log.ended;
    await log.finish();
    expect(logLines(path)).toEqual(['stdout F still open']);
  });

  test('is finished although an escaped process holds its pipe open, and has all that was written', async () => {
    const { log, ends } = openLog();
    children.start('sleep', ['1000'], { stdio: ['ignore', ends[0], ends[1]] });
    writeSync(ends[0], 'last words');
    for (const fd of ends) closeSync(fd);
    await log.finish();
    expect(logLines(path)).toEqual(['stdout F last words']);
  });

  test('is finished when a slow disk has taken all that was written', async () => {
    // As on a disk that is slow: no write begins before that.
    const { promise: answers, resolve: answer } = Promise.withResolvers<undefined>();
    const file = new LogFile(
      path,
      () => undefined,
      (...of) => void answers.then(() => write(...of)),
    );
    const log = new ContainerLog(readingEnds(), file);
    const ends = containerEnds();
    const writer = children.start('seq', ['1', '100000'], { stdio: ['ignore', ends[0], ends[1]] });
    const exited = once(writer, 'exit');
    for (const fd of ends) closeSync(fd);
    await waitFor(() => file.behind, { what: 'much to be written' });
    const finished = log.finish();
    // Longer than an escaped process is waited for.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    answer(undefined);
    await finished;
    expect(logLines(path)).toHaveLength(100_000);
    expect(await exited).toEqual([0, null]);
  });

  test('goes on in a new file after it was moved away', async () => {
    const { log, ends } = openLog();
    writeSync(ends[0], 'one\n');
    await waitFor(() => logLines(path).length === 1, { what: 'the first line' });
    renameSync(path, `${path}.old`);
    await log.reopen();
    writeSync(ends[0], 'two\n');
    for (const fd of ends) closeSync(fd);
    await log.finish();
    expect([logLines(`${path}.old`), logLines(path)]).toEqual([['stdout F one'], ['stdout F two']]);
  });

  test('loses nothing of a writer that is faster than the disk', async () => {
    const { log, ends } = openLog();
    children.start('seq', ['1', '200000'], { stdio: ['ignore', ends[0], ends[1]] });
    for (const fd of ends) closeSync(fd);
    await log.ended;
    await log.finish();
    expect(logLines(path).length).toBe(200_000);
    expect(logLines(path).at(-1)).toBe('stdout F 200000');
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

describe('a container of the embedded runtime', () => {
  let bed: ProcessRuntimeBed;
  let runtime: RuntimeService;
  let logsDir: string;

  beforeAll(() => {
    bed = processRuntimeBed();
    ({ runtime } = bed);
    logsDir = join(bed.rootDir, 'pods');
  });

  afterAll(() => bed.cleanup());

  const start = (config: ContainerConfig) => startPod(runtime, logsDir, config);

  /** Runs to the end and gives the lines of its log. */
  const outputOf = async (config: ContainerConfig): Promise<string[]> => {
    const { id, logFile } = await start(config);
    await whenExited(runtime, id);
    return logLines(logFile);
  };

  describe('writes a log', () => {
    test('in the format of CRI: whole lines with their stream and a time in nanoseconds', async () => {
      const { id, logFile } = await start(shell('echo out; echo err >&2; printf rest'));
      await whenExited(runtime, id);
      const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n');
      for (const line of lines) expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z std/);
      expect(logLines(logFile).sort()).toEqual(['stderr F err', 'stdout F out', 'stdout F rest']);
    });

    test('with long lines cut into parts of 16 KiB', async () => {
      const lines = await outputOf(shell("head -c 40000 /dev/zero | tr '\\0' x; echo; echo next"));
      expect(lines.map((line) => [line.slice(0, 9), line.length - 9])).toEqual([
        ['stdout P ', 16384] as const,
        ['stdout P ', 16384] as const,
        ['stdout F ', 40000 - 2 * 16384] as const,
        ['stdout F ', 4] as const,
      ]);
    });

    test('with all lines, however many it writes before it ends', async () => {
      const lines = await outputOf(shell('seq 1 200000'));
      expect(lines.length).toBe(200_000);
      expect(lines.at(-1)).toBe('stdout F 200000');
    });

    test('also of what it writes to /dev/stdout and /dev/stderr', async () => {
      const lines = await outputOf(shell('echo out > /dev/stdout; echo err > /dev/stderr'));
      expect(lines.sort()).toEqual(['stderr F err', 'stdout F out']);
    });

    testAsRoot('and goes on if the disk is full', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'statelet-full-'));
      const disk = mountSmallDisk(folder);
      try {
        const sandbox = podConfig(disk.path);
        const config = shell('seq 1 100000; echo done > finished; sleep 1000');
        const logFile = join(sandbox.logDirectory, config.logPath);
        mkdirSync(dirname(logFile), { recursive: true });
        writeFileSync(logFile, '');
        disk.fill();
        const id = await runtime.createContainer(await runtime.runPodSandbox(sandbox), config, sandbox);
        await runtime.startContainer(id);
        await waitFor(async () => (await runtime.execSync(id, ['cat', 'finished'], 0)).exitCode === 0, {
          what: 'the container to finish writing',
        });
        expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
        expect(readFileSync(logFile, 'utf8')).not.toContain(' 100000\n');
        await runtime.stopContainer(id, 0);
      } finally {
        disk.unmount();
        rmSync(folder, { recursive: true });
      }
    });
  });
});

describe("the embedded runtime's reopenContainerLog", () => {
  let logsDir: string;
  let bed: ProcessRuntimeBed;
  const lines = (path: string): string[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' ').slice(3).join(' '));

  beforeAll(() => {
    logsDir = mkdtempSync(join(tmpdir(), 'statelet-logs-'));
    bed = processRuntimeBed();
  });

  afterAll(async () => {
    await bed.cleanup();
    rmSync(logsDir, { recursive: true });
  });

  test('leaves earlier lines in the moved file, and writes later ones into a new file', async () => {
    const gate = join(logsDir, 'gate');
    const script = `echo one; until [ -e ${gate} ]; do sleep 0.01; done; echo two >&2`;
    const { id, logFile } = await startPod(bed.runtime, logsDir, shell(script));
    await waitFor(() => readFileSync(logFile, 'utf8') !== '', { what: 'the first line' });
    renameSync(logFile, `${logFile}.1`);
    await bed.runtime.reopenContainerLog(id);
    writeFileSync(gate, '');
    await whenExited(bed.runtime, id);
    expect(lines(`${logFile}.1`)).toEqual(['one']);
    expect(lines(logFile)).toEqual(['two']);
  });

  test('loses no line of a container that writes all the time', async () => {
    const gate = join(logsDir, 'end');
    const script = `i=0; until [ -e ${gate} ]; do i=$((i+1)); echo $i; done`;
    const { id, logFile } = await startPod(bed.runtime, logsDir, shell(script));
    const moved = [1, 2, 3].map((round) => `${logFile}.${round}`);
    for (const path of moved) {
      await waitFor(() => readFileSync(logFile, 'utf8') !== '', { what: 'output in the new file' });
      renameSync(logFile, path);
      await bed.runtime.reopenContainerLog(id);
    }
    writeFileSync(gate, '');
    await whenExited(bed.runtime, id);
    const written = [...moved, logFile].flatMap((path) => lines(path));
    expect(written).toEqual(written.map((_, index) => String(index + 1)));
  });

  test('is NotFound for an unknown container, FailedPrecondition for one that does not run', async () => {
    await expect(bed.runtime.reopenContainerLog('none')).rejects.toMatchObject({ kind: 'NotFound' });
    const { id } = await startPod(bed.runtime, logsDir, shell('exit 0'));
    await whenExited(bed.runtime, id);
    await expect(bed.runtime.reopenContainerLog(id)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
  });
});
