import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rfc3339Nano } from '../../../../src/runtime/process/monitor/start-clock.ts';
import { CriLogFormatter, outputTail } from '../../../../src/runtime/process/containers/cri-log-format.ts';
import { LogFile } from '../../../../src/runtime/process/containers/log-file.ts';
import type { ProcessRuntimeBed } from '../../../support/process-runtime.ts';
import { processRuntimeBed } from '../../../support/process-runtime.ts';
import { shell, startPod, whenExited } from '../../../support/runtime-configs.ts';
import { waitFor } from '../../../support/wait-for.ts';

const TIME_NS = 1_767_225_600_123_456_789n;
const TIME = '2026-01-01T00:00:00.123456789Z';

test('a time has nine digits below the second, whatever they are', () => {
  expect(rfc3339Nano(TIME_NS)).toBe(TIME);
  expect(rfc3339Nano(1_767_225_600_000_000_001n)).toBe('2026-01-01T00:00:00.000000001Z');
});

describe('the log format of CRI', () => {
  const push = (formatter: CriLogFormatter, text: string) => formatter.push(Buffer.from(text), TIME_NS);

  test('has a line for every line, empty ones as well', () => {
    expect(push(new CriLogFormatter('stdout'), 'a\n\nb\n')).toBe(
      `${TIME} stdout F a\n${TIME} stdout F \n${TIME} stdout F b\n`,
    );
  });

  test('joins a line that comes in pieces', () => {
    const formatter = new CriLogFormatter('stderr');
    expect(push(formatter, 'one ')).toBe('');
    expect(push(formatter, 'line\nnext')).toBe(`${TIME} stderr F one line\n`);
    expect(formatter.end(TIME_NS)).toBe(`${TIME} stderr F next\n`);
    expect(formatter.end(TIME_NS)).toBe('');
  });

  test.each([
    [16384, ['F 16384']],
    [16385, ['P 16384', 'F 1']],
    [32768, ['P 16384', 'F 16384']],
    [32769, ['P 16384', 'P 16384', 'F 1']],
  ])('cuts a line of %d bytes into %j', (length, expected) => {
    const lines = push(new CriLogFormatter('stdout'), `${'x'.repeat(length)}\n`)
      .trimEnd()
      .split('\n');
    const shapes = lines.map((line) => / stdout ([PF]) (.*)$/.exec(line)!);
    expect(shapes.map(([, tag, text]) => `${tag} ${text!.length}`)).toEqual(expected);
  });

  test('does not hold back a line that grows without end', () => {
    const formatter = new CriLogFormatter('stdout');
    const out = Array.from({ length: 10 }, () => push(formatter, 'x'.repeat(5000))).join('');
    expect(out.match(/ P x{16384}\n/g)).toHaveLength(3);
  });

  test('changes no byte', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 10));
    const line = new CriLogFormatter('stdout').push(Buffer.concat([bytes, Buffer.from('\n')]), TIME_NS);
    expect(Buffer.from(line, 'latin1').subarray(`${TIME} stdout F `.length, -1)).toEqual(bytes);
  });
});

describe('the end of a log as a termination message', () => {
  const line = (text: string, tag = 'F') => `${TIME} stdout ${tag} ${text}\n`;

  test('is the last 80 lines', () => {
    const texts = Array.from({ length: 100 }, (_, index) => `line ${index}`);
    expect(outputTail(texts.map((text) => line(text)).join(''))).toBe(`${texts.slice(20).join('\n')}\n`);
  });

  test('is the last 2048 bytes of these', () => {
    const tail = outputTail(line('x'.repeat(3000)) + line('end'));
    expect(tail).toBe(`${'x'.repeat(2048 - 5)}\nend\n`);
  });

  test('joins partial lines, and text of both streams', () => {
    expect(outputTail(line('one ', 'P') + line('line') + `${TIME} stderr F two\n`)).toBe('one line\ntwo\n');
  });
});

describe('a log file', () => {
  let dir: string;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-'));
  });

  afterAll(() => rmSync(dir, { recursive: true }));

  test('gets everything in order, and says when it is behind', async () => {
    const file = new LogFile(join(dir, 'deep', 'er', '0.log'), () => undefined);
    const texts = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(1000)}\n`);
    for (const text of texts) file.append(text);
    expect(file.behind).toBe(true);
    await file.whenIdle();
    expect(file.behind).toBe(false);
    await file.close();
    expect(readFileSync(join(dir, 'deep', 'er', '0.log'), 'latin1')).toBe(texts.join(''));
  });

  test('is appended to, not written over', async () => {
    for (const text of ['first\n', 'second\n']) {
      const file = new LogFile(join(dir, 'twice.log'), () => undefined);
      file.append(text);
      await file.close();
    }
    expect(readFileSync(join(dir, 'twice.log'), 'latin1')).toBe('first\nsecond\n');
  });

  test('goes on in a new file once it was moved away and is opened anew, without losing or tearing a line', async () => {
    const path = join(dir, 'moved.log');
    const file = new LogFile(path, () => undefined);
    const texts = Array.from({ length: 500 }, (_, index) => `${index} ${'x'.repeat(1000)}\n`);
    for (const text of texts.slice(0, 300)) file.append(text);
    renameSync(path, `${path}.old`);
    await file.reopen();
    const old = readFileSync(`${path}.old`, 'latin1');
    for (const text of texts.slice(300)) file.append(text);
    await file.close();
    expect(readFileSync(`${path}.old`, 'latin1')).toBe(old);
    expect(old).toMatch(/^0 x{1000}\n(.*\n)*$/);
    expect(old + readFileSync(path, 'latin1')).toBe(texts.join(''));
  });

  test('stays with its old file when it cannot be opened anew', async () => {
    const path = join(dir, 'stays.log');
    const file = new LogFile(path, () => undefined);
    renameSync(path, `${path}.old`);
    mkdirSync(path);
    await expect(file.reopen()).rejects.toThrow('EISDIR');
    file.append('kept\n');
    await file.close();
    expect(readFileSync(`${path}.old`, 'latin1')).toBe('kept\n');
  });

  test('on a full disk loses what is written to it, and says so once', async () => {
    const troubles: Error[] = [];
    const file = new LogFile('/dev/full', (error) => troubles.push(error));
    for (let round = 0; round < 3; round++) {
      file.append('lost\n');
      await file.whenIdle();
    }
    await file.close();
    expect(troubles.map(({ message }) => message)).toEqual([expect.stringContaining('ENOSPC')]);
  });
});

const asRoot = process.getuid?.() === 0 ? describe : describe.skip;

asRoot('a log file on a disk that gets full', () => {
  let disk: string;

  beforeEach(() => {
    disk = mkdtempSync(join(tmpdir(), 'statelet-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
  });

  afterEach(() => {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  const LINE = /^\d+ x{100}$/;
  const lines = (from: number, count: number): string =>
    Array.from({ length: count }, (_, index) => `${from + index} ${'x'.repeat(100)}\n`).join('');

  test('has whole lines only, and goes on with whole ones once there is room', async () => {
    const path = join(disk, '0.log');
    const troubles: Error[] = [];
    writeFileSync(join(disk, 'filler'), Buffer.alloc(16_384));
    const file = new LogFile(path, (error) => troubles.push(error));
    file.append(lines(0, 1000));
    await file.whenIdle();
    const full = readFileSync(path, 'latin1').split('\n');
    rmSync(join(disk, 'filler'));
    file.append(lines(1000, 10));
    await file.close();
    const all = readFileSync(path, 'latin1').split('\n');
    expect(troubles).toHaveLength(1);
    expect(full.length).toBeGreaterThan(100);
    expect(all.filter((line) => !LINE.test(line))).toEqual(['']);
    expect(all.slice(full.length - 1, -1)).toEqual(lines(1000, 10).trimEnd().split('\n'));
  });

  test('leaves whole lines in both files when it is opened anew meanwhile', async () => {
    const path = join(disk, '0.log');
    const file = new LogFile(path, () => undefined);
    file.append(lines(0, 1000));
    renameSync(path, `${path}.old`);
    await file.reopen();
    rmSync(`${path}.old`);
    file.append(lines(1000, 10));
    await file.close();
    expect(readFileSync(path, 'latin1')).toBe(lines(1000, 10));
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

  test('leaves what was written in the moved file, and writes what follows into a new one', async () => {
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

  test('loses nothing of a container that writes all the while', async () => {
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

  test('is NotFound for a container that there is not, FailedPrecondition for one that does not run', async () => {
    await expect(bed.runtime.reopenContainerLog('none')).rejects.toMatchObject({ kind: 'NotFound' });
    const { id } = await startPod(bed.runtime, logsDir, shell('exit 0'));
    await whenExited(bed.runtime, id);
    await expect(bed.runtime.reopenContainerLog(id)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
  });

  test('knows of no file system of images', async () => {
    expect(await bed.runtime.imageFsInfo()).toEqual([]);
  });
});
